"""The runs of an experiment: a sweep whose evaluations measure what the study does, and keep the parameters.

    OUTPUT/shared/seed=0/                a run folder as `train.sweep` writes it
    OUTPUT/shared/seed=0/params/10.npz   the parameters after iteration 10

The folders are named by the settings that differ in a sweep, here the seeds. Each way of sharing is a sweep.

The rows of metrics have the columns of `evaluation.COLUMNS`. A checkpoint of every iteration would take longer than the
training, so only the parameters are kept.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from examples.papers import _experiment
from examples.papers._experiment import Experiment
from examples.papers.parameter_sharing.evaluation import COLUMNS, evaluate
from examples.papers.parameter_sharing.study import GAMES, MODES, settings_of
from jaxgames.agents import Agent
from train import agents
from train.curves import open_runs
from train.driver.loop import Settings, evaluation_key
from train.driver.metrics import to_floats
from train.driver.run_folder import RunFolder
from train.models.policy import Params, Policy, Sharing
from train.ppo import PPO
from train.sweep import Sweep, sweep_of
from train.sweep.batched_runs import BatchedRuns

Name = TypeVar("Name", bound=str | int)

PARAMS = "params"  # the folder of the parameters in a run's folder


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


def train_all(folder: Path, settings: Mapping[str, tuple[Any, ...]], seeds: int, games: int) -> dict[str, RunFolder]:
    """Returns the finished runs of a sweep by their folders' names, after the rest of their training.

    `settings` has the values of each setting of `train.ppo.Config`, `games` is of the evaluation after each iteration.
    Errors are as in `_experiment.train_all`.
    """
    sweep = sweep_of("ppo", settings, seeds)
    evaluated = Settings(checkpoint_every=25, evaluate_every=1, evaluation_games=games)
    _experiment.train_all(sweep, folder, evaluated, functools.partial(evaluate_and_keep, folder, sweep))
    return {name: agents.open_run(folder / name) for name in sweep.cells}


def train_each(
    folder: Path, sweeps: Mapping[Name, Mapping[str, tuple[Any, ...]]], seeds: int, games: int
) -> dict[Name, list[RunFolder]]:
    """Returns the finished runs of several sweeps by their names, as `train_all` trains them, each in FOLDER/NAME."""
    return {name: [*train_all(folder / str(name), each, seeds, games).values()] for name, each in sweeps.items()}


def evaluate_and_keep(
    folder: Path,
    sweep: Sweep,
    cells: BatchedRuns,
    settings: Settings,
    opponent: Agent,
    train_state: Any,
    iteration: int,
) -> dict[str, np.ndarray]:
    """Returns the measures of every run after an iteration, float64[runs] each, and stores their parameters."""
    params = jax.device_get(train_state.params)
    for index, learner in enumerate(cells.learners):
        [name] = [name for name, each in sweep.cells.items() if each is learner]
        path = folder / name / PARAMS / f"{iteration}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez(path, *[leaf[index] for leaf in jax.tree.leaves(params)])
    first = cells.first
    assert isinstance(first, PPO)
    own = jax.tree.map(lambda leaf: leaf[: len(cells.learners)], params)
    key, games = evaluation_key(iteration), settings.evaluation_games
    return to_floats(_evaluate_each(first.policy, own, key, games, first.env.num_players))


@functools.partial(jax.jit, static_argnames=("policy", "games", "num_players"))
def _evaluate_each(
    policy: Policy, params: Params, key: jax.Array, games: int, num_players: int
) -> dict[str, jax.Array]:
    return jax.lax.map(lambda each: evaluate(policy, each, key, games, num_players=num_players), params)


def params_after(run: RunFolder, iteration: int) -> Params:
    """Returns the parameters of a run after an iteration.

    Raises FileNotFoundError if they were not kept; the message names the iterations that have some.
    """
    path = run.folder / PARAMS / f"{iteration}.npz"
    if not path.exists():
        kept = sorted(int(each.stem) for each in path.parent.glob("*.npz"))
        others = f"only of {kept[0]} to {kept[-1]}" if kept else "and of no other one"
        raise FileNotFoundError(f"{run.folder} has no parameters of iteration {iteration}, {others}")
    with np.load(path) as stored:
        leaves = [stored[name] for name in stored.files]
    return jax.tree.unflatten(jax.tree.structure(run.params_shapes()), leaves)


def curves_of(of_setting: Iterable[RunFolder]) -> dict[str, Any]:
    """Returns the curves of runs that differ in their seed: steps [iterations], COLUMNS [seeds][iterations].

    NaN where there was nothing to measure.
    """
    rows = [run.rows() for run in of_setting]
    return {
        "steps": [row["steps"] for row in rows[0]],
        **{name: [[np.nan if row[name] is None else row[name] for row in each] for each in rows] for name in COLUMNS},
    }


def runs_by_sharing(
    folder: Path | None, output: Path, iterations: int, seeds: int, modes: tuple[Sharing, ...] = MODES
) -> dict[str, list[RunFolder]]:
    """Returns finished runs of some ways of sharing, in the order of their seeds.

    They are in `folder`. If it is None, they are trained with our preset, in OUTPUT/runs.
    Raises FileNotFoundError if the folder has no runs.
    """
    if folder is None:
        sweeps = {mode: settings_of("parameter_sharing", iterations, mode) for mode in modes}
        return train_each(output / "runs", sweeps, seeds, GAMES)
    finished = sorted(open_runs([folder]), key=lambda run: run.config.seed)
    return {mode: of_mode for mode in modes if (of_mode := [run for run in finished if run.config.sharing == mode])}
