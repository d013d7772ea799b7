"""Parameters of another run as the start of a new one: `--init-from RUN` or `--init-from RUN@ITERATION`.

A file of `train.export` does as well, such as `--init-from jaxgames/baselines/checkers.policy`. With 8 bits its
parameters are rounded.

Only the shapes must fit. The other run can have other settings or another game, such as other rules on the same board.
With a network for any board it can have another board.
Parameters that its seats share, but the seats of the new run do not, are copied to every seat.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgames.policies import file as policy_file
from train import agents
from train.driver.checkpoints import shapes_by_name
from train.driver.learner import Config
from train.driver.loop import log
from train.driver.run_folder import RunFolder
from train.driver.stored_config import format_setting
from train.models.policy import Params
from train.settings import NETWORK_SETTINGS

SHOWN = 3  # the number of arrays that an error lists
SUFFIX = ".policy"


def load_params(text: str, like: Params, config: Config) -> Params:
    """Returns the parameters of a run's checkpoint, with their statistics, such as the means of a batch norm.

    It logs in which game and sharing the two runs differ, except inside a trace.

    Args:
      text: `RUN`, `RUN@ITERATION`, or the path of an exported policy, which ends with ".policy".
      like: parameters {"encoder", "heads"} with the shapes of the new run.
      config: the settings of the new run.

    Raises:
      FileNotFoundError: there is no such run or checkpoint.
      ValueError: `text` has another form, or shapes do not fit; the message has both.
    """
    if Path(text).suffix == SUFFIX:
        return of_exported(text, like)
    run, iteration = agents.find_run(text, "init_from must be")
    with jax.ensure_compile_time_eval():  # inside a trace, too
        stored = run.params(iteration)
    _check_shapes(text, run, stored, like)
    names = [name for name in ("env", "sharing") if hasattr(config, name)]
    settings = {name: (getattr(run.config, name, None), getattr(config, name)) for name in names}
    differ = [
        f"{name} is {theirs} there and {ours} here" for name, (theirs, ours) in settings.items() if theirs != ours
    ]
    if differ and not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(like)):
        log(f"the first parameters are those of {text}; {' and '.join(differ)}")
    return jax.tree.map(lambda old, new: jnp.broadcast_to(old, new.shape).astype(new.dtype), stored, like)


def of_exported(path: str, like: Params) -> Params:
    """Returns the parameters in a file of `train.export`.

    Raises OSError or ValueError if the file cannot be read, ValueError if its network is not the one of `like`.
    """
    _, (header, _, arrays) = policy_file.read(path)
    leaves = list(_single_precision(iter(arrays)))
    wanted, structure = jax.tree.flatten(like)
    if [leaf.shape for leaf in leaves] != [leaf.shape for leaf in wanted]:
        network = ", ".join(f"{name} {format_setting(value)}" for name, value in header.network.items())
        raise ValueError(f"the parameters of {path} do not fit this run: expected the same network, {network}")
    return jax.tree.unflatten(
        structure, [jnp.asarray(leaf, old.dtype) for leaf, old in zip(leaves, wanted, strict=True)]
    )


def _single_precision(arrays: Iterator[np.ndarray]) -> Iterator[np.ndarray[Any, Any]]:
    """Yields the parameters of the arrays in a file; integers have their scales behind them (`train.export`)."""
    for array in arrays:
        yield array * next(arrays) if array.dtype == np.int8 else array


def _check_shapes(text: str, run: RunFolder, stored: Params, like: Params) -> None:
    """Raises ValueError unless each array has the shape as in `like`, or as each of its seats has there."""
    theirs, ours = shapes_by_name(stored), shapes_by_name(like)
    differ = [
        name for name in {**ours, **theirs} if name not in ours or theirs.get(name) not in (ours[name], ours[name][1:])
    ]
    if differ:
        both = [f"{name} has shape {theirs.get(name)} there and {ours.get(name)} here" for name in differ[:SHOWN]]
        more = f"; {len(differ) - SHOWN} more arrays differ" if len(differ) > SHOWN else ""
        settings = {name: getattr(run.config, name, None) for name in ("env", "sharing", *NETWORK_SETTINGS)}
        given = {name: value for name, value in settings.items() if value not in (None, ())}
        trained = ", ".join(f"{name} {format_setting(value)}" for name, value in given.items())
        raise ValueError(
            f"the parameters of {text} do not fit this run: {'; '.join(both)}{more}. Both runs need the same network "
            f"and games with the same observations and actions; that run has {trained}"
        )
