"""The settings that El Kaddouri, Rys and Gao 2024 name for their tabular learners, and any others.

    python -m examples.papers.matrix_games.settings
    python -m examples.papers.matrix_games.settings --matrix-games subsidy --constant "boltzmann(tau_schedule=2)" \\
        "epsilon_greedy(epsilon=0.4)" --learners --output runs/papers/matrix_games/mine

A learner is written as its kind with settings of `train.matrix.tabular.Learner`. The first table has learners with a
constant epsilon or temperature, after the last number of steps. The second one has learners with the study's schedule,
after each number of steps. "apart" is (1, 0) or (0, 1); shares of epsilon-greedy learners at pure points are of greedy
policies. The mean policy and the share near (0.5, 0.5), within 0.1, are of the policies that they play. The third table
has the learners of the first one in games with more actions, whose mean policy is that of the row player.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from examples.papers._experiment import Column, Experiment, Report, progress_over, run_experiment, table_of
from examples.papers.matrix_games.tables import two
from jaxgames import ParameterError, _specs
from jaxgames._checks import check_int
from train.driver.metrics import rounded
from train.matrix.games import MatrixGame, matrix_game, nash
from train.matrix.tabular import Learner, run, share_near

PURE_POINTS = {"(1, 1)": (two(1, 1),), "(0, 0)": (two(0, 0),), "apart": (two(1, 0), two(0, 1))}
TOLERANCE = 0.1
PURE = 0.95  # the least probability of the action at a pure point
COLUMNS: dict[str, Column] = {
    "game": "`{game}`",
    "learner": "`{learner}`",
    "steps": "{steps:,}",
    **{f"at {name}": lambda row, name=name: f"{row['shares'][name]:.3f}" for name in PURE_POINTS},
    "mean policy": "({mean[0]:.2f}, {mean[1]:.2f})",
    "near (0.5, 0.5)": "{middle:.3f}",
}
OF_MORE_ACTIONS: dict[str, Column] = {
    **{name: COLUMNS[name] for name in ("game", "learner", "steps")},
    "at a pure point": "{pure:.3f}",
    "mean policy": lambda row: f"({', '.join(f'{probability:.2f}' for probability in row['mean'])})",
    "near the equilibrium": "{equilibrium:.3f}",
    "near the middle": "{middle:.3f}",
}
QUICK: dict[str, Any] = {
    "matrix_games": ("subsidy", "biased_rps"),
    "constant": ("boltzmann(tau_schedule=5)",),
    "learners": ("boltzmann",),
    "steps": (10, 40),
    "runs": 20,
}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/matrix_games/settings")
    matrix_games: tuple[str, ...] = ("prisoners_dilemma", "subsidy", "battle_of_sexes", "biased_rps")
    """Games; those with more than two actions per player have the third table."""
    constant: tuple[str, ...] = (
        *(f"epsilon_greedy(epsilon={epsilon})" for epsilon in (0.01, 0.25, 0.5, 0.75, 0.99)),
        *(f"boltzmann(tau_schedule={tau})" for tau in (0.2, 1, 5)),
    )
    """Learners of the first and the third table."""
    learners: tuple[str, ...] = ("boltzmann", "lenient(kappa=5)")
    """Learners of the second table."""
    steps: tuple[int, ...] = (1_000, 50_000, 100_000)
    """Steps per run: all in the second table, the last one in the others."""
    runs: int = 300
    """Runs per row."""
    seed: int = 0


def report(arguments: Arguments) -> Report:
    """Runs all learners in all games. Raises ValueError for a game, a learner or a number that is not allowed."""
    check_int("runs", arguments.runs, 1, 1_000_000)
    if not arguments.steps:
        raise ParameterError("steps must be one number or more, such as --steps 100000")
    learners = {text: learner_of(text) for text in (*arguments.constant, *arguments.learners)}
    constant = [(text, arguments.steps[-1]) for text in arguments.constant]
    schedule = [(text, steps) for text in arguments.learners for steps in arguments.steps]
    two_actions = {name: has_two_actions(matrix_game(name)) for name in arguments.matrix_games}
    jobs = [("constant" if two_actions[name] else "more actions", name, of) for name in two_actions for of in constant]
    jobs += [("schedule", name, of) for name in two_actions for of in schedule if two_actions[name]]
    rows: dict[str, list[dict[str, Any]]] = {"constant": [], "schedule": [], "more actions": []}
    for table, name, (text, steps) in progress_over(jobs, unit="rows"):
        key = {"game": name, "learner": text, "steps": steps, "runs": arguments.runs, "seed": arguments.seed}
        compute = functools.partial(measure, matrix_game(name), learners[text], steps, arguments)
        rows[table].append(key | arguments.once(key, compute))
    columns = {"constant": COLUMNS, "schedule": COLUMNS, "more actions": OF_MORE_ACTIONS}
    return Report(rows, "\n\n".join(table_of(of_table, columns[name]) for name, of_table in rows.items() if of_table))


def has_two_actions(game: MatrixGame) -> bool:
    return game.payoffs.shape[1:] == (2, 2)


def learner_of(text: str) -> Learner:
    """Returns the learner with a text such as "boltzmann(tau_schedule=5)". Raises ParameterError for another text."""
    expected = f"a learner is a text such as boltzmann(tau_schedule=5), not {text!r}"
    kind, settings = _specs.split_parameters(text, expected)
    try:
        return Learner(kind, **settings)  # pyright: ignore[reportArgumentType]  # Learner checks it
    except TypeError:
        raise ParameterError(f"{expected}: its settings are those of train.matrix.tabular.Learner") from None


def measure(game: MatrixGame, learner: Learner, steps: int, arguments: Arguments) -> dict[str, Any]:
    """Returns the shares of runs at pure points, near the uniform policies and near an equilibrium, and mean policies.

    With two actions the mean has the first action of both players, with more it is the row player's policy. Of several
    equilibria it is the first one.
    """
    result = run(game, learner, jax.random.key(arguments.seed), arguments.runs, steps)
    policies = np.asarray(result.policies, np.float64)  # [runs, 2, actions]
    ends = np.asarray(result.greedy_policies) if learner.kind == "epsilon_greedy" else policies  # count at pure points
    rows, columns = game.payoffs.shape[1:]
    uniform = np.full(rows, 1 / rows), np.full(columns, 1 / columns)
    middle = {"middle": share_near(policies, uniform, TOLERANCE)[0]}
    if has_two_actions(game):
        at = {name: sum(share_near(ends, point)[0] for point in points) for name, points in PURE_POINTS.items()}
        return rounded({"shares": at, "mean": policies[..., 0].mean(0).tolist(), **middle})
    equilibrium = share_near(policies, nash(game)[0], TOLERANCE)[0]
    pure = float((ends.max(-1) >= PURE).all(-1).mean())
    return rounded({"pure": pure, "mean": policies[:, 0].mean(0).tolist(), "equilibrium": equilibrium, **middle})


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
