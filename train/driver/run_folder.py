"""The folder of a run, from which the run can be resumed.

    config.json      the learner and the settings, as they were given
    metrics.jsonl    one line per iteration; TensorBoard's `events.*` have the same numbers
    checkpoints/     whole train states: the last two, and those that stay
    result.json      the result that the run printed at its end
    lock             held by the process that trains; has its number and host

A run that is killed at any time loses only the iterations after its last checkpoint. Their metrics are dropped when
the run is resumed. The lock is a lock of the operating system and ends with the process.

A checkpoint is a file of NumPy's .npz format with the number of its iteration; keys are stored as words. It is written
beside the others and then renamed, so it is whole or not there, even when the process is killed. A file that was
damaged later does not fit the checksums of the format.
"""

import contextlib
import fcntl
import io
import json
import math
import operator
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import jax
import numpy as np

from jaxgames._files import whole_file, write_whole
from train.driver.learner import Learner, load_learner, to_json
from train.ops.sharding import data_to_keys, keys_to_data

LAST = 2  # the number of last checkpoints that always stay
STATE = "state/"  # what the names of arrays in a checkpoint begin with
SWEEP_FILE = "sweep.json"  # marks the folder of a sweep, which `train.sweep` writes


class RunFolder:
    """The folder of one training run."""

    def __init__(self, folder: Path, learner: Learner) -> None:
        self.folder, self.learner = folder, learner
        self.tensorboard = True  # whether `log` writes for TensorBoard, too
        self._writer: Any = None  # its writer, from the first row of metrics on
        self._open = contextlib.ExitStack()  # the lock and the writer

    @property
    def config(self) -> Any:
        return self.learner.config

    @classmethod
    def create(cls, folder: Path, learner: Learner) -> "RunFolder":
        """Returns a new run, locked until `close`.

        Raises FileExistsError if the folder holds a run or a sweep.
        """
        check_new(folder)
        run = cls(folder, learner)
        folder.mkdir(parents=True, exist_ok=True)
        run.lock()
        run._write_config()
        return run

    @classmethod
    def open(cls, folder: Path, *learners: type[Learner], or_own: bool = False) -> "RunFolder":
        """Returns the run in a folder, of one of the learners or with `or_own` of a user's own one, for reading.

        Raises FileNotFoundError if there is none, ValueError if its settings are not those of a learner.
        """
        return cls(folder, load_learner(folder / "config.json", learners, or_own))

    def lock(self) -> None:
        """Reserves the folder for this process until `close`.

        Raises BlockingIOError if another process trains.
        """
        self._open.enter_context(lock_folder(self.folder))

    def extend_to(self, total_steps: int) -> None:
        """Makes the run longer: writes its settings, and removes its result."""
        self.learner = type(self.learner)(replace(self.config, total_steps=total_steps))
        self._write_config()
        (self.folder / "result.json").unlink(missing_ok=True)

    def _write_config(self) -> None:
        write_whole(self.folder / "config.json", json.dumps(to_json(self.learner), indent=2) + "\n")

    def save(self, train_state: Any, keep_every: int = 0) -> None:
        """Writes a checkpoint, unless the iteration already has one.

        Removes the last but LAST one, unless it is a multiple of `keep_every` (0 for none). Raises OSError, with the
        path, if the disk is full or refuses it for another reason.
        """
        if (iteration := int(train_state.iteration)) in self.checkpoints():
            return
        path, plain = self._path_of(iteration), jax.device_get(keys_to_data(train_state))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for unfinished in path.parent.glob("*.part"):  # of a killed process
                unfinished.unlink(missing_ok=True)
            with whole_file(path) as temporary, temporary.open("wb") as file:
                np.savez(file, **{STATE + name: leaf for name, leaf in leaves_by_name(plain).items()})
        except OSError as error:
            raise OSError(f"{path} cannot be written: {error.strerror or error}") from error
        for each in self.checkpoints()[-LAST - 1 : -LAST]:
            if not is_multiple(each, keep_every):
                self._path_of(each).unlink(missing_ok=True)

    def _path_of(self, iteration: int) -> Path:
        return self.folder / "checkpoints" / f"{iteration}.npz"

    def checkpoints(self) -> list[int]:
        """Returns the iterations that have a checkpoint now, in ascending order."""
        paths = (self.folder / "checkpoints").glob("*.npz")
        return sorted(int(path.stem) for path in paths if path.stem.isdecimal())

    def drop_after(self, iteration: int) -> None:
        """Removes the checkpoints of later iterations, which will be repeated."""
        for each in self.checkpoints():
            if each > iteration:
                self._path_of(each).unlink(missing_ok=True)

    def kept_iteration(self, iteration: int | None = None) -> int:
        """Returns the iteration, or for None the last one that has a checkpoint.

        Raises FileNotFoundError if it has no checkpoint; the message lists those that have one.
        """
        kept = self.checkpoints()
        if not kept:
            raise FileNotFoundError(f"{self.folder} has no checkpoint yet")
        if iteration is not None and iteration not in kept:
            raise FileNotFoundError(
                f"{self.folder} has no checkpoint of iteration {iteration}, only of {shortened(kept)}: a run "
                f"keeps its last {LAST} checkpoints, and with --keep-every N also every multiple of N"
            )
        return kept[-1] if iteration is None else iteration

    def restore(self) -> Any | None:
        """Returns the train state of the last checkpoint, or None before the first."""
        if not (kept := self.checkpoints()):
            return None
        return self._read(kept[-1], jax.eval_shape(self.learner.init, jax.eval_shape(lambda: jax.random.key(0))))

    def params(self, iteration: int | None = None) -> Any:
        """Returns the parameters after an iteration, None for the last checkpoint. Nothing else of it is read.

        Raises FileNotFoundError if there is no such checkpoint, and ValueError if it does not fit the learner.
        """
        iteration = self.kept_iteration(iteration)
        try:
            return self._read(iteration, {"params": self.params_shapes()}, "params/")["params"]
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{error.filename} was removed while it was read, because {self.folder} is being trained: try again"
            ) from None

    def _read(self, iteration: int, like: Any, part: str = "") -> Any:
        """Returns a checkpoint on the first device, whatever devices it was written from.

        `like` is the train state as shapes, or the part of it whose names begin with `part`. Only this is read. Raises
        ValueError for a damaged checkpoint, and unless it has the same arrays there, with the same shapes.
        """
        path = self._path_of(iteration)
        try:
            with np.load(path) as file:
                names = [name for name in file.files if name.startswith(STATE + part)]
                # Each entry is read to its end, where its checksum is compared.
                stored = {name.removeprefix(STATE): np.load(io.BytesIO(file.zip.read(f"{name}.npy"))) for name in names}
        except (FileNotFoundError, MemoryError):
            raise
        except OSError as error:
            raise OSError(f"{path} cannot be read: {error.strerror or error}") from error
        except Exception as error:  # of the archive, or of an array in it
            advice = "there is none before it, so the run must be trained again"
            if before := [each for each in self.checkpoints() if each < iteration]:
                run = f"{self.folder}@{before[-1]}"
                advice = f"use the checkpoint before it, {run}; to continue from there, remove {path} and add --resume"
            raise ValueError(f"the checkpoint {path} is damaged: {advice}") from error
        wanted = leaves_by_name(jax.eval_shape(keys_to_data, like))
        ours, theirs = ({name: (*leaf.shape,) for name, leaf in each.items()} for each in (wanted, stored))
        if differ := [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]:
            name = differ[0]
            raise ValueError(
                f"the checkpoint of {self.folder} does not fit the learner: {name} has shape {theirs.get(name)} in the "
                f"checkpoint and {ours.get(name)} in the learner, and {len(differ) - 1} more arrays differ"
            )
        arrays = [(stored[name], leaf.dtype) for name, leaf in wanted.items()]
        # NumPy reads a dtype that it does not know, such as bfloat16, as bytes.
        words = [array.view(dtype) if dtype.kind == "V" else array.astype(dtype) for array, dtype in arrays]
        leaves = [jax.device_put(each, jax.devices()[0]) for each in words]
        return data_to_keys(jax.tree.unflatten(jax.tree.structure(like), leaves), like)

    def params_shapes(self) -> Any:
        """Returns the parameters of the run as shapes and dtypes, which need no checkpoint."""
        return jax.eval_shape(self.learner.init_params, jax.eval_shape(lambda: jax.random.key(0)))

    def rows(self) -> list[dict[str, Any]]:
        """Returns the lines of metrics.jsonl without an unfinished last line and without empty ones at the end.

        Raises ValueError, with the path and the line, if a line is not an object with an iteration.
        """
        path, rows = self.folder / "metrics.jsonl", list[dict[str, Any]]()
        content = path.read_bytes() if path.exists() else b""
        for number, line in enumerate(content[: content.rfind(b"\n") + 1].rstrip().splitlines(), start=1):
            try:
                rows.append(json.loads(line))
                operator.index(rows[-1]["iteration"])
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                raise ValueError(f"{path}, line {number} is not a row of metrics: {error}") from None
        return rows

    def result(self) -> dict[str, Any] | None:
        """Returns the result of the run; None if it is not finished, or if the file is damaged."""
        try:
            result = json.loads((self.folder / "result.json").read_bytes())
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return result if isinstance(result, dict) and "finished" in result else None  # pyright: ignore[reportUnknownVariableType]  # keys are strings in JSON

    def truncate_metrics(self, iteration: int) -> dict[str, Any]:
        """Drops the metrics after `iteration`, which will be repeated. Returns the last row that is kept, or {}."""
        kept = [row for row in self.rows() if row["iteration"] <= iteration]
        write_whole(self.folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in kept))
        return kept[-1] if kept else {}

    def log(self, row: Mapping[str, Any]) -> None:
        """Adds a line to the metrics, of numbers and texts; NaN and infinity become null."""
        numbers = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(numbers) + "\n")
        if not self.tensorboard:
            return
        if self._writer is None:
            from tensorboardX import SummaryWriter

            self._writer = self._open.enter_context(SummaryWriter(str(self.folder), purge_step=row["iteration"]))
        for name, value in numbers.items():
            if isinstance(value, int | float) and name != "iteration":
                self._writer.add_scalar(name, value, row["iteration"])

    def finish(self, result: Mapping[str, Any]) -> None:
        """Stores the result of a finished run."""
        write_whole(self.folder / "result.json", json.dumps(result) + "\n")

    def close(self) -> None:
        """Closes the writer and releases the lock."""
        self._open.close()


