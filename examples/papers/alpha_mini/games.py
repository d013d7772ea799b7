"""Games of an agent against another one on a seat, and what the experiments of this study report of them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxgames import Env, arena
from jaxgames.agents import Agent, RandomAgent
from train import agents
from train.driver.commands import text_of_rate

KING = 60  # the reward for the capture of a king


def play(
    env: Env[Any],
    agent: Agent,
    opponent: Agent,
    seat: int,
    games: int,
    seed: int,
    openings: arena.Openings | None = None,
) -> dict[str, Any]:
    """Returns the results of an agent on a seat, 0 for White: counts of games, and means, in JSON's types.

    "draws" has the counts of each reason for a draw. Game i begins with the i-th of `openings`, and again with the
    first one after the last.
    """
    key = jax.random.key(seed)
    seats = arena.one_seat(key, games, 2, seat)
    played = arena.play(
        env, (agent, opponent), seats, key, openings=None if openings is None else openings.for_games(games)
    )
    found, boards = arena.results(env, played, seats), jax.device_get(played.boards)
    drawn = np.flatnonzero(arena.drawn(env, played))
    reasons = (env.outcome(jax.tree.map(lambda leaf, row=row: leaf[row], boards)).reason for row in drawn)
    return {
        "games": games,
        "won": found["wins"],
        "lost": int(arena.winners(env, played)[:, 1 - seat].sum()),
        "drawn": found["draws"],
        "truncated": found["truncated"],
        "draws": dict(Counter(reasons)),
        "mean_reward": found["mean_reward"],
        "mean_length": found["mean_length"],
    }


def play_random(
    text: str,
    seat: int,
    num_games: int,
    seed: int = 0,
    env: Env[Any] | None = None,
    openings: arena.Openings | None = None,
) -> dict[str, Any]:
    """Returns `play` of the agent with a text against a random player. Without `env`, the run plays its own game."""
    env = agents.env_for([text]) if env is None else env
    return play(env, agents.make(text, env), RandomAgent(env), seat, num_games, seed, openings)


def win_rate(result: dict[str, Any]) -> float:
    return result["won"] / result["games"]


def rate_from_reward(mean_reward: float) -> float:
    """Returns the study's estimate of the win rate from the mean reward of an episode, (r + 60) / 120."""
    return (mean_reward + KING) / (2 * KING)


def format_rate(wins: int, games: int) -> str:
    """Returns a win rate with its 95 % Wilson interval, such as "0.913 (0.881-0.936)"."""
    return text_of_rate(wins / games, arena.wilson(wins, games))


def format_range(rates: Sequence[float]) -> str:
    """Returns the median of several runs with their range, such as "0.966 (0.965-0.990)"."""
    return text_of_rate(float(np.median(rates)), (min(rates), max(rates)))
