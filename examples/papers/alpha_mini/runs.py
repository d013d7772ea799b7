"""The training runs of this study, their games against a random player, and what the experiments report of both."""

import glob
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from examples.papers._experiment import Experiment, progress_over
from jaxgames import Env, arena
from jaxgames.agents import RandomAgent
from train import agents
from train.driver import cli
from train.driver.commands import text_of_rate
from train.driver.learner import Learner
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ppo import config_for
from train.recipes import PRESETS

Kind = Literal["study", "ours"]
WHITE, BLACK = 0, 1
KING = 60  # the reward for the capture of a king
OF_STUDY = ("opponents", "learn_seats", "temperature")  # settings that "ours" has from the study
NARROW, TINY = "alpha_mini(channels=2, hidden_sizes=[4])", "mlp(hidden_sizes=[8])"  # for short forms and tests


@dataclass(frozen=True, kw_only=True)
class TrainingArguments(Experiment):
    """The base of the arguments of experiments that train White by PPO."""

    settings: Kind = "ours"
    """study: the preset alpha_mini. ours: the recipe of minichess."""
    network: str | None = None
    """Another network, such as "alpha_mini(channels=32, hidden_sizes=[64, 64])"."""
    learning_rate: float | None = None
    """Another learning rate of PPO."""

    def settings_of_runs(self) -> dict[str, Any]:
        """Returns all settings of `train.ppo.Config` but the seed, for White against a random opponent.

        "ours" has the recipe of minichess with batches of 1,024 steps, near the 1,000 of the study.
        """
        preset, given = PRESETS["alpha_mini"], {"network": self.network, "learning_rate": self.learning_rate}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.settings == "ours":
            changes |= {"num_envs": 64, "rollout_length": 16, "num_minibatches": 8}
            changes |= {name: preset[name] for name in OF_STUDY}
        config = config_for(preset["env"], preset="alpha_mini" if self.settings == "study" else None, **changes)
        return {name: value for name, value in vars(config).items() if name != "seed"}


def store_untrained(learner: Learner, folder: Path) -> str:
    """Returns the text of the agent of a run that has only its first parameters, which are random."""
    if not ((folder / "config.json").exists() and agents.open_run(folder).checkpoints()):
        run = cli.create_or_resume(learner, Settings(run_dir=folder, resume=True))
        run.save(jax.jit(learner.init)(jax.random.key(learner.config.seed)))
        run.close()
    return str(folder)


def matching(text: str) -> list[str]:
    """Returns the run folders that a path with a star has, such as "runs/seed=*/white_1"; other texts alone.

    Raises ValueError if there is no such folder.
    """
    if "*" not in text:
        return [text]
    found = sorted(str(Path(path).parent) for path in glob.glob(f"{text}/config.json"))
    if not found:
        raise ValueError(f"there is no run {text!r}: expected folders with a config.json")
    return found


def of_sets(texts: Sequence[str], compute: Callable[[str], dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Returns the result of each agent, or of each run of a path with a star, by the text that names them."""
    found: dict[str, list[dict[str, Any]]] = {text: [] for text in texts}
    members = [(text, member) for text in found for member in matching(text)]
    for text, member in progress_over(members, unit="agents"):
        found[text].append(compute(member))
    return found


def name_of(text: str) -> str:
    """Returns the name of an agent, or of a path with a star, in a table: of a path, the last three folders."""
    return f"`{'/'.join(text.split('/')[-3:])}`"


def column(run: RunFolder, name: str) -> list[float]:
    """Returns a column of a run's metrics, NaN where an iteration has no number."""
    return [math.nan if row.get(name) is None else float(row[name]) for row in run.rows()]


def play_random(
    text: str,
    seat: int,
    num_games: int,
    seed: int = 0,
    env: Env[Any] | None = None,
    openings: arena.Openings | None = None,
) -> dict[str, Any]:
    """Returns the results of an agent on a seat against a random player: counts of games, and means, in JSON's types.

    "draws" has the counts of each reason for a draw. Game i begins with the i-th of `openings`, and again with the
    first one after the last. Without `env`, a run plays its own game.
    """
    env = agents.env_for([text]) if env is None else env
    key = jax.random.key(seed)
    seats = arena.one_seat(key, num_games, 2, seat)
    starts = None if openings is None else openings.for_games(num_games)
    played = arena.play(env, (agents.make(text, env), RandomAgent(env)), seats, key, openings=starts)
    found, boards = arena.results(env, played, seats), jax.device_get(played.boards)
    drawn = np.flatnonzero(arena.drawn(env, played))
    reasons = (env.outcome(jax.tree.map(lambda leaf, row=row: leaf[row], boards)).reason for row in drawn)
    return {
        "games": num_games,
        "won": found["wins"],
        "lost": num_games - found["wins"] - found["draws"] - found["truncated"],
        "drawn": found["draws"],
        "truncated": found["truncated"],
        "draws": dict(Counter(reasons)),
        "mean_reward": found["mean_reward"],
        "mean_length": found["mean_length"],
    }


def win_rate(result: dict[str, Any]) -> float:
    return result["won"] / result["games"]


def rate_from_reward(mean_reward: float) -> float:
    """Returns the study's estimate of the win rate from the mean reward of an episode, (r + 60) / 120."""
    return (mean_reward + KING) / (2 * KING)


def format_rate(wins: int, games: int) -> str:
    """Returns a win rate with its 95 % Wilson interval, such as "0.913 (0.881-0.936)"."""
    return text_of_rate(wins / games, arena.wilson(wins, games))
