"""Files of positions: the settings that come from them, files that are refused, and one network for several boards."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.commands import error_of
from tests.helpers.registrations import temporary_registrations
from tests.helpers.solved import random_positions, saved, solved_boxes, solved_positions
from tests.helpers.stored_runs import store
from train import agents
from train.data.positions import Positions
from train.driver import cli
from train.driver.run_folder import RunFolder
from train.imitation import Config, Imitation, Minibatch, config_for, resolve
from train.imitation.config import load_positions
from train.network_learner import key_of_game
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


NETWORK = "tests.helpers.networks:patch(width=8)"
SMALL: dict[str, Any] = {"batch_size": 16, "num_minibatches": 5, "network": NETWORK}


@pytest.fixture(scope="module", autouse=True)
def network() -> Iterator[None]:
    """Takes back the registration of the network."""
    with temporary_registrations():
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files of positions of two boards and of another game, by their names."""
    folder = tmp_path_factory.mktemp("data")
    tables = {"1x2": solved_positions(solved_boxes(1, 2)), "1x3": solved_positions(solved_boxes(1, 3))}
    tables |= {"copy": tables["1x2"], "checkers": random_positions(60)}
    return {name: saved(table, folder / f"{name}.npz") for name, table in tables.items()}


def config_of(files: dict[str, str], *others: str, **settings: Any) -> Config:
    env = str(solved_boxes(1, 2).env)
    others = tuple(files[name] for name in others)
    return resolve(Config(env=env, data=files["1x2"], other_data=others, **SMALL | settings))


def test_games_and_checksums_come_from_the_files(files: dict[str, str]) -> None:
    config = config_of(files, "1x3", "copy")
    assert config.other_envs == tuple(str(solved_boxes(1, cols).env) for cols in (3, 2))
    assert config.other_data_fingerprints[1] == config.data_fingerprint != config.other_data_fingerprints[0]
    assert config.steps_per_iteration == 3 * 5 * 16
    assert dataclasses.replace(config, total_steps=1000).other_envs == config.other_envs
    assert [policy.network.any_board for _, policy in Imitation(config).games] == [True] * 3


def test_files_that_do_not_fit_together_are_refused(files: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="other_data must have the id of env, dots_and_boxes: it is checkers in"):
        config_of(files, "checkers")
    with pytest.raises(ValueError, match="needs a network whose parameters fit every board, such as --network graph"):
        Imitation(config_of(files, "1x3", network="mlp"))
    with pytest.raises(ValueError, match="other_data needs data"):
        Config(other_data=(files["1x3"],))
    for twice in (("1x2",), ("1x3", "1x3")):
        with pytest.raises(ValueError, match=f"must be different files: {files[twice[-1]]} is there twice"):
            config_of(files, *twice)


def test_further_file_with_other_positions_is_refused_later(files: dict[str, str], tmp_path: Path) -> None:
    table = solved_positions(solved_boxes(1, 3))
    config = config_of({**files, "own": saved(table, tmp_path / "own.npz")}, "own")
    assert len(load_positions(config)[1]) == len(table)
    saved(table, tmp_path / "own.npz", value=table.value / 2)
    with pytest.raises(ValueError, match="other positions than those that the run was started with"):
        load_positions(config)


class Outputs:
    """A network whose outputs are its weights, with noise from the key of the dropped units."""

    def apply_in_training(self, params: Any, observation: Any, seat: Any, key: jax.Array) -> Any:
        weights = params["heads"]["params"]
        logits = weights["logits"] + jax.random.normal(key, weights["logits"].shape)
        return logits, weights["value"], {"encoder": {}, "heads": {}}


class OfOutputs(Imitation):
    policy: Any = Outputs()  # pyright: ignore[reportAssignmentType]  # constant here


KEY = jax.random.key(0)
NOTHING: Any = None  # the loss does not read the train state
ONE_FILE, TWO_FILES = OfOutputs(Config()), OfOutputs(Config(other_envs=("checkers",)))


def params_and_minibatches() -> tuple[Any, list[Minibatch]]:
    """Returns random parameters, and minibatches of two positions with other labels."""
    rng = np.random.default_rng(0)
    weights = {"logits": rng.normal(size=(2, 3)).astype(np.float32), "value": np.ones(2, np.float32)}
    mask, seat = np.ones((2, 3), np.bool_), np.zeros(2, np.int32)
    minibatches = [
        Minibatch(*map(jnp.asarray, (mask[:, :1], mask, seat, target, rng.normal(size=2), mask[:, 0])))
        for target in (np.eye(3)[:2], np.eye(3)[1:])
    ]
    return {"encoder": {"params": {}}, "heads": {"params": weights}}, minibatches


def test_loss_is_the_mean_over_the_files() -> None:
    params, minibatches = params_and_minibatches()
    keys = KEY, key_of_game(KEY, 1)
    loss_of = jax.jit(functools.partial(ONE_FILE.loss, NOTHING))
    each = [float(loss_of(params, found, key)[0]) for found, key in zip(minibatches, keys, strict=True)]
    loss, (metrics, _) = jax.jit(functools.partial(TWO_FILES.mean_loss, NOTHING))(params, minibatches, KEY)
    assert float(loss) == pytest.approx(np.mean(each)) == pytest.approx(float(metrics["loss"]))
    assert each[0] != pytest.approx(each[1])


def test_one_file_has_the_bits_of_its_loss_gradient_and_metrics() -> None:
    params, (minibatch, _) = params_and_minibatches()
    of_one = jax.value_and_grad(functools.partial(ONE_FILE.loss, NOTHING), has_aux=True)
    of_files = jax.value_and_grad(functools.partial(ONE_FILE.mean_loss, NOTHING), has_aux=True)
    found = jax.jit(of_files)(params, [minibatch], KEY)
    jax.tree.map(np.testing.assert_array_equal, found, jax.jit(of_one)(params, minibatch, KEY))
    assert key_of_game(KEY, 0) is KEY  # also of the order of the positions


@pytest.mark.slow
def test_network_learns_both_boards_and_its_agent_plays_them(files: dict[str, str], tmp_path: Path) -> None:
    config = config_of(files, "1x3", total_steps=30 * 2 * 5 * 16, learning_rate=0.01)
    learner = Imitation(config)
    (data,) = jax.device_put(learner.load_data())
    state, iterate, history = jax.jit(learner.init)(jax.random.key(0)), jax.jit(learner.iterate), list[Any]()
    for _ in range(config.num_iterations):
        state, metrics = iterate(state, data)
        history.append(metrics)
    for name in ("policy_loss/train", f"policy_loss/train/{files['1x3']}"):
        assert history[-1][name] < history[0][name] - 0.05
    run = RunFolder.create(tmp_path / "run", learner)
    run.save(state)
    run.close()
    other = solved_boxes(1, 3).env
    agent = agents.make(str(tmp_path / "run"), other)
    assert agent.act(jax.random.key(0), jax.vmap(other.init)(jax.random.split(jax.random.key(0), 2))).shape == (2,)
