"""Tables of matrix games: points and answers of El Kaddouri, Rys and Gao 2024.

The study's points are probabilities of the first action of both players: (x, y).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from train.driver import tables
from train.matrix.games import Point, matrix_game
from train.matrix.replicator import basin, basins, critical_temperature, inner_rest_point
from train.matrix.tabular import Learner, Start

Answers = tuple[str, str, str]  # of the study: epsilon-greedy, Boltzmann and lenient Boltzmann


class Setting(NamedTuple):
    """Runs of a learner in a game, which give a row of its tables."""

    game: str
    learner: str  # in LEARNERS
    start: Start


class Column(NamedTuple):
    """A point of a game in the study's tables of equilibria and optima."""

    label: str
    point: Point
    answers: Answers | None  # None for a point that the study does not have


LEARNERS = {
    "ε-greedy 0.2": Learner("epsilon_greedy", epsilon=0.2),
    "ε-greedy 0.1": Learner("epsilon_greedy", epsilon=0.1),
    "Boltzmann": Learner("boltzmann"),
    "lenient κ = 2": Learner("lenient", kappa=2),
    "lenient κ = 5": Learner("lenient", kappa=5),
    "lenient κ = 10": Learner("lenient", kappa=10),
    "FAQ": Learner("faq"),
    "lenient FAQ κ = 5": Learner("lenient_faq", kappa=5),
    "Boltzmann, τ = 0.05": Learner("boltzmann", tau_schedule=0.05),
}
CONSTANT = Setting("biased_rps", "Boltzmann, τ = 0.05", "values")
SETTINGS = (
    *(
        Setting(game, learner, "values")
        for game in ("prisoners_dilemma", "biased_rps", "subsidy", "subsidy_printed", "battle_of_sexes")
        for learner in [*LEARNERS][:-1]
    ),
    *(Setting("subsidy", learner, "policies") for learner in [*LEARNERS][2:-1]),
    CONSTANT,
)


def two(x: float, y: float) -> Point:
    return np.array([x, 1 - x]), np.array([y, 1 - y])


def both(*policy: float) -> Point:
    return np.array(policy), np.array(policy)


PRINTED_RPS = Column("(10, 5, 1)/16", both(10 / 16, 5 / 16, 1 / 16), ("No", "No", "No"))
NASH_OF_RPS = Column("(1, 10, 5)/16", both(1 / 16, 10 / 16, 5 / 16), None)
BEST = Column("(1, 1)", two(1, 1), ("No", "No", "Yes"))
SAFE = Column("(0, 0)", two(0, 0), ("Yes", "Yes", "Yes"))
MIXED = Column("(10/11, 10/11)", two(10 / 11, 10 / 11), ("Yes", "No", "No"))
OPERA = Column("(1, 1)", two(1, 1), ("No", "Yes", "Yes"))
APART = (Column("(1, 0)", two(1, 0), None), Column("(0, 1)", two(0, 1), None))
POINTS = {  # of the study's eight tables and of the game with the printed payoffs: equilibria first, then optima
    "prisoners_dilemma": (SAFE, Column("(1, 1)", two(1, 1), ("No", "No", "No")), *APART),
    "biased_rps": (PRINTED_RPS, NASH_OF_RPS),  # zero-sum, so each pair of policies is an optimum
    "subsidy": (BEST, SAFE, MIXED),
    # The first three points are the study's, but are no equilibria of these payoffs. The others are.
    "subsidy_printed": (BEST, SAFE, MIXED, *APART, Column("(0.5, 0.5)", two(0.5, 0.5), None)),
    "battle_of_sexes": (Column("(0.6, 0.4)", two(0.6, 0.4), ("No", "No", "No")), OPERA, SAFE),
}


def summary(shares: Sequence[Mapping[str, Any]]) -> str:
    """Returns all points in one Markdown table, a row per game, start and point, and a column per learner.

    Policies of epsilon-greedy learners count as greedy ones, whose shares follow those of their own policies.
    """
    learners = [*LEARNERS][:-1]
    share_of = {tuple(row[name] for name in ("game", "start", "point", "learner")): row["share"] for row in shares}
    lines: list[list[str]] = []
    starts: dict[tuple[str, Start], None] = dict.fromkeys((setting.game, setting.start) for setting in SETTINGS)
    for game, start in starts:
        for label, _, answers in POINTS[game]:
            entries = [f"`{game}`", start, label, ", ".join(answers) if answers else "-"]
            found = (share_of.get((game, start, label, learner)) for learner in learners)
            lines.append(entries + ["-" if share is None else f"{share:.3f}" for share in found])
    return tables.markdown(("game", "start", "point", "study", *learners), lines)


def leniency(grid: int) -> str:
    """Returns what leniency changes in the subsidy game, in Markdown: a row for each kappa. Basins: see `basins`."""
    game = matrix_game("subsidy")
    lines: list[list[object]] = []
    for kappa in (1, 2, 5, 10):
        saddle, critical = inner_rest_point(game, kappa), critical_temperature(game, kappa)
        assert saddle is not None
        ends = [basins(game, kappa, tau, grid) for tau in (0, 0.1, 0.5)]
        shares = [*(each.share((1, 1)) for each in ends), ends[-1].share((0, 0))]
        temperature = f"{critical:.4f}" if critical < np.inf else "none"
        lines.append([kappa, f"{saddle[0]:.4f}", temperature, *(f"{share:.3f}" for share in shares)])
    basins_of_best = ("basin of (1, 1), τ → 0", "τ = 0.1", "τ = 0.5")
    return tables.markdown(("κ", "saddle", "critical temperature", *basins_of_best, "basin of (0, 0), τ = 0.5"), lines)


def gain(matrix: np.ndarray, point: Point) -> float:
    """Returns what the row player gains by its best reply, compared with its policy at a point."""
    payoffs = matrix @ point[1]
    return float(payoffs.max() - point[0] @ payoffs)


def figures_of_errors() -> dict[str, Any]:
    """Returns figures of the study's errors that need no runs; docs/papers/matrix_games.md has the errors."""
    subsidy = matrix_game("subsidy")
    row = matrix_game("biased_rps").payoffs[0]
    return {
        "gain of the best reply": {
            column.label: round(gain(row, column.point), 4) for column in (PRINTED_RPS, NASH_OF_RPS)
        },
        "gain of leaving (1, 1), printed payoffs": gain(matrix_game("subsidy_printed").payoffs[0], two(1, 1)),
        "basin of (1, 1)": {f"κ = {kappa}": round(basin(subsidy, kappa, 0), 4) for kappa in (1, 5)},
    }
