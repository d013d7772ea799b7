"""A run is a folder, and a folder can be gone on with.

    config.json      the settings, as they were given
    metrics.jsonl    a line an iteration; TensorBoard's events.* beside it say the same
    checkpoints/     the last two checkpoints: all that the run is between two iterations
    result.json      the line that the run ended with

A checkpoint is written beside the old one and then renamed, so a run that is killed at any moment loses only
what came after its last checkpoint; metrics of later iterations are dropped when the run goes on.
"""

import dataclasses
import functools
import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from tensorboardX import SummaryWriter

from train.ppo import Config, Learner, Runner

logging.getLogger("absl").setLevel(logging.WARNING)  # orbax reports every file it touches


class Run:
    """The folder of one training run."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder = folder
        self.config = config
        self._board: SummaryWriter | None = None

    @functools.cached_property
    def _checkpoints(self) -> ocp.CheckpointManager:
        """Made when it is used: it asks JAX for its processes, and they may not have found each other yet."""
        checkpoints = (self.folder / "checkpoints").absolute()
        checkpoints.mkdir(parents=True, exist_ok=True)
        alone = ocp.options.MultiprocessingOptions(active_processes={0}, barrier_sync_key_prefix="run")
        options = ocp.CheckpointManagerOptions(
            max_to_keep=2, enable_async_checkpointing=False, create=False, multiprocessing_options=alone
        )
        return ocp.CheckpointManager(checkpoints, options=options)

    @classmethod
    def create(cls, folder: Path, config: Config) -> "Run":
        """A new run. Raises FileExistsError where the folder holds one already."""
        if (folder / "config.json").exists():
            raise FileExistsError(
                f"{folder} holds a run already: add --resume to go on with it, or name another folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "config.json", json.dumps(dataclasses.asdict(config), indent=2) + "\n")
        return cls(folder, config)

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """The run in a folder. Raises FileNotFoundError where there is none."""
        try:
            stored: dict[str, Any] = json.loads((folder / "config.json").read_text())
        except FileNotFoundError:
            raise FileNotFoundError(f"{folder} holds no run: expected a folder that train.ppo wrote") from None
        unknown = stored.keys() - {f.name for f in dataclasses.fields(Config)}
        if unknown:
            raise ValueError(f"{folder / 'config.json'} has settings that are not known: {', '.join(unknown)}")
        return cls(folder, Config(**stored))

    def extended(self, total_steps: int) -> "Run":
        """The same run with another length."""
        config = dataclasses.replace(self.config, total_steps=total_steps)
        _write(self.folder / "config.json", json.dumps(dataclasses.asdict(config), indent=2) + "\n")
        (self.folder / "result.json").unlink(missing_ok=True)
        return Run(self.folder, config)

    def save(self, runner: Runner) -> None:
        """Writes a checkpoint, unless the runner's iteration has one."""
        iteration = int(runner.iteration)
        if iteration != self._checkpoints.latest_step():
            self._checkpoints.save(iteration, args=ocp.args.StandardSave(jax.device_get(_storable(runner))))
            self._checkpoints.wait_until_finished()

    def restore(self) -> Runner | None:
        """The runner of the last checkpoint, None before the first."""
        iteration = self._checkpoints.latest_step()
        if iteration is None:
            return None
        here = jax.sharding.SingleDeviceSharding(jax.devices()[0])  # wherever it was written
        whole = jax.eval_shape(Learner(self.config).init, jax.eval_shape(lambda: jax.random.key(0)))
        like = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here),
            jax.eval_shape(_storable, whole),
        )
        stored = iter(jax.tree.leaves(self._checkpoints.restore(iteration, args=ocp.args.StandardRestore(like))))
        leaves, structure = jax.tree.flatten(whole)
        return jax.tree.unflatten(structure, [_restored(leaf, stored) for leaf in leaves])

    def params(self) -> Any:
        """The parameters of the last checkpoint. Raises FileNotFoundError before the first."""
        runner = self.restore()
        if runner is None:
            raise FileNotFoundError(f"{self.folder} has no checkpoint yet")
        return runner.params

    def rows(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl; an unfinished last line is left out."""
        path = self.folder / "metrics.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def result(self) -> dict[str, Any] | None:
        """The line that the run ended with, None before its end."""
        path = self.folder / "result.json"
        return json.loads(path.read_text()) if path.exists() else None

    def drop_rows_after(self, iteration: int) -> None:
        """Forgets the metrics of iterations that are about to be done again."""
        kept = [row for row in self.rows() if row["iteration"] <= iteration]
        _write(self.folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in kept))
        self._board = SummaryWriter(str(self.folder), purge_step=iteration + 1)

    def log(self, row: Mapping[str, float]) -> None:
        """Adds a line to the metrics; NaN and infinity, which JSON has not, become null."""
        finite = {name: value if math.isfinite(value) else None for name, value in row.items()}
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(finite) + "\n")
        self._board = self._board or SummaryWriter(str(self.folder))
        for name, value in finite.items():
            if value is not None and name != "iteration":
                self._board.add_scalar(name, value, int(row["iteration"]))

    def finish(self, result: Mapping[str, Any]) -> None:
        _write(self.folder / "result.json", json.dumps(result) + "\n")

    def close(self) -> None:
        self._checkpoints.close()
        if self._board is not None:
            self._board.close()


class Follower(Run):
    """The run in a process that does not lead: the folder is process 0's, and what `train.loop.train` asks of it here
    does nothing. Nothing else may be asked of it."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder = folder
        self.config = config

    def save(self, runner: Runner) -> None: ...

    def restore(self) -> None: ...

    def result(self) -> None: ...

    def drop_rows_after(self, iteration: int) -> None: ...

    def log(self, row: Mapping[str, float]) -> None: ...

    def finish(self, result: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


def _storable(runner: Runner) -> Runner:
    """What orbax can write: random keys as their words, and nothing in the place of an empty array."""

    def plain(leaf: jax.Array) -> jax.Array | None:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key_data(leaf)
        return leaf if leaf.size else None

    return jax.tree.map(plain, runner)


def _restored(leaf: jax.ShapeDtypeStruct, stored: Iterator[jax.Array]) -> jax.Array:
    """The next leaf of a runner from the leaves of its `_storable`."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(next(stored))
    return next(stored) if leaf.size else jnp.zeros(leaf.shape, leaf.dtype)


def _write(path: Path, text: str) -> None:
    """The whole text or nothing, even when the process is killed meanwhile."""
    beside = path.with_suffix(path.suffix + ".new")
    beside.write_text(text)
    os.replace(beside, path)


def scalars(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Metrics on the host, in their order."""
    return {
        name: float(np.asarray(value)) for name, value in zip(metrics, jax.device_get([*metrics.values()]), strict=True)
    }


def rounded(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """To four decimals, as they are printed; NaN, which JSON has not, becomes null."""
    return {name: round(value, 4) if math.isfinite(value) else None for name, value in numbers.items()}
