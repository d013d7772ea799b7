"""Runs and sweeps that a repeated command continues: what is finished is not trained again.

train(PPO(config), Path("runs/a"))                    # "runs/a", the text of the run's agent
train_all(sweep, Path("runs/sweep"))                  # a run in each cell's folder
"""

from dataclasses import replace
from pathlib import Path

from train.driver import cli, loop
from train.driver.learner import Learner
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ops.sharding import provide_cores
from train.sweep import Evaluate, Sweep, evaluate_runs, run_sweep

WITHOUT_GAMES = Settings(evaluate_every=0, checkpoint_every=25)


def train(learner: Learner, folder: Path, settings: Settings = WITHOUT_GAMES) -> str:
    """Returns the text of a run's agent, after the rest of its training. A finished run is not opened.

    Raises ValueError if the run in the folder has other settings. Ends the program if a signal stops the training.
    """
    if not is_finished(learner, folder):
        given = replace(settings, run_dir=folder, resume=True)
        run = cli.create_or_resume(learner, given)
        if not loop.run_training(run.learner, run, given)["finished"]:
            raise SystemExit(130)
    return str(folder)


def train_all(
    sweep: Sweep, folder: Path, settings: Settings = WITHOUT_GAMES, evaluate: Evaluate = evaluate_runs
) -> None:
    """Trains the cells of a sweep in the folder that are not finished, on all cores.

    Raises ValueError if the sweep in the folder has other settings. Ends the program if a signal stops the training.
    """
    if all(is_finished(learner, folder / name) for name, learner in sweep.cells.items()):
        return
    provide_cores(0)
    given = replace(settings, run_dir=folder, resume=True, devices=0)
    if not run_sweep(sweep, given, evaluate=evaluate)["finished"]:
        raise SystemExit(130)


def is_finished(learner: Learner, folder: Path) -> bool:
    """Returns whether a folder has the finished run of a learner."""
    if not (folder / "config.json").exists():
        return False
    run = RunFolder.open(folder, type(learner))
    result = run.result()
    return run.config == learner.config and result is not None and result["finished"]