def check_new(folder: Path) -> None:
    """Raises FileExistsError if the folder holds a run or a sweep."""
    for name, what in (("config.json", "run"), (SWEEP_FILE, "sweep")):
        if (folder / name).exists():
            advice = "add --resume to the command that made it, or name another folder"
            raise FileExistsError(f"{folder} holds a {what} already: {advice}")


def is_multiple(iteration: int, keep_every: int) -> bool:
    """Returns whether the checkpoint of an iteration stays with this setting."""
    return keep_every > 0 and iteration % keep_every == 0


def leaves_by_name(tree: Any, separator: str = "/") -> dict[str, Any]:
    """Returns the arrays of a train state, or of another pytree, by names such as "params/heads/bias"."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator=separator): leaf for path, leaf in leaves}


def shortened(iterations: Sequence[int]) -> str:
    """Returns the numbers with commas; of many, those in the middle are left out."""
    words = [str(iteration) for iteration in iterations]
    return ", ".join(words if len(words) <= 20 else [*words[:10], "...", *words[-10:]])


def lock_folder(folder: Path) -> IO[str]:
    """Returns the open file `lock`, which reserves the folder for this process until the file is closed.

    Raises BlockingIOError if another process has reserved it.
    """
    file = (folder / "lock").open("a+")
    try:
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
