"""The checkpoints of a run: train states, each in the folder of its iteration, written and read by orbax.

A checkpoint is written beside the others and then renamed, and it is renamed before it is removed. So it is whole or
not there, even when the process is killed. Process 0 writes and reads without the other processes. Keys are stored as
words, and empty arrays, which orbax does not store, as None.
"""

import errno
import functools
import inspect
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

from train.ops.sharding import is_key, keys_to_data

LAST = 2  # the number of last checkpoints that always stay
REMOVED = "removed"  # the folder beside the checkpoints in which they are deleted, file by file


def _is_of_others(record: logging.LogRecord) -> bool:
    """False for an array that fails after another one: the first error is raised. OCDBT is the format of the files."""
    message = record.getMessage()
    never_raised = ("Future exception was never retrieved", "Task exception was never retrieved")
    return not (message.startswith(never_raised) and "OCDBT" in message)


class Checkpoints:
    """The checkpoints in a folder. Another process can write and remove them meanwhile."""

    def __init__(self, folder: Path, stays: Callable[[int], bool]) -> None:
        """
        Args:
          folder: is created if it is not there.
          stays: returns whether the checkpoint of an iteration stays when it is no longer one of the last two.
        """
        _keep_orbax_quiet()
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        alone = ocp.options.MultiprocessingOptions(active_processes={0}, barrier_sync_key_prefix="run")
        options = ocp.CheckpointManagerOptions(
            preservation_policy=_Preserved(stays),
            enable_async_checkpointing=False,
            create=False,
            todelete_subdir=REMOVED,
            multiprocessing_options=alone,
        )
        handler = ocp.PyTreeCheckpointHandler(multiprocessing_options=alone)
        self._manager = ocp.CheckpointManager(self.folder, options=options, item_handlers=handler)

    def iterations(self) -> list[int]:
        """Returns the iterations that have a checkpoint now, in ascending order."""
        self._manager.reload()
        return sorted(self._manager.all_steps())

    def write(self, iteration: int, train_state: Any, notes: dict[str, Any]) -> None:
        """Writes a checkpoint with notes in JSON's types, and removes those that need not stay.

        Raises OSError, with the path, if the disk is full or refuses it for another reason.
        """
        arrays = ocp.args.PyTreeSave(jax.device_get(_storable(train_state)))
        try:
            self._manager.save(iteration, args=arrays, custom_metadata=notes)
            self._manager.wait_until_finished()
        except Exception as error:
            if (reason := _refusal_of_system(error)) is None:
                raise
            raise OSError(f"{self.folder / str(iteration)} cannot be written: {reason}") from error
        self._delete_removed()

    def notes(self, iteration: int) -> dict[str, Any]:
        """Returns the notes that were written with a checkpoint."""
        with self._reading(iteration):
            return self._manager.metadata(iteration).custom_metadata or {}

    def read(self, iteration: int, like: Any, part: str = "") -> Any:
        """Returns a train state on the first local device, whatever devices it was written from.

        Args:
          iteration: of the checkpoint.
          like: the train state, or a part of it such as {"params": ...}, as shapes and dtypes. Only this is read.
          part: what the names of the part's arrays begin with, such as "params/"; "" for the whole train state.

        Raises ValueError unless the checkpoint has the same arrays there, with the same shapes. Raises it also for a
        damaged checkpoint, and OSError for files that cannot be read.
        """
        storable = jax.eval_shape(_storable, like)
        with self._reading(iteration):
            stored = shapes_by_name(self._manager.item_metadata(iteration).tree)
        _check_shapes(
            {name: stored[name] for name in stored if name.startswith(part)}, shapes_by_name(storable), self.folder
        )
        here = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        # orbax stores a node without children, such as the agent `random`, as None.
        placed = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here), _without_empty_nodes(storable)
        )
        restore_args = ocp.checkpoint_utils.construct_restore_args(placed)
        # Partial, although all arrays are there: parts without arrays, such as (), may be on one side only.
        arguments = ocp.args.PyTreeRestore(item=placed, restore_args=restore_args, partial_restore=True)
        with self._reading(iteration):
            restored = self._manager.restore(iteration, args=arguments)
        leaves = jax.tree.leaves(jax.tree.map(_restored, _without_empty_nodes(like), restored))
        return jax.tree.unflatten(jax.tree.structure(like), leaves)

    @contextmanager
    def _reading(self, iteration: int) -> Generator[None]:
        """Raises the errors of orbax as ValueError or OSError, with the path and what to do."""
        try:
            yield
        except (jax.errors.JaxRuntimeError, MemoryError):  # of the device
            raise
        except Exception as error:
            path = self.folder / str(iteration)
            if (reason := _refusal_of_system(error)) is not None:
                raise OSError(f"{path} cannot be read: {reason}") from error
            before = [each for each in self.iterations() if each < iteration]
            advice = "there is none before it, so the run must be trained again"
            if before:
                run = f"{self.folder.parent}@{before[-1]}"
                advice = f"use the checkpoint before it, {run}; to continue from there, remove {path} and add --resume"
            raise ValueError(f"the checkpoint {path} is damaged: {advice}") from error

    def remove(self, iterations: Sequence[int]) -> None:
        """Removes the checkpoints of these iterations."""
        for iteration in iterations:
            self._manager.delete(iteration)
        self._delete_removed()

    def _delete_removed(self) -> None:
        if (self.folder / REMOVED).exists():
            shutil.rmtree(self.folder / REMOVED)

    def num_bytes(self, iteration: int) -> int:
        """Returns the size of a checkpoint's files. Raises FileNotFoundError if they are removed meanwhile."""
        files = [path for path in (self.folder / str(iteration)).rglob("*") if path.is_file()]
        if not files:
            raise FileNotFoundError(f"{self.folder} has no checkpoint of iteration {iteration}")
        return sum(path.stat().st_size for path in files)

    def close(self) -> None:
        """Releases the resources of orbax."""
        self._manager.close()


