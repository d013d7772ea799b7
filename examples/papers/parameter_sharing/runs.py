"""The runs of an experiment: sweeps, whose evaluations measure what the study does.

OUTPUT/shared/seed=0/      a run folder as `train.sweep` writes it; its metrics have the columns of `evaluation`
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from examples.papers import _experiment
from examples.papers._experiment import Experiment
from examples.papers.parameter_sharing.evaluation import COLUMNS, evaluate
from examples.papers.parameter_sharing.study import GAMES, MODES, settings_of
from jaxgames.agents import Agent
from train import agents
from train.driver.loop import Settings, evaluation_key
from train.driver.metrics import to_floats
from train.driver.run_folder import RunFolder
from train.models.policy import Params, Policy, Sharing
from train.plot import open_runs
from train.ppo import PPO
from train.sweep import evaluate_runs, sweep_of
from train.sweep.batched_runs import BatchedRuns


@dataclass(frozen=True, kw_only=True)
class TrainingArguments(Experiment):
    """The base of the arguments of experiments that train runs."""

    seeds: int = 5
    """Runs of each kind."""
    iterations: int = 100
    """Iterations of each run, of 4,000 steps each."""
    games: int = GAMES
    """Games of an evaluation; 30 in the study."""


@dataclass(frozen=True, kw_only=True)
class FinishedRuns(Experiment):
    """The base of the arguments of experiments on the runs of the sharing comparison."""

    runs: Path | None = None
    """The folder with the runs of one preset, as examples.papers.parameter_sharing trains them. None: trains some."""
    seeds: int = 5
    """Runs of each way that are trained here."""


def train_all(
    folder: Path,
    settings: Mapping[str, tuple[Any, ...]],
    seeds: int,
    games: int,
    keep_every: int = 1,
    in_its_game: bool = False,
) -> list[RunFolder]:
    """Returns the finished runs of a sweep in the order of their seeds, after the rest of their training.

    Args:
      settings: the values of each setting of `train.ppo.Config`.
      games: of the evaluation after each iteration.
      keep_every: iterations between checkpoints that stay; 0: the last ones.
      in_its_game: evaluations are on drawn seats of the game that a run is trained on, not `evaluation.evaluate`.

    Errors are as in `_experiment.train_all`.
    """
    sweep = sweep_of("ppo", settings, seeds)
    evaluated = Settings(checkpoint_every=25, keep_every=keep_every, evaluate_every=1, evaluation_games=games)
    _experiment.train_all(sweep, folder, evaluated, evaluate_runs if in_its_game else evaluate_as_the_study)
    return [agents.open_run(folder / name) for name in sweep.cells]


def evaluate_as_the_study(
    cells: BatchedRuns, settings: Settings, opponent: Agent, train_state: Any, iteration: int
) -> dict[str, np.ndarray]:
    """Returns the measures of every run after an iteration, float64[runs] each."""
    first = cells.first
    assert isinstance(first, PPO)
    own = jax.tree.map(lambda leaf: leaf[: len(cells.learners)], jax.device_get(train_state.params))
    key, games = evaluation_key(iteration), settings.evaluation_games
    return to_floats(_evaluate_each(first.policy, own, key, games, first.env.num_players))


@functools.partial(jax.jit, static_argnames=("policy", "games", "num_players"))
def _evaluate_each(
    policy: Policy, params: Params, key: jax.Array, games: int, num_players: int
) -> dict[str, jax.Array]:
    return jax.lax.map(lambda each: evaluate(policy, each, key, games, num_players=num_players), params)


def curves_of(of_setting: Iterable[RunFolder]) -> dict[str, Any]:
    """Returns the curves of runs that differ in their seed: steps [iterations], COLUMNS [seeds][iterations].

    NaN where there was nothing to measure. Columns that the evaluations do not have are left out.
    """
    rows = [run.rows() for run in of_setting]
    columns = [name for name in COLUMNS if name in rows[0][0]]
    return {
        "steps": [row["steps"] for row in rows[0]],
        **{name: [[np.nan if row[name] is None else row[name] for row in each] for each in rows] for name in columns},
    }


def runs_by_sharing(
    folder: Path | None, output: Path, iterations: int, seeds: int, modes: tuple[Sharing, ...] = MODES
) -> dict[str, list[RunFolder]]:
    """Returns finished runs of some ways of sharing, in the order of their seeds.

    They are in `folder`. If it is None, they are trained with our preset, in OUTPUT/runs.
    Raises FileNotFoundError if the folder has no runs.
    """
    if folder is None:
        settings = {mode: settings_of("parameter_sharing", iterations, mode) for mode in modes}
        return {mode: train_all(output / "runs" / mode, each, seeds, GAMES) for mode, each in settings.items()}
    finished = sorted(open_runs([folder]), key=lambda run: run.config.seed)
    return {mode: of_mode for mode in modes if (of_mode := [run for run in finished if run.config.sharing == mode])}
