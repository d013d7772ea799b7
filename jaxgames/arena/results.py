"""The results of games: `summary`, which can be traced, and on the host `results`, with confidence intervals and lists.

The intervals are those of Wilson (1927, "Probable inference, the law of succession, and statistical inference"). For k
successes in n trials, p = k / n and the quantile z = 1.96 of the normal distribution they have the ends

    (p + z^2 / 2n  -/+  z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
"""

import functools
import math
from statistics import NormalDist
from typing import Any, NotRequired, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent
from jaxgames.arena.games import Games, advance_until_over, start
from jaxgames.arena.seats import one_seat
from jaxgames.env import Env

Z = NormalDist().inv_cdf(0.975)  # for intervals of 95 %
Interval = tuple[float, float]


class SeatResults(TypedDict):
    """The results of an agent on one seat."""

    seat: int
    games: int  # in which the agent had the seat
    wins: int
    win_rate: float
    win_rate_interval: Interval


class Results(TypedDict):
    """The results of one agent; rates are divided by all games, intervals are 95 % Wilson intervals."""

    games: int
    wins: int  # games that one of its seats won
    win_rate: float
    win_rate_interval: Interval
    draws: int  # games that the rules ended without a winner
    draw_rate: float
    draw_rate_interval: Interval
    truncated: int  # games that a limit ended
    truncated_rate: float
    truncated_rate_interval: Interval
    mean_turns: float | None  # turns of the winning seat in the games that the agent won; None without a win
    mean_reward: float | None  # return of a seat; None if the agent has no seat
    mean_length: float | None  # steps of a game; None without a game
    by_seat: list[SeatResults]  # of the seats that the agent had in a game
    turns_to_win: NotRequired[list[int]]  # one entry per win, in the order of the games
    lengths: NotRequired[list[int]]  # one entry per game


def winners(env: Env[Any], games: Games) -> jax.Array:
    """Returns bool[games, num_players], the seats that won by the rules."""
    return jax.vmap(env.winners)(games.boards)


def drawn(env: Env[Any], games: Games) -> jax.Array:
    """Returns bool[games], whether the rules ended the game without a winner. A forfeited game is not drawn."""
    return games.boards.terminated & ~winners(env, games).any(-1) & ~games.forfeited


def summary(env: Env[Any], games: Games, agent_of_seat: jax.Array, number: int = 0) -> dict[str, jax.Array]:
    """Returns the results of one agent over all its seats, float32[] each, NaN where there is nothing to average.

        win_rate        games that one of its seats won, divided by all games
        draw_rate       games that the rules ended without a winner, divided by all games
        truncated_rate  games that a limit ended, divided by all games
        mean_turns      mean turns of the winning seat, the last one included, in the games that the agent won
        mean_reward     mean return of its seats in all games

    Args:
      agent_of_seat: int32[games, num_players].
      number: the agent's index in `agent_of_seat`.
    """
    names = ("win_rate", "draw_rate", "truncated_rate", "mean_turns", "mean_reward")
    return dict(zip(names, _summary(env, games, agent_of_seat, number), strict=True))  # in this order


@functools.partial(jax.jit, static_argnames="env")
def _summary(env: Env[Any], games: Games, agent_of_seat: jax.Array, number: int) -> tuple[jax.Array, ...]:
    on_seat = agent_of_seat == number  # bool[games, num_players]
    won = winners(env, games) & on_seat
    return (
        won.any(-1).mean(dtype=jnp.float32),
        drawn(env, games).mean(dtype=jnp.float32),
        games.boards.truncated.mean(dtype=jnp.float32),
        (games.turns * won).sum() / won.sum(dtype=jnp.float32),
        (games.returns * on_seat).sum() / on_seat.sum(dtype=jnp.float32),
    )


