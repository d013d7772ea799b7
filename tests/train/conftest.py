"""Run folders that tests of several commands read, and a game that is registered for whole modules."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jax
import pytest

import jaxgames
from tests.helpers.registrations import temporary_registrations
from tests.helpers.sticks import Sticks
from train.driver.run_folder import RunFolder
from train.ppo import PPO, Config


@dataclass(frozen=True)
class Runs:
    """Folders of runs that were never trained."""

    first: Path
    second: Path  # the same game and network as `first`, other parameters
    other_game: Path  # without a checkpoint


@pytest.fixture(scope="session")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    parent = tmp_path_factory.mktemp("runs")
    runs = Runs(parent / "first", parent / "second", parent / "other_game")

    def create(folder: Path, env: str) -> RunFolder:
        config = Config(env=env, hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1)
        return RunFolder.create(folder, PPO(config))

    init = None
    for seed, folder in enumerate((runs.first, runs.second)):
        run = create(folder, "dots_and_boxes(rows=2, cols=2)")
        init = init or jax.jit(run.learner.init)
        run.save(init(jax.random.key(seed)))
        run.close()
    create(runs.other_game, "dots_and_boxes(rows=2, cols=3)").close()
    return runs


@pytest.fixture(scope="module")
def sticks() -> Iterator[None]:
    """Lets `jaxgames.make` know the game."""
    with temporary_registrations():
        jaxgames.register("sticks", Sticks)
        yield
