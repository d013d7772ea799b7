"""The runs of an experiment: sweeps, evaluated as the text of the study, its code and this project do.

OUTPUT/shared/seed=0/      a run folder as `train.sweep` writes it; its metrics have COLUMNS

The study's length of a game is the number of full rounds before its last turn. In the code, a game that is truncated
has the limit as its length, and all games count. Turns to win here are the turns of the winner, the last one included,
in the games that it won: one more than the rounds.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers import _experiment
from examples.papers._experiment import Experiment
from examples.papers.parameter_sharing.running_sums import RunningSums
from examples.papers.parameter_sharing.study import GAMES, MODES, ROUNDS, settings_of
from jaxgames import arena
from jaxgames.agents import Agent, RandomAgent
from jaxgames.policies.agent import PolicyAgent
from train import agents
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.models.policy import Params, Policy, Sharing
from train.plot import open_runs
from train.ppo import PPO
from train.sweep import BatchedRuns, sweep_of

COLUMNS = {
    "win_rate": "games won, divided by all games, as in the study's code",
    "decided_win_rate": "games won, divided by the games that were not truncated, as in the study's text",
    "mean_turns": "turns to win, in the games won",
    "rounds": "rounds of a game, all games, a truncated one counting as the limit, as in the study's code",
    "truncated_rate": "games that the limit ended",
    "reward": "sum of the rewards of the policy's seat",
    "running_sums": "sum of the running sums of these rewards over the seat's decisions, as in the study's code",
}


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
      in_its_game: evaluations are on drawn seats of the game that a run is trained on, not `evaluate`.

    Errors are as in `_experiment.train_all`.
    """
    sweep = sweep_of("ppo", settings, seeds)
    evaluated = Settings(checkpoint_every=25, keep_every=keep_every, evaluate_every=1, evaluation_games=games)
    _experiment.train_all(sweep, folder, evaluated, BatchedRuns if in_its_game else EvaluatedAsTheStudy)
    return [agents.open_run(folder / name) for name in sweep.cells]


class EvaluatedAsTheStudy(BatchedRuns):
    """Runs whose evaluations are the measures of `evaluate`."""

    def results_against(
        self, train_state: Any, opponent: Agent, key: jax.Array, num_games: int
    ) -> dict[str, jax.Array]:
        first = self.first
        assert isinstance(first, PPO)
        own = jax.tree.map(lambda leaf: leaf[: len(self.learners)], jax.device_get(train_state.params))
        return _evaluate_each(first.policy, own, key, num_games, first.env.num_players)


@functools.partial(jax.jit, static_argnames=("policy", "games", "num_players"))
def _evaluate_each(
    policy: Policy, params: Params, key: jax.Array, games: int, num_players: int
) -> dict[str, jax.Array]:
    return jax.lax.map(lambda each: evaluate(policy, each, key, games, num_players=num_players), params)


@functools.partial(jax.jit, static_argnames=("policy", "games", "num_players", "max_rounds"))
def evaluate(
    policy: Policy, params: Params, key: jax.Array, games: int, num_players: int = 6, max_rounds: int = ROUNDS
) -> dict[str, jax.Array]:
    """Returns the measures of games in seat 0 against random players, float32[] each, by the names in COLUMNS.

    A mean is NaN where there is no such game. The policy, whose actions are sampled, is of the star with N = 2.
    """
    env = RunningSums(num_players=num_players, max_rounds=max_rounds)
    agent = PolicyAgent(params, env, policy, jnp.float32(1))
    start_key, key = jax.random.split(key)
    seats = arena.one_seat(start_key, games, num_players, 0)
    begun = arena.start(env, start_key, games)
    played = arena.advance_until_over(env, (agent, RandomAgent(env)), seats, begun, key)
    boards: Any = played.boards
    won = arena.winners(env, played)[:, 0]
    decided = ~boards.truncated
    means = {
        "win_rate": won.mean(),
        "decided_win_rate": won.sum() / decided.sum(),
        "mean_turns": (played.turns[:, 0] * won).sum() / won.sum(),
        "rounds": boards.round.mean(),
        "truncated_rate": (~decided).mean(),
        "reward": boards.totals[:, 0].mean(),
        "running_sums": played.returns[:, 0].mean(),
    }
    return {name: jnp.float32(value) for name, value in means.items()}


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
