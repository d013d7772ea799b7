"""The folders of a group of cells, which `train.driver.loop` writes as it writes the folder of one run.

Each cell has a `RunFolder` of its own. After a kill, their last checkpoints can be of different iterations. The group
then continues from the newest iteration that every cell has; checkpoints and metrics after it are dropped.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from train.driver.loop import result_of
from train.driver.run_folder import RunFolder
from train.sweep.batched_runs import CellsState, pad, stack, unstack


class CellFolders:
    """The recorder of a group of cells; see `train.driver.run_folder.Recorder`."""

    def __init__(self, folder: Path, runs: Sequence[RunFolder], padded: int) -> None:
        """
        Args:
          folder: of the sweep.
          runs: the folder of each cell.
          padded: the length of the leading axis of a stacked train state.
        """
        self.folder = folder
        self._runs = list(runs)
        self._padded = padded
        self._last_rows: list[dict[str, float]] = [{} for _ in runs]

    def restore(self) -> CellsState | None:
        """Returns the train states at the newest iteration that every cell has, or None if there is none."""
        common = set[int].intersection(*(set(run.checkpoints()) for run in self._runs))
        for run in self._runs:
            run.drop_after(max(common, default=-1))
        if not common:
            return None
        return stack(pad([run.restore() for run in self._runs], self._padded))

    def save(self, train_state: CellsState, keep_every: int = 0) -> None:
        """Writes a checkpoint of every cell."""
        for run, cell in zip(self._runs, unstack(train_state.cells, len(self._runs)), strict=True):
            run.save(cell, keep_every)

    def truncate_metrics(self, iteration: int) -> dict[str, Any] | None:
        """Drops the metrics after an iteration. Returns the last row that is kept, of the first cell."""
        kept = [run.truncate_metrics(iteration) for run in self._runs]
        self._last_rows = [{name: value for name, value in (row or {}).items() if value is not None} for row in kept]
        return kept[0]

    def log(self, row: Mapping[str, Any]) -> None:
        """Adds a line to the metrics of every cell. A number belongs to every cell, an array has one per cell."""
        for index, run in enumerate(self._runs):
            self._last_rows[index] = {name: number_of_cell(value, index) for name, value in row.items()}
            run.log(self._last_rows[index])

    def result(self) -> dict[str, Any] | None:
        """Returns None unless every cell has a result."""
        results = [run.result() for run in self._runs]
        return None if None in results else {"finished": True}

    def finish(self, result: Mapping[str, Any]) -> None:
        """Stores the result of every cell. The seconds of the group are divided equally."""
        for run, row in zip(self._runs, self._last_rows, strict=True):
            seconds = result["seconds"] / len(self._runs)
            run.finish(result_of(run.learner, run, run.config.num_iterations, seconds, row))

    def close(self) -> None:
        for run in self._runs:
            run.close()


def number_of_cell(value: Any, index: int) -> Any:
    """Returns a cell's entry of an array over cells; a number is common to all cells."""
    return float(value[index]) if getattr(value, "ndim", 0) else value
