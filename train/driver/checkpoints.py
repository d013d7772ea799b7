"""The checkpoints of a run: train states, each in one file of NumPy's .npz format with the number of its iteration.

A checkpoint is written beside the others and then renamed, so it is whole or not there, even when the process is
killed. A file that was damaged later does not fit the checksums of the format. Keys are stored as words.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames._files import whole_file
from train.ops.sharding import is_key, keys_to_data

LAST = 2  # the number of last checkpoints that always stay
STATE = "state/"  # what the names of arrays in a file begin with


class Checkpoints:
    """The checkpoints in a folder. Another process can write and remove them meanwhile."""

    def __init__(self, folder: Path) -> None:
        """The folder is created with the first checkpoint."""
        self.folder = folder.absolute()

    def path(self, iteration: int) -> Path:
        """Returns the file of a checkpoint."""
        return self.folder / f"{iteration}.npz"

    def iterations(self) -> list[int]:
        """Returns the iterations that have a checkpoint now, in ascending order.

        Raises ValueError for checkpoints that an earlier version wrote, which were folders.
        """
        if any(path.name.isdecimal() for path in self.folder.glob("*")):
            raise ValueError(f"an earlier version wrote the checkpoints in {self.folder}: train the run again")
        return sorted(int(path.stem) for path in self.folder.glob("*.npz") if path.stem.isdecimal())

    def write(self, iteration: int, train_state: Any, keep_every: int = 0) -> None:
        """Writes a checkpoint. Removes the last but LAST one, unless it is a multiple of `keep_every` (0 for none).

        Raises OSError, with the path, if the disk is full or refuses it for another reason.
        """
        plain = jax.device_get(keys_to_data(train_state))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for unfinished in self.folder.glob("*.part"):  # of a killed process
                unfinished.unlink(missing_ok=True)
            with whole_file(self.path(iteration)) as temporary, temporary.open("wb") as file:
                np.savez(file, **{STATE + name: leaf for name, leaf in leaves_by_name(plain).items()})
        except OSError as error:
            raise OSError(f"{self.path(iteration)} cannot be written: {error.strerror or error}") from error
        self.remove([each for each in self.iterations()[-LAST - 1 : -LAST] if not is_multiple(each, keep_every)])

    def read(self, iteration: int, like: Any, part: str = "") -> Any:
        """Returns a train state on the first local device, whatever devices it was written from.

        Args:
          iteration: of the checkpoint.
          like: the train state, or a part of it such as {"params": ...}, as shapes and dtypes. Only this is read.
          part: what the names of the part's arrays begin with, such as "params/"; "" for the whole train state.

        Raises ValueError unless the checkpoint has the same arrays there, with the same shapes. Raises it also for a
        damaged checkpoint, FileNotFoundError if there is none, and OSError if it cannot be read.
        """
        path = self.path(iteration)
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
            before = [each for each in self.iterations() if each < iteration]
            advice = "there is none before it, so the run must be trained again"
            if before:
                run = f"{self.folder.parent}@{before[-1]}"
                advice = f"use the checkpoint before it, {run}; to continue from there, remove {path} and add --resume"
            raise ValueError(f"the checkpoint {path} is damaged: {advice}") from error
        wanted = leaves_by_name(jax.eval_shape(keys_to_data, like))
        _check_shapes(shapes_by_name(stored), shapes_by_name(wanted), self.folder)
        arrays = [(stored[name], leaf.dtype) for name, leaf in wanted.items()]
        # NumPy reads a dtype that it does not know, such as bfloat16, as bytes.
        words = [array.view(dtype) if dtype.kind == "V" else array.astype(dtype) for array, dtype in arrays]
        leaves = [jax.device_put(each, jax.local_devices()[0]) for each in words]
        keys = [is_key(leaf) for leaf in jax.tree.leaves(like)]
        restored = [jax.random.wrap_key_data(x) if key else x for x, key in zip(leaves, keys, strict=True)]
        return jax.tree.unflatten(jax.tree.structure(like), restored)

    def remove(self, iterations: Sequence[int]) -> None:
        """Removes the checkpoints of these iterations."""
        for iteration in iterations:
            self.path(iteration).unlink(missing_ok=True)


def is_multiple(iteration: int, keep_every: int) -> bool:
    """Returns whether the checkpoint of an iteration stays with this setting."""
    return keep_every > 0 and iteration % keep_every == 0


def _check_shapes(stored: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]], folder: Path) -> None:
    """Raises ValueError unless the arrays of a checkpoint have the shapes that are wanted."""
    differ = [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]
    if differ:
        name = differ[0]
        raise ValueError(
            f"the checkpoint of {folder.parent} does not fit the learner: {name} has shape {stored.get(name)} in the "
            f"checkpoint and {wanted.get(name)} in the learner, and {len(differ) - 1} more arrays differ"
        )


def leaves_by_name(tree: Any) -> dict[str, Any]:
    """Returns the arrays of a train state, or of a part of it, by names such as "params/heads/bias"."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}


def shapes_by_name(tree: Any) -> dict[str, tuple[int, ...]]:
    """Returns the shape of every array of a train state, or of a part of it, by its name."""
    return {name: tuple(leaf.shape) for name, leaf in leaves_by_name(tree).items()}
