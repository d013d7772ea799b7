"""Runs as their commands and folders have them: what tests of one process and of many share."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax

from train.loop import Settings
from train.ppo import Config
from train.run import Run


def words(config: Config, settings: Settings, folder: Path) -> list[str]:
    """The command line of a run."""
    given = [
        *("env", "sharing", "total_steps", "num_boards", "rollout_length", "epochs", "minibatches", "seed"),
        *("checkpoint_every", "evaluate_every", "evaluation_games"),
    ]
    values = dataclasses.asdict(config) | dataclasses.asdict(settings)
    options = [word for name in given for word in (f"--{name.replace('_', '-')}", str(values[name]))]
    hidden = [str(width) for width in config.hidden]
    return [*options, "--hidden", *hidden, "--anneal" if config.anneal else "--no-anneal", "--run-dir", str(folder)]


def last_of(folder: Path) -> Any:
    """Everything in the last checkpoint, as plain arrays."""
    run = Run.open(folder)
    runner = run.restore()
    run.close()
    assert runner is not None
    return jax.device_get(runner._replace(key=jax.random.key_data(runner.key)))


def rows(folder: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, without what a clock says."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{name: value for name, value in json.loads(line).items() if "second" not in name} for line in lines]
