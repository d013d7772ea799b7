"""The training runs of this study: their settings, and runs and sweeps that a repeated command continues."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import jax

from train import agents
from train.driver import cli, loop
from train.driver.learner import Learner
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ops.sharding import provide_cores
from train.ppo import config_for
from train.recipes import PRESETS
from train.sweep import Sweep, run_sweep

Kind = Literal["study", "ours"]
WHITE, BLACK = 0, 1
OF_STUDY = ("opponents", "learn_seats", "temperature")  # settings that "ours" has from the study
NARROW = "alpha_mini(channels=2, hidden_sizes=[4])"  # for short forms and tests


def settings_of(kind: Kind, network: str | None = None, learning_rate: float | None = None) -> dict[str, Any]:
    """Returns all settings of `train.ppo.Config` but the seed, for White against a random opponent.

    Args:
      kind: "study" for the preset `alpha_mini`. "ours" for the network and settings of the recipe of minichess, with
        batches of 1,024 steps, near the 1,000 of the study.
      network: another network.
      learning_rate: another learning rate.
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


def train(learner: Learner, folder: Path, settings: Settings | None = None) -> str:
    """Returns the text of a run's agent, after the rest of its training. A finished run is not opened.

    Raises ValueError if the run in the folder has other settings. Ends the program if a signal stops the training.
    """
    if not is_finished(learner, folder):
        given = settings or Settings(evaluate_every=0, checkpoint_every=25)
        given = replace(given, run_dir=folder, resume=True)
        run = cli.create_or_resume(learner, given)
        if not loop.run_training(run.learner, run, given)["finished"]:
            raise SystemExit(130)
    return str(folder)


def store_untrained(learner: Learner, folder: Path) -> str:
    """Returns the text of the agent of a run that has only its first parameters, which are random."""
    if not ((folder / "config.json").exists() and agents.open_run(folder).checkpoints()):
        run = cli.create_or_resume(learner, Settings(run_dir=folder, resume=True))
        run.save(jax.jit(learner.init)(jax.random.key(learner.config.seed)))
        run.close()
    return str(folder)


def train_all(sweep: Sweep, folder: Path) -> None:
    """Trains the cells of a sweep in the folder that are not finished.

    Raises ValueError if the sweep in the folder has other settings. Ends the program if a signal stops the training.
    """
    if all(is_finished(learner, folder / name) for name, learner in sweep.cells.items()):
        return
    provide_cores(0)
    if not run_sweep(sweep, Settings(run_dir=folder, resume=True, evaluate_every=0, devices=0))["finished"]:
        raise SystemExit(130)


def is_finished(learner: Learner, folder: Path) -> bool:
    """Returns whether a folder has the finished run of a learner."""
    if not (folder / "config.json").exists():
        return False
    run = RunFolder.open(folder, type(learner))
    result = run.result()
    return run.config == learner.config and result is not None and result["finished"]


def column(run: RunFolder, name: str) -> list[float]:
    """Returns a column of a run's metrics, NaN where an iteration has no number."""
    return [math.nan if row.get(name) is None else float(row[name]) for row in run.rows()]


def singles(settings: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Returns settings as a sweep takes them, with one value each."""
    return {name: (value,) for name, value in settings.items()}
