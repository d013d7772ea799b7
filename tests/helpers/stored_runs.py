"""Runs as command lines and folders."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.toy_learner import ToyLearner
from train.alphazero import AlphaZero
from train.driver import loop
from train.driver.learner import Config, Learner
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.imitation import Imitation
from train.klent import KLENT
from train.ops.sharding import keys_to_data
from train.ppo import PPO

ROOT = Path(__file__).parents[2]
TIMEOUT = 300  # seconds after which a test that waits for a process gives up
WATCHED = ("checkpoint_every", "evaluate_every", "evaluation_games")


def train_in(folder: Path, learner: Learner, settings: Settings) -> dict[str, Any]:
    """Creates a run and trains it in this process; returns its result."""
    return loop.run_training(learner, [RunFolder.create(folder, learner)], settings)


def random_train_state(learner: Learner, seed: int = 0) -> Any:
    """A train state before the first iteration with random numbers, none of which is trivial; nothing is compiled."""
    rng = np.random.default_rng(seed)

    def leaf(shape: Any) -> Any:
        if jnp.issubdtype(shape.dtype, jax.dtypes.prng_key):  # pyright: ignore[reportPrivateImportUsage]
            return jnp.broadcast_to(jax.random.key(seed), shape.shape)
        is_number = jnp.issubdtype(shape.dtype, jnp.floating)
        return np.asarray(rng.normal(size=shape.shape) / 2 if is_number else np.zeros(shape.shape), shape.dtype)

    return jax.device_put(jax.tree.map(leaf, jax.eval_shape(learner.init, jax.random.key(seed))))


def store(folder: Path, learner: Learner, train_state: Any = None, iterations: Sequence[int] = (0,)) -> Path:
    """Creates a run with a checkpoint of this train state, or of a random one per iteration; returns the folder."""
    run = RunFolder.create(folder, learner)
    for iteration in iterations:
        random = None if train_state is not None else random_train_state(learner, seed=iteration)
        run.save(train_state if random is None else random._replace(iteration=jnp.int32(iteration)), keep_every=1)
    run.close()
    return folder


def arguments_of(config: Config, settings: Settings, folder: Path) -> list[str]:
    """The command line of a run: all settings, and how it is watched."""
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    values |= {name: getattr(settings, name) for name in WATCHED} | {"run_dir": folder}
    arguments: list[str] = []
    for name, value in values.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
        elif value not in ((), None):
            entries = value if isinstance(value, tuple) else (value,)
            arguments += [f"--{flag}", *map(str, entries)]
    return arguments


def last_train_state(folder: Path) -> Any:
    """The last checkpoint, as plain arrays."""
    run = RunFolder.open(folder, PPO, KLENT, AlphaZero, Imitation, ToyLearner)
    train_state = run.restore()
    run.close()
    assert train_state is not None
    return jax.device_get(keys_to_data(train_state))


def equal_checkpoints(first: Path, second: Path) -> bool:
    """Returns whether the last checkpoints agree bit for bit: parameters, optimizer, boards, key."""
    a, b = (jax.tree.leaves(last_train_state(folder)) for folder in (first, second))
    return len(a) == len(b) and all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl without the columns that a clock gives."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{name: value for name, value in json.loads(line).items() if "second" not in name} for line in lines]


def environment(**more: str) -> dict[str, str]:
    """Environment variables of a child process that trains."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
    paths = {"PYTHONPATH": str(ROOT), "JAX_COMPILATION_CACHE_DIR": cache}
    return os.environ | paths | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1"} | more


def start(module: str, arguments: Sequence[str], **variables: str) -> subprocess.Popen[str]:
    """`python -m module arguments` as a child process, with more environment variables."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until_training(folder: Path, process: subprocess.Popen[str]) -> None:
    """Waits until there is a checkpoint, and later iterations that are in none."""
    deadline = time.monotonic() + TIMEOUT
    metrics = folder / "metrics.jsonl"
    while not (metrics.exists() and metrics.read_text().count("\n") > 6):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"no run to interrupt: {process.communicate()}")
        time.sleep(0.002)


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Waits for the process; its exit status, standard output and standard error."""
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    return process.returncode, out, err
