"""The ratings of the agents of a ladder."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgames import arena


class PairResult(NamedTuple):
    """The results of all games of two agents."""

    wins: tuple[int, int]  # of the first and of the second agent
    draws: int  # all other games
    truncated: int  # games that a limit ended; they are among the draws


def ratings(names: Sequence[str], pairs: Mapping[tuple[str, str], PairResult]) -> list[dict[str, Any]]:
    """Returns a row for each agent, the highest rating first: agent, elo, elo_interval, games, wins, draws, losses.

    An end of an interval that the games do not bound is None.

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
    rows: list[dict[str, Any]] = [
        {
            "agent": name,
            "elo": round(float(elo[number]), 1),
            "elo_interval": [round(float(end), 1) if np.isfinite(end) else None for end in interval[number]],
            "games": int((wins + wins.T + draws)[number].sum()),
            "wins": int(wins[number].sum()),
            "draws": int(draws[number].sum()),
            "losses": int(wins[:, number].sum()),
        }
        for number, name in enumerate(ordered)
    ]
    return [rows[number] for number in np.argsort(-elo, kind="stable")]
