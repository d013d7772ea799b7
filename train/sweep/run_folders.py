"""The folders of a group of runs, which `train.driver.loop` writes as it writes the folder of one run.

Each run has its own `RunFolder`. After a kill, their last checkpoints can be of different iterations. The group
then continues from the newest iteration that every run has; checkpoints and metrics after it are dropped.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from train.driver.loop import result_of
from train.driver.run_folder import Recorder, RunFolder
from train.sweep.batched_runs import BatchedState, pad, stack, unstack


class RunFolders(Recorder):
    """The recorder of a group of runs."""

    def __init__(self, folder: Path, runs: Sequence[RunFolder], padded: int) -> None:
        """The folder of the sweep and of each run; a stacked train state has a leading axis of `padded`."""
        super().__init__(folder)
        self.folders = tuple(run.folder for run in runs)
        self._runs = list(runs)
        self._padded = padded
        self._last_rows: list[dict[str, float]] = [{} for _ in runs]

    def restore(self) -> BatchedState | None:
        """Returns the train states at the newest iteration that every run has, or None if there is none."""
        common = set[int].intersection(*(set(run.checkpoints()) for run in self._runs))
        for run in self._runs:
            run.drop_after(max(common, default=-1))
        if not common:
            return None
        return stack(pad([run.restore() for run in self._runs], self._padded))

    def save(self, train_state: BatchedState, keep_every: int = 0) -> None:
        for run, of_run in zip(self._runs, unstack(train_state.runs, len(self._runs)), strict=True):
            run.save(of_run, keep_every)

    def truncate_metrics(self, iteration: int) -> dict[str, Any] | None:
        """Drops the metrics after an iteration. Returns the last row that is kept, of the first run."""
        kept = [run.truncate_metrics(iteration) for run in self._runs]
        self._last_rows = [{name: value for name, value in (row or {}).items() if value is not None} for row in kept]
        return kept[0]

    def log(self, row: Mapping[str, Any]) -> None:
        """Adds a line to the metrics of every run. A number belongs to every run, an array has one per run."""
        for index, run in enumerate(self._runs):
            self._last_rows[index] = {name: number_of_run(value, index) for name, value in row.items()}
            run.log(self._last_rows[index])

    def result(self) -> dict[str, Any] | None:
        """Returns None unless every run has a result."""
        results = [run.result() for run in self._runs]
        return None if None in results else {"finished": True}

    def finish(self, result: Mapping[str, Any]) -> None:
        """Stores the result of every run."""
        for run, row in zip(self._runs, self._last_rows, strict=True):
            run.finish(result_of(run.learner, run, run.config.num_iterations, row))

    def close(self) -> None:
        for run in self._runs:
            run.close()


def number_of_run(value: Any, index: int) -> Any:
    """Returns a run's entry of an array over runs; a number is common to all runs."""
    return float(value[index]) if getattr(value, "ndim", 0) else value
