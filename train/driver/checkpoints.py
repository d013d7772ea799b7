"""The checkpoints of a run: train states, each in one file of NumPy's .npz format with the number of its iteration.

A checkpoint is written beside the others and then renamed, so it is whole or not there, even when the process is
killed. A file that was damaged later does not fit the checksums of the format. Keys are stored as words.
"""

import io
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames._files import whole_file
from train.ops.sharding import is_key, keys_to_data

LAST = 2  # the number of last checkpoints that always stay
STATE = "state/"  # what the names of arrays in a file begin with


def path_of(folder: Path, iteration: int) -> Path:
    """Returns the file of a checkpoint."""
    return folder / f"{iteration}.npz"


def iterations(folder: Path) -> list[int]:
    """Returns the iterations that have a checkpoint now, in ascending order.

    Raises ValueError for checkpoints that an earlier version wrote, which were folders.
    """
    if any(path.name.isdecimal() for path in folder.glob("*")):
        raise ValueError(f"an earlier version wrote the checkpoints in {folder}: train the run again")
    return sorted(int(path.stem) for path in folder.glob("*.npz") if path.stem.isdecimal())


def write(folder: Path, iteration: int, train_state: Any, keep_every: int = 0) -> None:
    """Writes a checkpoint. Removes the last but LAST one, unless it is a multiple of `keep_every` (0 for none).

    Raises OSError, with the path, if the disk is full or refuses it for another reason.
    """
    path, plain = path_of(folder, iteration), jax.device_get(keys_to_data(train_state))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for unfinished in folder.glob("*.part"):  # of a killed process
            unfinished.unlink(missing_ok=True)
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **{STATE + name: leaf for name, leaf in leaves_by_name(plain).items()})
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror or error}") from error
    for each in iterations(folder)[-LAST - 1 : -LAST]:
        if not is_multiple(each, keep_every):
            path_of(folder, each).unlink(missing_ok=True)


def read(folder: Path, iteration: int, like: Any, part: str = "") -> Any:
    """Returns a train state on the first local device, whatever devices it was written from.

    Args:
      folder: of the checkpoints. Another process can write and remove them meanwhile.
      iteration: of the checkpoint.
      like: the train state, or a part of it such as {"params": ...}, as shapes and dtypes. Only this is read.
      part: what the names of the part's arrays begin with, such as "params/"; "" for the whole train state.

    Raises ValueError unless the checkpoint has the same arrays there, with the same shapes. Raises it also for a
    damaged checkpoint, FileNotFoundError if there is none, and OSError if it cannot be read.
    """
    path = path_of(folder, iteration)
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
        if before := [each for each in iterations(folder) if each < iteration]:
            run = f"{folder.parent}@{before[-1]}"
            advice = f"use the checkpoint before it, {run}; to continue from there, remove {path} and add --resume"
        raise ValueError(f"the checkpoint {path} is damaged: {advice}") from error
    wanted = leaves_by_name(jax.eval_shape(keys_to_data, like))
    ours, theirs = shapes_by_name(wanted), shapes_by_name(stored)
    if differ := [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]:
        name = differ[0]
        raise ValueError(
            f"the checkpoint of {folder.parent} does not fit the learner: {name} has shape {theirs.get(name)} in the "
            f"checkpoint and {ours.get(name)} in the learner, and {len(differ) - 1} more arrays differ"
        )
    arrays = [(stored[name], leaf.dtype) for name, leaf in wanted.items()]
    # NumPy reads a dtype that it does not know, such as bfloat16, as bytes.
    words = [array.view(dtype) if dtype.kind == "V" else array.astype(dtype) for array, dtype in arrays]
    leaves = [jax.device_put(each, jax.local_devices()[0]) for each in words]
    keys = [is_key(leaf) for leaf in jax.tree.leaves(like)]
    restored = [jax.random.wrap_key_data(x) if key else x for x, key in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(like), restored)


def is_multiple(iteration: int, keep_every: int) -> bool:
    """Returns whether the checkpoint of an iteration stays with this setting."""
    return keep_every > 0 and iteration % keep_every == 0


def leaves_by_name(tree: Any) -> dict[str, Any]:
    """Returns the arrays of a train state, or of a part of it, by names such as "params/heads/bias"."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}


def shapes_by_name(tree: Any) -> dict[str, tuple[int, ...]]:
    """Returns the shape of every array of a train state, or of a part of it, by its name."""
    return {name: tuple(leaf.shape) for name, leaf in leaves_by_name(tree).items()}
