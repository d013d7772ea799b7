"""The folder of a run, from which the run can be resumed.

    config.json      the learner and the settings, as they were given
    metrics.jsonl    one line per iteration; the events.* of TensorBoard beside it hold the same numbers
    checkpoints/     the last two checkpoints: whole train states, and the settings they were trained with
    result.json      the result that the run printed at its end
    lock             held by the process that trains; has its number and host

A checkpoint is written beside the old one and then renamed. So a run that is killed at any time loses only the
iterations after its last checkpoint. Their metrics are dropped when the run is resumed. The lock is a lock of the
operating system and ends with the process.
"""

import functools
import json
import logging
import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from tensorboardX import SummaryWriter

from train.driver import stored_config
from train.driver.learner import Learner
from train.driver.metrics import finite
from train.ops.sharding import is_key, keys_to_data

try:
    import fcntl
except ImportError:  # not on this operating system
    fcntl = None

logging.getLogger("absl").setLevel(logging.WARNING)  # orbax reports every file it touches


class Recorder(Protocol):
    """The methods of a run folder that `train.driver.loop.run_training` uses."""

    folder: Path

    def restore(self) -> Any | None: ...
    def save(self, train_state: Any) -> None: ...
    def truncate_metrics(self, iteration: int) -> dict[str, Any] | None: ...
    def log(self, row: Mapping[str, float]) -> None: ...
    def result(self) -> dict[str, Any] | None: ...
    def finish(self, result: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...


class NullRecorder:
    """The recorder of a process that is not the leader. It does nothing: the folder belongs to process 0."""

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
        self._lock: IO[str] | None = None

    @property
    def config(self) -> Any:
        return self.learner.config

    @functools.cached_property
    def _checkpoints(self) -> ocp.CheckpointManager:
        """It is created at its first use: before that, the processes may not be connected yet."""
        checkpoints = (self.folder / "checkpoints").absolute()
        checkpoints.mkdir(parents=True, exist_ok=True)
        alone = ocp.options.MultiprocessingOptions(active_processes={0}, barrier_sync_key_prefix="run")
        options = ocp.CheckpointManagerOptions(
            max_to_keep=2, enable_async_checkpointing=False, create=False, multiprocessing_options=alone
        )
        handler = ocp.StandardCheckpointHandler(multiprocessing_options=alone)
        return ocp.CheckpointManager(checkpoints, options=options, item_handlers=handler)

    @classmethod
    def create(cls, folder: Path, learner: Learner) -> "RunFolder":
        """Returns a new run, locked until `close`. Raises FileExistsError if the folder already holds a run."""
        if (folder / "config.json").exists():
            raise FileExistsError(f"{folder} holds a run already: add --resume to continue it, or name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        run = cls(folder, learner)
        run.lock()
        run._write_config()
        return run

    @classmethod
    def open(cls, folder: Path, *learners: type[Learner]) -> "RunFolder":
        """Returns the run in a folder, of one of the learners, for reading.

        Raises FileNotFoundError if there is none, ValueError if its settings are not those of a learner.
        """
        return cls(folder, stored_config.load(folder / "config.json", learners))

    def lock(self) -> None:
        """Reserves the folder for this process until `close`. Raises BlockingIOError if another process trains."""
        self._lock = lock_folder(self.folder)

    def extend_to(self, total_steps: int) -> None:
        """Makes the run longer: writes its settings, and removes its result."""
        self.learner = type(self.learner)(replace(self.config, total_steps=total_steps))
        self._write_config()
        (self.folder / "result.json").unlink(missing_ok=True)

    def _write_config(self) -> None:
        write_whole(self.folder / "config.json", json.dumps(stored_config.to_json(self.learner), indent=2) + "\n")

    def save(self, train_state: Any) -> None:
        """Writes a checkpoint, unless the iteration already has one."""
        iteration = int(train_state.iteration)
        if iteration != self._checkpoints.latest_step():
            arrays = ocp.args.StandardSave(jax.device_get(_storable(train_state)))
            self._checkpoints.save(iteration, args=arrays, custom_metadata=stored_config.to_json(self.learner))
            self._checkpoints.wait_until_finished()

    def restore(self) -> Any | None:
        """Returns the train state of the last checkpoint, or None before the first.

        Raises ValueError if config.json was changed since; the message has the settings and both values.
        """
        iteration = self.check_settings()
        if iteration is None:
            return None
        like = jax.eval_shape(self.learner.init, jax.eval_shape(lambda: jax.random.key(0)))
        self._check_shapes(iteration, like)
        here = jax.sharding.SingleDeviceSharding(jax.devices()[0])  # whatever devices the checkpoint was written from
        placed = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here), jax.eval_shape(_storable, like)
        )
        stored = self._checkpoints.restore(iteration, args=ocp.args.StandardRestore(placed))
        return jax.tree.map(_restored, like, stored)

    def check_settings(self) -> int | None:
        """Returns the iteration of the last checkpoint. Raises ValueError if config.json was changed since."""
        iteration = self._checkpoints.latest_step()
        if iteration is not None:
            trained_with = (self._checkpoints.metadata(iteration).custom_metadata or {}).get("settings", {})
            changed = stored_config.changes(trained_with, stored_config.settings_of(self.config))
            if trained_with and changed:
                path = self.folder / "config.json"
                raise ValueError(f"{path} was changed since the run started: {'; '.join(changed)}")
        return iteration

    def _check_shapes(self, iteration: int, like: Any) -> None:
        """Raises ValueError unless the arrays of a checkpoint have the shapes of `like`."""
        stored = _shapes(self._checkpoints.item_metadata(iteration).tree)
        wanted = _shapes(jax.eval_shape(_storable, like))
        differ = [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]
        if differ:
            name = differ[0]
            raise ValueError(
                f"the checkpoint of {self.folder} does not fit the learner: {name} has shape {stored.get(name)} in the "
                f"checkpoint and {wanted.get(name)} in the learner, and {len(differ) - 1} more arrays differ"
            )

    def checkpoints(self) -> list[int]:
        """Returns the iterations that have a checkpoint now, in ascending order."""
        self._checkpoints.reload()  # another process may train
        return sorted(self._checkpoints.all_steps())

    def drop_after(self, iteration: int) -> None:
        """Removes the checkpoints of later iterations, which will be repeated."""
        for later in [each for each in self.checkpoints() if each > iteration]:
            self._checkpoints.delete(later)

    def params(self) -> Any:
        """Returns the parameters of the last checkpoint. Raises FileNotFoundError if there is none."""
        train_state = self.restore()
        if train_state is None:
            raise FileNotFoundError(f"{self.folder} has no checkpoint yet")
        return train_state.params

    def rows(self) -> list[dict[str, Any]]:
        """Returns the lines of metrics.jsonl without an unfinished last line.

        Raises ValueError, with the path and the line, if a line is not an object with an iteration.
        """
        path = self.folder / "metrics.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
        return [_row(line, f"{path}, line {number}") for number, line in enumerate(lines[:-1], start=1)]

    def result(self) -> dict[str, Any] | None:
        """Returns the result of the run; None if it is not finished, or if the file is damaged."""
        try:
            result = json.loads((self.folder / "result.json").read_bytes())
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return result if isinstance(result, dict) and "finished" in result else None  # pyright: ignore[reportUnknownVariableType]  # keys are strings in JSON

    def truncate_metrics(self, iteration: int) -> dict[str, Any] | None:
        """Drops the metrics of iterations after `iteration`, which will be repeated. Returns the last row that is kept.

        It is None if no row is kept.
        """
        kept = [row for row in self.rows() if row["iteration"] <= iteration]
        write_whole(self.folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in kept))
        return kept[-1] if kept else None

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
        write_whole(self.folder / "result.json", json.dumps(result) + "\n")

    def close(self) -> None:
        """Stops writing and releases the lock."""
        self._checkpoints.close()
        if self._writer is not None:
            self._writer.close()
        if self._lock is not None:
            self._lock.close()


