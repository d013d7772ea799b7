"""Settings of `train.imitation`: those that come from the file of positions, and files that are refused."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers.commands import error_of
from tests.helpers.labelled import random_positions, saved
from tests.helpers.stored_runs import store
from train import agents
from train.data.positions import Positions
from train.driver import cli
from train.driver.run_folder import RunFolder
from train.imitation import Config, Imitation, config_for, resolve
from train.imitation.config import load_positions
from train.recipes import IMITATION


@pytest.fixture(scope="module")
def positions() -> Positions:
    return random_positions(60)  # 30 of each split


def imitation_main() -> None:
    """The command `python -m train.imitation`."""
    cli.main(Imitation)


def test_settings_from_the_file_are_the_checksum_and_whole_epochs(
    positions: Positions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch of 30 positions has three minibatches of eight."""
    given = Config(data=saved(positions, tmp_path / "pairs.npz"), batch_size=8)
    config = resolve(given)
    assert (config.num_minibatches, config.steps_per_iteration) == (201, 201 * 8)
    monkeypatch.setattr("train.imitation.config.MIN_MINIBATCHES", 2)
    assert resolve(given).num_minibatches == 3
    assert resolve(config) == config  # of a run that was started
    assert len(config.data_fingerprint or "") == 64
    assert resolve(dataclasses.replace(given, num_minibatches=7)).steps_per_iteration == 56
    assert dataclasses.replace(config, total_steps=201 * 8 + 1).num_iterations == 2
    with pytest.raises(ValueError, match=r"from the file of data: expected Imitation\(resolve\(config\)\)"):
        Imitation(given)


def test_recipe_of_the_game_gives_the_network(positions: Positions, tmp_path: Path) -> None:
    data = saved(positions, tmp_path / "pairs.npz")
    found = config_for(env="checkers", data=data, batch_size=8)
    assert found.network == IMITATION["checkers"]["network"]
    assert config_for(env="checkers", network="mlp").hidden_sizes == ()
    with pytest.raises(ValueError, match="unknown preset 'people'"):
        config_for(preset="people")


@pytest.mark.parametrize(
    ("changes", "settings", "problem"),
    [
        ({}, {"env": "minichess"}, r"holds positions of checkers\(.*, not of minichess"),
        ({}, {"train_split": "games"}, "has no positions of the split 'games'; it has train, validation"),
        ({"split": np.zeros(60)}, {}, "has no positions of the split 'validation'; it has train"),
        ({}, {"batch_size": 31}, "batch_size must be at most 30, the positions of the split 'train'"),
        ({"action": np.full(60, -1), "value": np.full(60, np.nan)}, {}, "labels no position of the split 'train'"),
    ],
)
def test_file_that_cannot_be_learned_from_is_refused(
    positions: Positions, tmp_path: Path, changes: Any, settings: Any, problem: str
) -> None:
    data = saved(positions, tmp_path / "pairs.npz", **changes)
    with pytest.raises(ValueError, match=problem):
        resolve(Config(data=data, **{"batch_size": 8} | settings))


def test_missing_file_is_an_error_before_there_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere.npz: write one with python -m train.data"):
        resolve(Config(data="nowhere.npz"))
    assert "add --data pairs.npz" in error_of(imitation_main, "--env", "checkers", "--run-dir", folder)
    assert not folder.exists()


def test_run_is_resumed_with_its_own_positions_only(positions: Positions, tmp_path: Path) -> None:
    """A run plays without its file. To continue, it needs the file with the positions that it was started with."""
    data = saved(positions, tmp_path / "pairs.npz")
    learner = Imitation(resolve(Config(data=data, batch_size=8, hidden_sizes=(4,))))
    store(tmp_path / "run", learner)

    saved(positions, tmp_path / "pairs.npz", value=positions.value / 2)
    stored = RunFolder.open(tmp_path / "run", Imitation).config
    assert stored == learner.config
    with pytest.raises(ValueError, match="other positions than those that the run was started with: its checksum is"):
        load_positions(stored)
    assert "other positions" in error_of(imitation_main, "--run-dir", tmp_path / "run", "--resume")

    (tmp_path / "pairs.npz").unlink()
    assert "there is no file" in error_of(imitation_main, "--run-dir", tmp_path / "run", "--resume")
    agent = agents.make(f"{tmp_path / 'run'}(temperature=0.5, top=3)", positions.env)
    action = jax.jit(agent.act)(jax.random.key(0), jax.tree.map(lambda leaf: leaf[:1], positions.states))
    assert action.shape == (1,)
