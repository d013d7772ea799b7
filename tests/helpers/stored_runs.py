"""Runs as their commands and folders have them: what tests of one process and of many share."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax

from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ppo import PPO, Config


def words(config: Config, settings: Settings, folder: Path) -> list[str]:
    """The command line of a run."""
    given = [
        *("env", "sharing", "total_steps", "num_envs", "rollout_length", "update_epochs", "num_minibatches", "seed"),
        *("checkpoint_every", "evaluate_every", "evaluation_games"),
    ]
    values = dataclasses.asdict(config) | dataclasses.asdict(settings)
    options = [word for name in given for word in (f"--{name.replace('_', '-')}", str(values[name]))]
    hidden = [str(width) for width in config.hidden_sizes]
    return [
        *options,
        "--hidden-sizes",
        *hidden,
        "--anneal-lr" if config.anneal_lr else "--no-anneal-lr",
        "--run-dir",
        str(folder),
    ]


def last_of(folder: Path) -> Any:
    """Everything in the last checkpoint, as plain arrays."""
    run = RunFolder.open(folder, PPO)
    train_state = run.restore()
    run.close()
    assert train_state is not None
    return jax.device_get(train_state._replace(key=jax.random.key_data(train_state.key)))


def rows(folder: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, without what a clock says."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{name: value for name, value in json.loads(line).items() if "second" not in name} for line in lines]