def lock_folder(folder: Path) -> IO[str]:
    """Returns the open file `lock`, which reserves the folder for this process until the file is closed.

    Raises BlockingIOError if another process has reserved it.
    """
    file = (folder / "lock").open("a+")
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise BlockingIOError(f"{folder} is in use by {holder}: wait for it to end, or stop it") from None
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    file.flush()
    return file


def _storable(train_state: Any) -> Any:
    """The train state as orbax can store it from one process of many: keys as words, None for empty arrays."""
    return jax.tree.map(lambda leaf: leaf if leaf.size else None, keys_to_data(train_state))


def _restored(like: jax.ShapeDtypeStruct, stored: jax.Array | None) -> jax.Array:
    """The leaf of a train state whose `_storable` is `stored`."""
    if stored is None:
        return jnp.zeros(like.shape, like.dtype)
    return jax.random.wrap_key_data(stored) if is_key(like) else stored


def _shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """The shape of every leaf by its path."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): tuple(leaf.shape) for path, leaf in leaves}


def _row(line: bytes, place: str) -> dict[str, Any]:
    """A line of metrics.jsonl."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:  # no JSON, or no UTF-8
        raise ValueError(f"{place} is not JSON: {error}") from None
    if not isinstance(row, dict) or type(row.get("iteration")) is not int:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f'{place} must be an object with an "iteration", not {line.decode()[:60]}')
    return row  # pyright: ignore[reportUnknownVariableType]  # keys are strings in JSON


def write_whole(path: Path, text: str) -> None:
    """Writes the whole text or nothing, even when the process is killed meanwhile."""
    beside = path.with_suffix(path.suffix + ".new")
    beside.write_text(text)
    os.replace(beside, path)
