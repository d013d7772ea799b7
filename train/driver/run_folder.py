"""A run is a folder from which the run can be resumed.

    config.json      the learner and the settings, as they were given
    metrics.jsonl    one line per iteration; the events.* of TensorBoard beside it hold the same numbers
    checkpoints/     the last two checkpoints: whole train states
    result.json      the line that the run ended with

A checkpoint is written beside the old one and then renamed. A run that is killed at any moment therefore loses only
the iterations after its last checkpoint; their metrics are dropped when the run is resumed.
"""

import dataclasses
import functools
import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from tensorboardX import SummaryWriter

from train.driver.learner import Config, Learner
from train.driver.metrics import finite

logging.getLogger("absl").setLevel(logging.WARNING)  # orbax reports every file it touches


class Recorder(Protocol):
    """What `train.driver.loop.run_training` asks of a run's folder."""

    folder: Path

    def restore(self) -> Any | None: ...
    def save(self, train_state: Any) -> None: ...
    def truncate_metrics(self, iteration: int) -> None: ...
    def log(self, row: Mapping[str, float]) -> None: ...
    def result(self) -> dict[str, Any] | None: ...
    def finish(self, result: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...


class NullRecorder:
    """The recorder of a process that is not the leader: the folder belongs to process 0."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def restore(self) -> None: ...
    def save(self, train_state: Any) -> None: ...
    def truncate_metrics(self, iteration: int) -> None: ...
    def log(self, row: Mapping[str, float]) -> None: ...
    def result(self) -> None: ...
    def finish(self, result: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...


class RunFolder:
    """The folder of one training run."""

    def __init__(self, folder: Path, learner: Learner) -> None:
        self.folder = folder
        self.learner = learner
        self._writer: SummaryWriter | None = None

    @property
    def config(self) -> Any:
        return self.learner.config

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
    def create(cls, folder: Path, learner: Learner) -> "RunFolder":
        """A new run. Raises FileExistsError where the folder holds one already."""
        if (folder / "config.json").exists():
            raise FileExistsError(f"{folder} holds a run already: add --resume to continue it, or name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        run = cls(folder, learner)
        run._write_config()
        return run

    @classmethod
    def open(cls, folder: Path, *learners: type[Learner]) -> "RunFolder":
        """The run in a folder, of one of the learners.

        Raises FileNotFoundError where there is none, and ValueError where its settings are not those of a learner.
        """
        try:
            stored: dict[str, Any] = json.loads((folder / "config.json").read_text())
        except FileNotFoundError:
            raise FileNotFoundError(f"{folder} holds no run: expected a folder that train.ppo wrote") from None
        name = stored.pop("learner", None)
        learner = {learner.name: learner for learner in learners}[name]
        unknown = stored.keys() - {f.name for f in dataclasses.fields(learner.config_type)}
        if unknown:
            raise ValueError(f"{folder / 'config.json'} has settings that are not known: {', '.join(unknown)}")
        return cls(folder, learner(learner.config_type(**stored)))

    def extend_to(self, total_steps: int) -> None:
        """Makes the run longer: writes its settings anew, and removes its result."""
        config: Config = dataclasses.replace(self.config, total_steps=total_steps)
        self.learner = type(self.learner)(config)
        self._write_config()
        (self.folder / "result.json").unlink(missing_ok=True)

    def _write_config(self) -> None:
        stored = {"learner": self.learner.name, **dataclasses.asdict(self.config)}
        _write(self.folder / "config.json", json.dumps(stored, indent=2) + "\n")

    def save(self, train_state: Any) -> None:
        """Writes a checkpoint, unless the iteration has one."""
        iteration = int(train_state.iteration)
        if iteration != self._checkpoints.latest_step():
            self._checkpoints.save(iteration, args=ocp.args.StandardSave(jax.device_get(_storable(train_state))))
            self._checkpoints.wait_until_finished()

    def restore(self) -> Any | None:
        """The train state of the last checkpoint, None before the first."""
        iteration = self._checkpoints.latest_step()
        if iteration is None:
            return None
        here = jax.sharding.SingleDeviceSharding(jax.devices()[0])  # wherever it was written
        whole = jax.eval_shape(self.learner.init, jax.eval_shape(lambda: jax.random.key(0)))
        like = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here),
            jax.eval_shape(_storable, whole),
        )
        stored = iter(jax.tree.leaves(self._checkpoints.restore(iteration, args=ocp.args.StandardRestore(like))))
        leaves, structure = jax.tree.flatten(whole)
        return jax.tree.unflatten(structure, [_restored(leaf, stored) for leaf in leaves])

    def params(self) -> Any:
        """The parameters of the last checkpoint. Raises FileNotFoundError before the first."""
        train_state = self.restore()
        if train_state is None:
            raise FileNotFoundError(f"{self.folder} has no checkpoint yet")
        return train_state.params

    def rows(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl; an unfinished last line is left out."""
        path = self.folder / "metrics.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def result(self) -> dict[str, Any] | None:
        """The line that the run ended with, None before its end."""
        path = self.folder / "result.json"
        return json.loads(path.read_text()) if path.exists() else None

    def truncate_metrics(self, iteration: int) -> None:
        """Drops the metrics of iterations after `iteration`, which are about to be done again."""
        kept = [row for row in self.rows() if row["iteration"] <= iteration]
        _write(self.folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in kept))

    def log(self, row: Mapping[str, float]) -> None:
        """Adds a line to the metrics; NaN and infinity become null."""
        numbers = finite(row)
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(numbers) + "\n")
        iteration = int(row["iteration"])
        if self._writer is None:
            self._writer = SummaryWriter(str(self.folder), purge_step=iteration)
        for name, value in numbers.items():
            if value is not None and name != "iteration":
                self._writer.add_scalar(name, value, iteration)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Stores the result of a finished run."""
        _write(self.folder / "result.json", json.dumps(result) + "\n")

    def close(self) -> None:
        self._checkpoints.close()
        if self._writer is not None:
            self._writer.close()


def _storable(train_state: Any) -> Any:
    """The train state as orbax can write it: PRNG keys as words, and None in the place of an empty array."""

    def plain(leaf: jax.Array) -> jax.Array | None:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key_data(leaf)
        return leaf if leaf.size else None

    return jax.tree.map(plain, train_state)


def _restored(leaf: jax.ShapeDtypeStruct, stored: Iterator[jax.Array]) -> jax.Array:
    """The next leaf of a train state from the leaves of its `_storable`."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(next(stored))
    return next(stored) if leaf.size else jnp.zeros(leaf.shape, leaf.dtype)


def _write(path: Path, text: str) -> None:
    """Writes the whole text or nothing, even when the process is killed meanwhile."""
    beside = path.with_suffix(path.suffix + ".new")
    beside.write_text(text)
    os.replace(beside, path)
