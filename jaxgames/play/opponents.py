"""Opponents for people: the agent that plays where nobody has named one, levels with their ratings, chances to win."""

import functools
import math
from typing import Any

from jaxgames import agents
from jaxgames.baselines.level_agents import plays
from jaxgames.env import Env
from jaxgames.play.session import HUMAN
from jaxgames.play.words import words_of
from jaxgames.policies.policy import has_seat_values

PREFERRED = ("baseline", "alphabeta", "greedy", "mcts(simulations=100)")
ADVISERS = ("alphabeta", "baseline", "mcts(simulations=100, playout='greedy')", "mcts(simulations=100)", "greedy")
REVIEWERS = ("alphabeta", "baseline", "mcts(simulations=200, playout='greedy')", "mcts(simulations=200)")


@functools.lru_cache(64)
def default_agent(env: Env[Any]) -> str:
    """Returns the text of the agent that plays a game: `baseline`, else `alphabeta`, else `greedy`, else `mcts`.

    It is `random` only where none of them plays: in a game of chance of your own.
    """
    return next((text for text in PREFERRED if plays(text, env)), "random")


def default_seats(env: Env[Any], human_seat: int = 0) -> list[str]:
    """Returns the texts of the seats: a person on one, the default agent on all others."""
    return [HUMAN if seat == human_seat else default_agent(env) for seat in range(env.num_players)]


@functools.lru_cache(64)
def adviser(env: Env[Any]) -> str | None:
    """Returns the text of the agent that gives hints: the strongest one that has probabilities.

    None where only `random` would be left.
    """
    return next((text for text in ADVISERS if plays(text, env)), None)


@functools.lru_cache(64)
def reviewer(env: Env[Any]) -> str | None:
    """Returns the text of the agent that reviews games: the strongest one that values every seat; None if none does.

    The network of some games has no values, those of another `reward`, or those of the seat to move only.
    """
    if words_of(env).returns(env.unwrapped) is None:
        return None
    return next((text for text in REVIEWERS if plays(text, env) and _values_every_seat(text, env)), None)


def _values_every_seat(text: str, env: Env[Any]) -> bool:
    agent: Any = agents.make(text, env) if text == "baseline" else None
    return agent is None or (agent.has_values and has_seat_values(env, agent.policy.header.value_shape))


def win_chance(env: Env[Any], value: float) -> float | None:
    """Returns the chance to win, from 0 to 1, of a seat with an expected return; a draw counts as half a win.

    None for an unknown value, NaN, and in a game whose returns do not tell who wins. Small bonuses for single moves
    count as part of the chance.
    """
    bounds = words_of(env).returns(env.unwrapped)
    if bounds is None or math.isnan(value):
        return None
    lost, won = bounds
    return min(1.0, max(0.0, (value - lost) / (won - lost)))
