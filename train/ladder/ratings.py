"""The ratings of the agents of a ladder, and where they fall over the checkpoints of a run."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from jaxgames import arena
from train.driver.metrics import rounded

SIGNIFICANT = 0.975  # the share of the resamples in which a rating must fall


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
    resamples: dict[str, NDArray[np.float64]]  # float64[resamples], the ratings of an agent in resamples of the games


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
    resamples = dict(zip(ordered, arena.elo_resamples(wins, draws, anchor=anchor).T, strict=True))
    return Ratings([rows[number] for number in order], rounded(scores[order][:, order].tolist()), resamples)


def falls(run: Checkpoints, of_agents: Ratings) -> dict[str, Any]:
    """Returns the agents of a run's checkpoints, and those whose rating is below the rating of the checkpoint before.

    A fall is significant if it is one in at least 97.5 % of the resamples.
    """
    elo = {row["agent"]: row["elo"] for row in of_agents.rows}
    fallen = [(before, after) for before, after in itertools.pairwise(run.names) if elo[after] < elo[before]]
    falls_in = [(of_agents.resamples[after] < of_agents.resamples[before]).mean() for before, after in fallen]
    return {
        "run": run.run,
        "agents": run.names,
        "steps": run.steps,
        "falls": len(fallen),
        "significant_falls": sum(bool(share >= SIGNIFICANT) for share in falls_in),
        "falls_at": [after for _, after in fallen],
    }
