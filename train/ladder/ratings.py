"""The ratings of the agents of a ladder."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from jaxgames import arena
from train.driver.metrics import rounded


class PairResult(NamedTuple):
    """The results of all games of two agents."""

    wins: tuple[int, int]  # of the first and of the second agent
    draws: int  # all other games
    truncated: int  # games that a limit ended; they are among the draws


class Row(TypedDict):
    """One agent in the result of a ladder."""

    agent: str
    elo: float
    elo_interval: list[float | None]  # None for an end that the games do not bound
    games: int
    wins: int
    draws: int
    losses: int


class Checkpoints(NamedTuple):
    """The checkpoints of a run among the agents of a ladder."""

    run: str  # its text on the command line
    names: list[str]  # of the agents, in ascending order of the iterations
    steps: list[int]  # environment steps of training before each checkpoint


class Ratings(NamedTuple):
    """The ratings of all agents, from the results of all pairs."""

    rows: list[Row]  # the highest rating first
    scores: list[list[float | None]]  # the share of the points of a row's agent against a column's; None for itself


def ratings(names: Sequence[str], pairs: Mapping[tuple[str, str], PairResult]) -> Ratings:
    """Returns the ratings of agents.

    Args:
      names: of the agents; the first one has rating 0.
      pairs: the result of every pair of agents, by their names in alphabetical order.
    """
    ordered = sorted(names)  # so that the order of the names does not change the resamples
    anchor = ordered.index(names[0])
    wins, draws = np.zeros((2, len(names), len(names)))
    for (i, first), (j, second) in itertools.combinations(enumerate(ordered), 2):
        result = pairs[first, second]
        wins[i, j], wins[j, i] = result.wins
        draws[i, j] = draws[j, i] = result.draws
    elo, interval = arena.elo(wins, draws, anchor=anchor), arena.elo_interval(wins, draws, anchor=anchor)
    games = wins + wins.T + draws
    scores = np.divide(wins + draws / 2, games, out=np.full_like(games, np.nan), where=games > 0)
    rows: list[Row] = [
        {
            "agent": name,
            "elo": round(float(elo[number]), 1),
            "elo_interval": [round(float(end), 1) if np.isfinite(end) else None for end in interval[number]],
            "games": int(games[number].sum()),
            "wins": int(wins[number].sum()),
            "draws": int(draws[number].sum()),
            "losses": int(wins[:, number].sum()),
        }
        for number, name in enumerate(ordered)
    ]
    order = np.argsort(-elo, kind="stable")
    return Ratings([rows[number] for number in order], rounded(scores[order][:, order].tolist()))
