"""The training runs of this study: their settings, runs without training, and columns of their metrics."""

import glob
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax

from examples.papers._experiment import Experiment, progress_over
from train import agents
from train.driver import cli
from train.driver.learner import Learner
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ppo import config_for
from train.recipes import PRESETS

Kind = Literal["study", "ours"]
WHITE, BLACK = 0, 1
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
        return settings_of(self.settings, self.network, self.learning_rate)


def settings_of(kind: Kind, network: str | None = None, learning_rate: float | None = None) -> dict[str, Any]:
    """Returns all settings of `train.ppo.Config` but the seed, for White against a random opponent.

    "ours" has the recipe of minichess with batches of 1,024 steps, near the 1,000 of the study.
    """
    preset = PRESETS["alpha_mini"]
    changes: dict[str, Any] = {}
    if kind == "ours":
        changes |= {"num_envs": 64, "rollout_length": 16, "num_minibatches": 8}
        changes |= {name: preset[name] for name in OF_STUDY}
    if network is not None:
        changes["network"] = network
    if learning_rate is not None:
        changes["learning_rate"] = learning_rate
    config = config_for(preset["env"], preset="alpha_mini" if kind == "study" else None, **changes)
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
    sets = {text: matching(text) for text in texts}
    found: dict[str, list[dict[str, Any]]] = {text: [] for text in sets}
    members = [(text, member) for text, of_text in sets.items() for member in of_text]
    for text, member in progress_over(members, unit="agents"):
        found[text].append(compute(member))
    return found


def name_of(text: str) -> str:
    """Returns the name of an agent, or of a path with a star, in a table: of a path, the last three folders."""
    return f"`{'/'.join(text.split('/')[-3:])}`"


def column(run: RunFolder, name: str) -> list[float]:
    """Returns a column of a run's metrics, NaN where an iteration has no number."""
    return [math.nan if row.get(name) is None else float(row[name]) for row in run.rows()]


def singles(settings: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    return {name: (value,) for name, value in settings.items()}