def _refusal_of_system(error: Exception) -> str | None:
    """Returns why the operating system refused, such as "No space left on device"; None for any other error.

    A file that is not there is another error: a checkpoint without it is damaged.
    """
    named = re.search(r"os_error_code='(\d+)'", str(error))  # by tensorstore
    code = error.errno if isinstance(error, OSError) else int(named[1]) if named else None
    return None if code in (None, errno.ENOENT) else os.strerror(code)


@functools.cache
def _keep_orbax_quiet() -> None:
    """Silences what orbax reports beside the errors that it raises: with the first folder, not with the import."""
    logging.getLogger("absl").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").addFilter(_is_of_others)
    sys.unraisablehook = functools.partial(_report_unless_of_orbax, sys.unraisablehook)


def _report_unless_of_orbax(report: Callable[[Any], object], unraisable: Any) -> None:
    """Reports an error that Python cannot raise, but not those that follow an error of orbax.

    When one array fails, orbax raises its error and closes its event loop. The other arrays then fail in threads of
    tensorstore, because the loop is closed, or as coroutines that are deleted.
    """
    loop_is_closed = unraisable.object is None and str(unraisable.exc_value) == "Event loop is closed"
    is_coroutine = inspect.iscoroutine(unraisable.object) and "orbax" in unraisable.object.cr_code.co_filename
    if not (loop_is_closed or is_coroutine):
        report(unraisable)


class _Preserved:
    """orbax's policy for checkpoints: the last ones stay, and those that `stays` names."""

    def __init__(self, stays: Callable[[int], bool]) -> None:
        self.stays = stays

    def should_preserve(self, checkpoints: Sequence[Any], *, context: Any) -> list[bool]:
        older, last = checkpoints[:-LAST], checkpoints[-LAST:]
        return [self.stays(checkpoint.step) for checkpoint in older] + [True] * len(last)


def _storable(train_state: Any) -> Any:
    """Returns a train state, or a part of one, as orbax can store it from one process of many."""
    return jax.tree.map(lambda leaf: leaf if leaf.size else None, keys_to_data(train_state))


def _without_empty_nodes(tree: Any) -> Any:
    """Returns a pytree with None in place of every node that has no children. The leaves are the same."""

    def is_empty(node: Any) -> bool:
        structure = jax.tree.structure(node)
        return structure.num_nodes == 1 and structure.num_leaves == 0

    return jax.tree.map(lambda node: None if is_empty(node) else node, tree, is_leaf=is_empty)


def _restored(like: jax.ShapeDtypeStruct, stored: jax.Array | None) -> jax.Array:
    """Returns the leaf of a train state whose `_storable` is `stored`."""
    if stored is None:
        return jnp.zeros(like.shape, like.dtype)
    return jax.random.wrap_key_data(stored) if is_key(like) else stored


def _check_shapes(stored: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]], folder: Path) -> None:
    """Raises ValueError unless the arrays of a checkpoint have the shapes that are wanted."""
    differ = [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]
    if differ:
        name = differ[0]
        raise ValueError(
            f"the checkpoint of {folder.parent} does not fit the learner: {name} has shape {stored.get(name)} in the "
            f"checkpoint and {wanted.get(name)} in the learner, and {len(differ) - 1} more arrays differ"
        )


def shapes_by_name(tree: Any) -> dict[str, tuple[int, ...]]:
    """Returns the shape of every array of a train state, or of a part of it, by names such as "params/heads/bias"."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): tuple(leaf.shape) for path, leaf in leaves}
