"""Parameters of another run as the start of a new one: `--init-from RUN` or `--init-from RUN@ITERATION`.

A file of `train.export` does as well, such as `--init-from jaxgames/baselines/checkers.policy`. It does not have the
names of the arrays, so its network must have the same name. Else only the shapes must fit: the other run can have other
settings or another game. Parameters that its seats share, but the seats of the new run do not, are copied to every
seat.

`--init-from RUN,RUN` joins parts that were trained apart: each run fills the arrays that none of the others has.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgames._specs import split_list
from jaxgames.policies import file as policy_file
from train import agents
from train.driver.learner import Config, format_setting, log
from train.driver.run_folder import RunFolder, leaves_by_name
from train.models.policy import Params, network_of
from train.settings import NETWORK_SETTINGS

SHOWN = 3  # the number of arrays that an error lists
SUFFIX = ".policy"


def load_params(text: str, like: Params, config: Config) -> Params:
    """Returns the parameters of a run's checkpoint, with their statistics, such as the means of a batch norm.

    Args:
      text: `RUN`, `RUN@ITERATION`, a file that ends with ".policy", or several runs, separated by commas. Of several
        runs, arrays that only one of them has are taken from it, and all others from `like`.
      like: parameters {"encoder", "heads"} with the shapes of the new run.
      config: the settings of the new run.
    """
    if Path(text).suffix == SUFFIX:
        return of_exported(text, like, config)
    texts, ours, taken = split_list(text), leaves_by_name(like), dict[str, Any]()
    runs = [agents.find_run(each, "init_from must be") for each in texts]
    with jax.ensure_compile_time_eval():  # inside a trace, too
        stored = [leaves_by_name(run.params(iteration)) for run, iteration in runs]
    owners = Counter(name for arrays in stored for name in arrays)
    for each, (run, _), arrays in zip(texts, runs, stored, strict=True):
        own = {name: array for name, array in arrays.items() if owners[name] == 1}
        if not own:
            raise ValueError(f"{each} fills no part of the network: the other runs of init_from have all of its arrays")
        _check_shapes(each, run, own, {name: leaf for name, leaf in ours.items() if name in own or len(texts) == 1})
        taken |= own
    if len(texts) > 1 and not any(isinstance(leaf, Tracer) for leaf in ours.values()):
        others = ", ".join(name for name in ours if name not in taken)
        log(f"{len(taken)} of {len(ours)} arrays are those of {', '.join(texts)}; these are random: {others}")
    filled = [_in_shape(taken[name], leaf) if name in taken else leaf for name, leaf in ours.items()]
    return jax.tree.structure(like).unflatten(filled)


def _in_shape(array: Any, like: Any) -> jax.Array:
    """Returns an array in the shape and type of another one, of which every seat can have its own."""
    return jnp.broadcast_to(array, like.shape).astype(like.dtype)


def of_exported(path: str, like: Params, config: Config) -> Params:
    """Returns the parameters in a file of `train.export`; `like` and `config` are those of `load_params`."""
    _, (header, _, arrays) = policy_file.read(path)
    network = header.network
    theirs, ours = (network_of(settings).partition("(")[0].strip() for settings in (network, network_settings(config)))
    leaves, (wanted, structure) = from_parts(arrays), jax.tree.flatten(like)
    fit = len(leaves) == len(wanted) and all(
        leaf.shape in (new.shape, new.shape[1:]) for leaf, new in zip(leaves, wanted, strict=True)
    )
    if not fit or theirs != ours:
        sizes = {name: value for name, value in network.items() if name != "network"}
        text = ", ".join([network_of(network), *(f"{name} {format_setting(value)}" for name, value in sizes.items())])
        raise ValueError(f"the parameters of {path} do not fit this run: expected the same network, {text}")
    return structure.unflatten([_in_shape(leaf, new) for leaf, new in zip(leaves, wanted, strict=True)])


def network_settings(config: Config) -> dict[str, Any]:
    """Returns the settings of the network that a run has."""
    network = {name: getattr(config, name, None) for name in NETWORK_SETTINGS}
    return {name: value for name, value in network.items() if value not in (None, ())}


def _check_shapes(text: str, run: RunFolder, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raises ValueError unless each array has the shape that it has here, or that each seat's has."""
    shapes = {name: tuple(leaf.shape) for name, leaf in ours.items()}
    of_run = {name: tuple(array.shape) for name, array in theirs.items()}
    differ = [
        name
        for name in {**ours, **theirs}
        if name not in ours or of_run.get(name) not in (shapes[name], shapes[name][1:])
    ]
    if differ:
        both = [f"{name} has shape {of_run.get(name)} there and {shapes.get(name)} here" for name in differ[:SHOWN]]
        more = f"; {len(differ) - SHOWN} more arrays differ" if len(differ) > SHOWN else ""
        game = {"env": getattr(run.config, "env", None), "sharing": getattr(run.config, "sharing", "shared")}
        settings = {"learner": run.learner.name, **game, **network_settings(run.config)}
        trained = ", ".join(f"{name} {format_setting(value)}" for name, value in settings.items())
        raise ValueError(
            f"the parameters of {text} do not fit this run: {'; '.join(both)}{more}. Both runs need the same network "
            f"with the same heads, and games with the same observations and actions; that run has {trained}"
        )


# -- parameters in a file of train.export ------------------------------------------------------------------------------


def stored_parts(params: Any, bits: int) -> list[tuple[np.ndarray, ...]]:
    """Returns the parts of each parameter in a file: one array, or with 8 bits integers and their scales.

    The last axis but one, of a matrix its inputs, shares a scale. Vectors are in half precision with 8 bits, too.
    """

    def parts_of(leaf: Any) -> tuple[np.ndarray, ...]:
        leaf = np.asarray(leaf)
        if leaf.dtype != np.float32 or bits == 32:
            return (leaf,)
        if not (np.abs(leaf) <= np.finfo(np.float16).max).all():
            raise ValueError("a parameter is too large for half precision: export the run with --bits 32")
        if bits == 16 or leaf.ndim < 2:
            return (leaf.astype(np.float16),)
        largest = np.abs(leaf).max(axis=-2, keepdims=True)
        scales = np.where(largest > 0, largest, 1) / np.iinfo(np.int8).max
        return np.rint(leaf / scales).astype(np.int8), scales.astype(np.float32)

    return [parts_of(leaf) for leaf in jax.tree.leaves(params)]


def from_parts(parts: Iterable[Any]) -> list[Any]:
    """Returns the parameters of the arrays in a file, of NumPy or JAX, in single precision."""
    left, found = iter(parts), list[Any]()
    for part in left:
        single = part.astype(np.float32) if part.dtype in (np.int8, np.float16) else part
        found.append(single * next(left) if part.dtype == np.int8 else single)  # its scales are behind it
    return found
