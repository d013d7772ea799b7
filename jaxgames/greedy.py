"""Scores of the greedy agent, the `scores` of a game's record: what the mover gains at once by each of its actions.

Nothing looks ahead: neither at the opponent's reply, nor at the next ply of the same turn.
"""

from typing import Any

import jax

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.registry import record_of
from jaxgames.wrappers import live_boards


def action_scores(env: Env[Any], state: Any) -> jax.Array:
    """Returns float32[num_actions], what the mover of one board gains by each action; any number for an illegal one.

    Raises ParameterError (a ValueError) for a game without scores.
    """
    check_has_scores(env)
    return record_of(env).part("scores")(env.unwrapped, live_boards(state))


def check_has_scores(env: Env[Any]) -> None:
    """Raises ParameterError (a ValueError) for a game without scores."""
    if record_of(env).scores is None:
        raise ParameterError(
            f"greedy has no scores for {env.unwrapped}: add them with jaxgames.register(Game(..., scores=...)), the "
            f"module of a function scores(env, state) that returns float32[{env.num_actions}]"
        )
