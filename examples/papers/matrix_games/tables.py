"""Tables of matrix games: points and answers of El Kaddouri, Rys and Gao 2024, and the study's errors.

The study's points are probabilities of the first action of both players: (x, y).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from train.driver import tables
from train.driver.commands import text_of_rate
from train.matrix.games import Point, logit_equilibrium, matrix_game, nash, pareto
from train.matrix.learners import Learner
from train.matrix.replicator import basin, basins, critical_temperature, inner_rest_point
from train.matrix.tabular import Start

Answers = tuple[str, str, str]  # of the study: epsilon-greedy, Boltzmann and lenient Boltzmann


class Setting(NamedTuple):
    """Runs of a learner in a game, which give a row of its tables."""

    game: str
    learner: str  # in LEARNERS
    start: Start


class Row(NamedTuple):
    """A row of a table, and where its shares come from."""

    setting: Setting
    greedy: bool  # the policies count as greedy ones


class Column(NamedTuple):
    """A point of a table."""

    label: str
    point: Point
    answers: Answers | None  # None for a point that the study does not have


class Table(NamedTuple):
    """A table of the study, or its counterpart for another game."""

    title: str  # of the table in the study
    game: str
    columns: tuple[Column, ...]


Shares = Mapping[tuple[Row, str], tuple[float, tuple[float, float]]]  # and intervals, by row and label of the column

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
TABLES = (
    Table("Nash equilibria, prisoner's dilemma", "prisoners_dilemma", (SAFE,)),
    Table("Nash equilibria, biased rock-paper-scissors", "biased_rps", (PRINTED_RPS, NASH_OF_RPS)),
    Table("Nash equilibria, subsidy game", "subsidy", (BEST, SAFE, MIXED)),
    Table(
        "Nash equilibria, subsidy game with the printed payoffs",
        "subsidy_printed",
        # The first three points are the study's, but are no equilibria of these payoffs. The others are.
        (BEST, SAFE, MIXED, *APART, Column("(0.5, 0.5)", two(0.5, 0.5), None)),
    ),
    Table(
        "Nash equilibria, battle of the sexes",
        "battle_of_sexes",
        (Column("(0.6, 0.4)", two(0.6, 0.4), ("No", "No", "No")), OPERA, SAFE),
    ),
    Table(
        "Pareto optima, prisoner's dilemma",
        "prisoners_dilemma",
        (Column("(1, 1)", two(1, 1), ("No", "No", "No")), *APART),
    ),
    Table(
        "Pareto optima, biased rock-paper-scissors",
        "biased_rps",
        # The game is zero-sum, so each pair of policies is a Pareto optimum, and each run ends at one.
        (PRINTED_RPS, NASH_OF_RPS),
    ),
    Table("Pareto optima, subsidy game", "subsidy", (BEST,)),
    Table("Pareto optima, subsidy game with the printed payoffs", "subsidy_printed", (BEST, *APART)),
    Table("Pareto optima, battle of the sexes", "battle_of_sexes", (OPERA, SAFE)),
)


def rows_of(game: str) -> Iterator[Row]:
    for setting in SETTINGS:
        if setting.game == game and setting != CONSTANT:
            yield Row(setting, False)
            if LEARNERS[setting.learner].kind == "epsilon_greedy":
                yield Row(setting, True)


def summary(shares: Shares) -> str:
    """Returns all points in one Markdown table, a row per game, start and point, and a column per learner.

    Policies of epsilon-greedy learners count as greedy ones.
    """
    learners = [*LEARNERS][:-1]
    lines: list[list[str]] = []
    points = {(each.game, column.label): column for each in TABLES for column in each.columns}
    for game, _, start in {(setting.game, setting.start): setting for setting in SETTINGS}.values():
        for label in (label for of, label in points if of == game):
            answers = points[game, label].answers
            entries = [f"`{game}`", start, label, ", ".join(answers) if answers else "-"]
            for learner in learners:
                row = Row(Setting(game, learner, start), LEARNERS[learner].kind == "epsilon_greedy")
                entries.append(f"{shares[row, label][0]:.3f}" if (row, label) in shares else "-")
            lines.append(entries)
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


def means(policies: Mapping[str, np.ndarray]) -> str:
    """Returns mean policies in biased rock-paper-scissors in Markdown, float[3] for each learner."""
    rows = [[learner, ", ".join(f"{share:.3f}" for share in policy)] for learner, policy in policies.items()]
    return tables.markdown(("learner", "rock, paper, scissors"), rows)


# -- errors of the study -----------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """An error or an open question of the study."""

    claim: str
    shown: str  # by the figures


def findings(shares: Shares, constant: Sequence[np.ndarray], predicted: Mapping[str, float]) -> list[Finding]:
    """Returns the errors and open questions of the study, with the figures that show them.

    Args:
      shares: of all rows.
      constant: the mean policies of both players at the end of the runs of CONSTANT.
      predicted: by learner, the share of runs of `subsidy` that end where the dynamics lead from their start.
    """
    return [*_of_rps(constant), *_of_subsidy(shares, predicted), *_of_others(shares)]


def _of_rps(constant: Sequence[np.ndarray]) -> Iterator[Finding]:
    """Yields what concerns rock-paper-scissors."""
    game = matrix_game("biased_rps")
    printed, right = (gain(game.payoffs[0], column.point) for column in (PRINTED_RPS, NASH_OF_RPS))
    logit = logit_equilibrium(game, 0.05)
    distance = max(np.abs(mean - policy).max() for mean, policy in zip(constant, logit, strict=True))
    yield Finding(
        "Rock-paper-scissors: (10, 5, 1)/16 is not the equilibrium, its labels are permuted",
        f"Against it, the best reply gains {printed:.3f}. Against (1, 10, 5)/16, it gains {right:.3f}.",
    )
    yield Finding(
        "Rock-paper-scissors: the table of Pareto optima has the equilibrium only",
        f"All {len(pareto(game))} pairs of actions are optima, because the game is zero-sum. The study's text says so.",
    )
    yield Finding(
        "Rock-paper-scissors: No is right for the end of a run, but the mean of the runs converges",
        f"At the constant temperature 0.05, the mean policies are within {distance:.3f} of the logit equilibrium.",
    )


def _of_subsidy(shares: Shares, predicted: Mapping[str, float]) -> Iterator[Finding]:
    """Yields what concerns the subsidy game."""
    game, printed = matrix_game("subsidy"), matrix_game("subsidy_printed")

    def share(learner: str, label: str, start: Start = "values", *, greedy: bool = False) -> str:
        return text_of_rate(*shares[Row(Setting("subsidy", learner, start), greedy), label])

    best, safe = (max(shares[row, label][0] for row in rows_of(printed.name)) for label in ("(1, 1)", "(0, 0)"))
    yield Finding(
        "Subsidy: the printed payoffs do not belong to the tables",
        f"With them, a player gains {gain(printed.payoffs[0], two(1, 1)):g} by leaving (1, 1). The equilibria are "
        f"{points_text(nash(printed))}. The largest share of a learner is {best:.3f} at (1, 1), and {safe:.3f} at "
        f"(0, 0). The tables have the equilibria of the payoffs 12, 11, 10 and 0: {points_text(nash(game))}.",
    )
    yield Finding(
        "Subsidy: the Yes of ε-greedy at (0.9, 0.9) belongs to another point, (1, 1)",
        f"With ε = 0.1, {share('ε-greedy 0.1', '(1, 1)', greedy=True)} of the runs are greedy at (1, 1). Their "
        f"policies are (0.95, 0.95), so {share('ε-greedy 0.1', '(10/11, 10/11)')} are within 0.05 of (10/11, 10/11). "
        f"With ε = 0.2, {share('ε-greedy 0.2', '(1, 1)', greedy=True)} are greedy at (1, 1). There S2 is the better "
        "reply, because 1 - ε/2 < 10/11 for ε > 2/11.",
    )
    temperatures = [critical_temperature(game, kappa) for kappa in (1, 2)]
    assert critical_temperature(game, 5) == np.inf
    yield Finding(
        "Subsidy: No, No, Yes at (1, 1) depends on the start of the runs, which the study does not state",
        f"From random values, {share('Boltzmann', '(1, 1)')} of the runs reach (1, 1) without leniency, and "
        f"{share('lenient κ = 5', '(1, 1)')} with κ = 5. From random policies, the shares are "
        f"{share('Boltzmann', '(1, 1)', 'policies')} and {share('lenient κ = 5', '(1, 1)', 'policies')}. The dynamics "
        "have no attractor near (1, 1) above the critical temperature, and the schedule begins at 0.5. That "
        f"temperature is {temperatures[0]:.4f} for κ = 1 and {temperatures[1]:.3f} for κ = 2. There is none for κ = 5.",
    )
    plain, lenient = (inner_rest_point(game, kappa) or (np.nan, np.nan) for kappa in (1, 5))
    yield Finding(
        "Subsidy: trajectories to (1, 1) are no exception to the field, as the study says of its Figure 1",
        f"In the field of a lenient learner with κ = 5, (1, 1) attracts {basin(game, 5, 0):.3f} of all policies. The "
        f"saddle is at {lenient[0]:.4f}. Without leniency these are {basin(game, 1, 0):.3f} and {plain[0]:.4f}.",
    )
    yield Finding(
        "Subsidy: it is not leniency that bends the trajectories away from the field",
        "The field describes learners that update all actions equally often. So it predicts the end of "
        f"{predicted['lenient FAQ κ = 5']:.3f} of the runs of lenient FAQ, which is as lenient, but of "
        f"{predicted['lenient κ = 5']:.3f} of the runs of the lenient learner. It is the same without leniency: "
        f"{predicted['FAQ']:.3f} for FAQ, and {predicted['Boltzmann']:.3f} for Boltzmann.",
    )


def _of_others(shares: Shares) -> Iterator[Finding]:
    """Yields what concerns the prisoner's dilemma and the battle of the sexes."""

    def share(game: str, learner: str, label: str, *, greedy: bool = False) -> str:
        return text_of_rate(*shares[Row(Setting(game, learner, "values"), greedy), label])

    yield Finding(
        "ε-greedy: a policy is never at a pure point, so a Yes there can only mean the greedy policy",
        f"Prisoner's dilemma with ε = 0.2, at (0, 0): {share('prisoners_dilemma', 'ε-greedy 0.2', '(0, 0)')} of the "
        f"policies, and {share('prisoners_dilemma', 'ε-greedy 0.2', '(0, 0)', greedy=True)} of the greedy policies.",
    )
    yield Finding(
        "Prisoner's dilemma: (1, 1) is not the only Pareto optimum",
        f"The optima are {points_text(pareto(matrix_game('prisoners_dilemma')))}.",
    )
    yield Finding(
        "κ = 10: the study calls it too slow, and it is",
        f"Prisoner's dilemma at (0, 0): {share('prisoners_dilemma', 'lenient κ = 10', '(0, 0)')} of the runs with "
        f"κ = 10, and {share('prisoners_dilemma', 'lenient κ = 5', '(0, 0)')} with κ = 5.",
    )
    yield Finding(
        "Battle of the sexes: ε-greedy cannot have No at (1, 1) and Yes at (0, 0)",
        "The game stays the same if the players and the actions are exchanged, and the two points change places. "
        f"Greedy policies, ε = 0.2: {share('battle_of_sexes', 'ε-greedy 0.2', '(1, 1)', greedy=True)} and "
        f"{share('battle_of_sexes', 'ε-greedy 0.2', '(0, 0)', greedy=True)}.",
    )


def gain(matrix: np.ndarray, point: Point) -> float:
    """Returns what the row player gains by its best reply, compared with its policy at a point."""
    payoffs = matrix @ point[1]
    return float(payoffs.max() - point[0] @ payoffs)


def points_text(points: Sequence[Point]) -> str:
    """Returns points of a game with two actions per player as "(x, y)", with commas between them."""
    return ", ".join(f"({row[0]:.4g}, {column[0]:.4g})" for row, column in points)


def findings_text(findings: Sequence[Finding]) -> str:
    return "\n".join(f"{number}. {claim}. {shown}" for number, (claim, shown) in enumerate(findings, 1))


def as_json(shares: Shares) -> list[dict[str, Any]]:
    return [
        {
            "game": row.setting.game,
            "learner": row.setting.learner,
            "start": row.setting.start,
            "greedy": row.greedy,
            "point": label,
            "share": round(share, 4),
            "interval": [round(end, 4) for end in interval],
        }
        for (row, label), (share, interval) in shares.items()
    ]
