"""Parameters of another run as the start of a new one: `--init-from RUN` or `--init-from RUN@ITERATION`.

Only the shapes must fit. The other run can have other settings or another game, such as other rules on the same board.
With a network for any board it can have another board.
Parameters that its seats share, but the seats of the new run do not, are copied to every seat.
"""

import jax
import jax.numpy as jnp
from jax.core import Tracer

from train import agents
from train.driver.checkpoints import shapes_by_name
from train.driver.learner import Config
from train.driver.loop import log
from train.driver.run_folder import RunFolder
from train.driver.stored_config import format_setting
from train.models.policy import Params
from train.settings import NETWORK_SETTINGS

SHOWN = 3  # the number of arrays that an error lists


def load_params(text: str, like: Params, config: Config) -> Params:
    """Returns the parameters of a run's checkpoint, with their statistics, such as the means of a batch norm.

    It logs in which game and sharing the two runs differ, except inside a trace.

    Args:
      text: `RUN` or `RUN@ITERATION`.
      like: parameters {"encoder", "heads"} with the shapes of the new run.
      config: the settings of the new run.

    Raises:
      FileNotFoundError: there is no such run or checkpoint.
      ValueError: `text` has another form, or shapes do not fit; the message has both.
    """
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
