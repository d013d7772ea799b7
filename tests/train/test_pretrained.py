"""Parameters of another run as the start: those of its checkpoint, for every shape that fits, and at no other time."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames.policies import file as policy_file
from tests.helpers.commands import error_of, run_command
from tests.helpers.stored_runs import random_train_state, store
from tests.train.conftest import Runs
from train import export
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.driver import cli, loop
from train.driver.run_folder import RunFolder
from train.imitation import Config as ImitationConfig
from train.imitation import Imitation
from train.ops import sharding
from train.ops.sharding import keys_to_data
from train.ppo import PPO, Config
from train.pretrained import load_params

GAME = "dots_and_boxes(rows=2, cols=2)"
SMALL: dict[str, Any] = {"hidden_sizes": (8,), "num_envs": 2, "rollout_length": 4, "num_minibatches": 1}
CONFIG = Config(env=GAME, **SMALL)


def ppo_main() -> None:
    """The command `python -m train.ppo`."""
    cli.main(PPO)


def params_of(folder: Path) -> Any:
    run = RunFolder.open(folder, PPO)
    params = run.params()
    run.close()
    return jax.device_get(params)


def start(config: Config) -> Any:
    """The parameters of a run before its first iteration."""
    learner = PPO(config)
    return jax.device_get(learner.load(jax.eval_shape(learner.init, jax.random.key(7))).params)


def equal(a: Any, b: Any) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, *jax.device_get((a, b))))


def test_run_starts_with_the_parameters_of_the_other_run_and_a_fresh_optimizer(untrained: Runs) -> None:
    learner = PPO(dataclasses.replace(CONFIG, init_from=str(untrained.second)))
    before = jax.jit(learner.init)(jax.random.key(7))
    after = learner.load(before)
    assert equal(jax.device_get(after.params), params_of(untrained.second))
    assert not equal(jax.device_get(after.params), jax.device_get(before.params))
    assert equal(after.opt_state, before.opt_state)
    assert equal(start(dataclasses.replace(CONFIG, init_from=f"{untrained.first}@0")), params_of(untrained.first))


@pytest.mark.parametrize(("bits", "error"), [(32, 0.0), (8, 1 / 127)])
def test_run_starts_with_the_parameters_of_an_exported_policy(
    untrained: Runs, tmp_path: Path, bits: int, error: float
) -> None:
    file = tmp_path / "second.policy"
    run_command(export.main, untrained.second, "--output", file, "--bits", bits, "--boards", 0)
    started = start(dataclasses.replace(CONFIG, init_from=str(file)))
    for ours, theirs in zip(jax.tree.leaves(started), jax.tree.leaves(params_of(untrained.second)), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=error * np.abs(theirs).max(initial=0))
    with pytest.raises(
        ValueError, match=r"second\.policy do not fit this run: expected the same network, mlp, hidden_sizes 8"
    ):
        start(dataclasses.replace(CONFIG, init_from=str(file), hidden_sizes=(9,)))


def test_exported_policy_of_another_network_with_the_same_shapes_is_refused(untrained: Runs, tmp_path: Path) -> None:
    file, env = tmp_path / "first.policy", "dots_and_boxes(rows=2, cols=2, reward=boxes)"
    run_command(export.main, untrained.first, "--output", file, "--platforms", "cpu", "--boards", 0)
    settings: dict[str, Any] = {"env": env, "sharing": "independent", "activation": "relu", "init_from": str(file)}
    found = start(dataclasses.replace(CONFIG, **settings))
    assert equal(found, jax.tree.map(lambda leaf: np.stack([leaf] * 2), params_of(untrained.first)))

    game, content = policy_file.read(file)
    header = dataclasses.replace(content.header, network={"network": "other(width=8)"})
    policy_file.write(file, game, content._replace(header=header))
    with pytest.raises(ValueError, match=r"do not fit this run: expected the same network, other\(width=8\)"):
        start(dataclasses.replace(CONFIG, init_from=str(file)))


@pytest.mark.parametrize(
    ("sharing", "per_seat"), [("shared_encoder", {"heads"}), ("independent", {"encoder", "heads"})]
)
def test_shared_parameters_are_copied_to_every_seat(untrained: Runs, sharing: Any, per_seat: set[str]) -> None:
    found = start(dataclasses.replace(CONFIG, sharing=sharing, init_from=str(untrained.first)))
    stored = params_of(untrained.first)
    for part in ("encoder", "heads"):
        seats = 2 if part in per_seat else 0
        expected = jax.tree.map(lambda leaf, seats=seats: np.stack([leaf] * seats) if seats else leaf, stored[part])
        assert equal(found[part], expected)


def test_parameters_of_every_seat_are_not_shared(untrained: Runs, tmp_path: Path) -> None:
    learner = PPO(dataclasses.replace(CONFIG, sharing="independent"))
    folder = store(tmp_path / "run", learner)
    like = jax.eval_shape(PPO(CONFIG).init, jax.random.key(0)).params
    message = r"encoder/params/Dense_0/bias has shape \(2, 8\) there and \(8,\) here.*sharing independent"
    with pytest.raises(ValueError, match=message):
        load_params(str(folder), like, CONFIG)


def test_shapes_that_do_not_fit_are_both_named_before_there_is_a_folder(untrained: Runs, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    flags = ("--env", "dots_and_boxes(rows=2, cols=3)", "--channels", "--hidden-sizes", "9")
    message = error_of(ppo_main, *flags, "--init-from", untrained.first, "--run-dir", folder)
    assert f"the parameters of {untrained.first} do not fit this run: " in message
    assert "encoder/params/Dense_0/bias has shape (8,) there and (9,) here" in message
    assert "; 2 more arrays differ" in message
    assert f"that run has env {GAME}, sharing shared" in message
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{first}(temperature=0)", "init_from must be the folder of a run, such as runs/first or runs/first@40"),
        ("{first}@3", "keeps its last 2 checkpoints"),
        ("nowhere", "nowhere holds no run"),
    ],
)
def test_text_that_names_no_checkpoint_is_refused(untrained: Runs, text: str, message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        start(dataclasses.replace(CONFIG, init_from=text.format(first=untrained.first)))


def branch(folder: Path, name: str, seed: int) -> str:
    """The text of a run of one branch of `larson_text`, with random parameters."""
    network = f"larson_text(branch={name}, maps=2, hidden_sizes=4)"
    learner = Imitation(ImitationConfig(env="checkers", num_minibatches=1, network=network))
    return str(store(folder / name, learner, random_train_state(learner, seed)))


@pytest.mark.slow  # compiles three networks
def test_branches_that_were_trained_apart_are_joined(tmp_path: Path) -> None:
    """The heads, which all of them have, and the layer on the branches, which none has, are those of a new run."""
    texts = [branch(tmp_path, name, seed) for seed, name in enumerate(("conv2", "conv3", "dense"), start=1)]
    network = "larson_text(maps=2, hidden_sizes=4)"
    joined = ImitationConfig(env="checkers", num_minibatches=1, network=network, init_from=",".join(texts))
    before = random_train_state(Imitation(joined), seed=7)
    after = jax.device_get(Imitation(joined).load(before).params)
    encoder, fresh = after["encoder"]["params"], jax.device_get(before.params)
    for text in texts:
        stored = jax.device_get(RunFolder.open(Path(text), Imitation).params())["encoder"]["params"]
        assert equal({name: encoder[name] for name in stored}, stored)
    assert equal(encoder["joined"], fresh["encoder"]["params"]["joined"])
    assert equal(after["heads"], fresh["heads"])

    twice = dataclasses.replace(joined, init_from=f"{texts[0]},{texts[0]}")
    with pytest.raises(ValueError, match="conv2 fills no part of the network: the other runs of init_from have all"):
        Imitation(twice).load(before)
    narrow = dataclasses.replace(joined, network="larson_text(maps=3, hidden_sizes=4)")
    with pytest.raises(ValueError, match=r"the parameters of .*conv2 do not fit this run: .*conv2_0_bias has shape"):
        Imitation(narrow).load(random_train_state(Imitation(narrow), seed=7))


def test_resumed_run_does_not_read_the_other_run(untrained: Runs, tmp_path: Path) -> None:
    learner = PPO(dataclasses.replace(CONFIG, init_from=str(tmp_path / "removed")))
    run = RunFolder.create(tmp_path / "run", learner)
    saved = jax.jit(learner.init)(jax.random.key(5))
    run.save(saved)
    restored = loop.restore_or_init(learner, [run], sharding.mesh_for(1, learner.batch_sizes))
    run.close()
    assert equal(jax.device_get(restored.params), jax.device_get(saved.params))
    with pytest.raises(FileNotFoundError, match="removed holds no run"):
        learner.load(saved)


def test_alphazero_starts_with_the_parameters_of_a_run_of_imitation_and_nothing_else(tmp_path: Path) -> None:
    """The average of the parameters begins with them too; the optimizer, the replay buffer and the boards are new."""
    other = Imitation(ImitationConfig(env=GAME, hidden_sizes=(8,), num_minibatches=1))
    text = str(store(tmp_path / "imitation", other))
    sizes: dict[str, Any] = {"num_envs": 2, "rollout_length": 4, "replay_size": 8, "minibatch_size": 8}
    learner = AlphaZero(AlphaZeroConfig(env=GAME, hidden_sizes=(8,), init_from=text, **sizes))
    before = random_train_state(learner, seed=7)
    after = learner.load(before)
    stored = jax.device_get(RunFolder.open(Path(text), Imitation).params())
    assert equal(jax.device_get(after.params), stored)
    assert equal(jax.device_get(after.learning), stored)
    rest = [state._replace(params=None, learning=None, key=jax.random.key_data(state.key)) for state in (before, after)]
    assert equal(*map(keys_to_data, rest))
    assert equal(start(dataclasses.replace(CONFIG, init_from=text)), stored)
    further = Imitation(dataclasses.replace(other.config, init_from=text))
    assert equal(jax.device_get(further.load(jax.eval_shape(further.init, jax.random.key(0))).params), stored)