def wilson(successes: float, trials: int) -> Interval:
    """Returns the 95 % Wilson interval of a probability, as its lower and upper end; (0, 1) without a trial.

    A draw can count as half a success. The interval is then wider than it need be.
    """
    if not 0 <= successes <= trials:
        raise ParameterError(f"successes must be from 0 to the number of trials, {trials}, not {successes}")
    if trials == 0:
        return 0.0, 1.0
    share, per_trial = successes / trials, Z * Z / trials
    half_width = math.sqrt(per_trial * (share * (1 - share) + per_trial / 4))
    low, high = ((share + per_trial / 2 + sign * half_width) / (1 + per_trial) for sign in (-1, 1))
    return max(0.0, low) if successes else 0.0, min(1.0, high) if successes < trials else 1.0  # without rounding errors


def results(env: Env[Any], games: Games, agent_of_seat: jax.Array, number: int = 0, *, lists: bool = False) -> Results:
    """Returns the results of one agent over all its seats in games that are over. Call it on the host.

    `agent_of_seat` and `number` are those of `summary`. With `lists` it also returns `turns_to_win` and `lengths`.
    """
    on_seat = np.asarray(agent_of_seat) == number
    won, is_drawn = (np.asarray(found) for found in _winners_and_drawn(env, games))
    won, turns, length = won & on_seat, np.asarray(games.turns), np.asarray(games.length)
    truncated, num_games = np.asarray(games.boards.truncated), len(on_seat)
    turns_to_win = turns[won]

    def rate(successes: int, trials: int = num_games) -> tuple[float, Interval]:
        return successes / trials if trials else 0.0, wilson(successes, trials)

    wins, draws, cut_off = int(won.any(-1).sum()), int(is_drawn.sum()), int(truncated.sum())
    (win_rate, of_wins), (draw_rate, of_draws), (truncated_rate, of_truncated) = map(rate, (wins, draws, cut_off))
    by_seat: list[SeatResults] = []
    for seat, (played, won_there) in enumerate(zip(on_seat.sum(0).tolist(), won.sum(0).tolist(), strict=True)):
        if played:
            share, interval = rate(won_there, played)
            by_seat.append(
                {"seat": seat, "games": played, "wins": won_there, "win_rate": share, "win_rate_interval": interval}
            )
    found: Results = {
        "games": num_games,
        "wins": wins,
        "win_rate": win_rate,
        "win_rate_interval": of_wins,
        "draws": draws,
        "draw_rate": draw_rate,
        "draw_rate_interval": of_draws,
        "truncated": cut_off,
        "truncated_rate": truncated_rate,
        "truncated_rate_interval": of_truncated,
        "mean_turns": _mean(turns_to_win),
        "mean_reward": _mean(np.asarray(games.returns)[on_seat]),
        "mean_length": _mean(length),
        "by_seat": by_seat,
    }
    if lists:
        found["turns_to_win"], found["lengths"] = turns_to_win.tolist(), length.tolist()
    return found


def _mean(numbers: np.ndarray) -> float | None:
    return float(numbers.mean(dtype=np.float64)) if numbers.size else None


@functools.partial(jax.jit, static_argnames="env")
def _winners_and_drawn(env: Env[Any], games: Games) -> tuple[jax.Array, jax.Array]:
    return winners(env, games), drawn(env, games)


def evaluate(
    env: Env[Any], agent: Agent, opponent: Agent, key: jax.Array, num_games: int, *, seat: int | None = None
) -> dict[str, jax.Array]:
    """Returns the `summary` of whole games of `agent` on one seat, drawn for each game if None, against `opponent`.

    It is one traced program, for agents on the device. Call it under `jit`, or inside a training step.
    """
    seat_key, start_key, play_key = jax.random.split(key, 3)
    agent_of_seat = one_seat(seat_key, num_games, env.num_players, seat)
    games = start(env, start_key, num_games)
    games = advance_until_over(env, (agent, opponent), agent_of_seat, games, play_key)
    return summary(env, games, agent_of_seat)
