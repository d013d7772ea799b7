"""Parameters of another run as the start: those of its checkpoint, for every shape that fits, and at no other time."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames.policies import file as policy_file
from tests.helpers.commands import run_command
from tests.helpers.stored_runs import random_train_state, store
from tests.train.conftest import Runs
from train import agents, export
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.driver import loop
from train.driver.run_folder import RunFolder
from train.imitation import Config as ImitationConfig
from train.imitation import Imitation
from train.ops import sharding
from train.ops.sharding import keys_to_data
from train.ppo import PPO, Config

GAME = "dots_and_boxes(rows=2, cols=2)"
SMALL: dict[str, Any] = {"hidden_sizes": (8,), "num_envs": 2, "rollout_length": 4, "num_minibatches": 1}
CONFIG = Config(env=GAME, **SMALL)


def params_of(folder: Path) -> Any:
    return jax.device_get(agents.open_run(folder).params())


def start(config: Config) -> Any:
    """The parameters of a run before its first iteration."""
    learner = PPO(config)
    return jax.device_get(learner.load(jax.eval_shape(learner.init, jax.random.key(7))).params)


def equal(a: Any, b: Any) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, *jax.device_get((a, b))))


@pytest.fixture(scope="module")
def texts(untrained: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs and files with the parameters of the first run, or of networks that do not fit."""
    folder = tmp_path_factory.mktemp("others")
    file, small, other = (folder / f"{name}.policy" for name in ("file", "small", "other"))
    for path, bits in ((file, 32), (small, 8)):
        run_command(export.main, untrained.first, "--output", path, "--bits", bits, "--platforms", "cpu", "--boards", 0)
    game, content = policy_file.read(file)  # arrays of the same shapes
    header = dataclasses.replace(content.header, network={"network": "other(width=8)"})
    policy_file.write(other, game, content._replace(header=header))
    seats = store(folder / "seats", PPO(dataclasses.replace(CONFIG, sharing="independent")))
    return {"first": untrained.first, "file": file, "small": small, "other": other, "seats": seats}


def test_run_starts_with_the_parameters_of_the_other_run_and_a_fresh_optimizer(untrained: Runs) -> None:
    learner = PPO(dataclasses.replace(CONFIG, init_from=str(untrained.second)))
    before = jax.jit(learner.init)(jax.random.key(7))
    after = learner.load(before)
    assert equal(after.params, params_of(untrained.second))
    assert not equal(after.params, before.params)
    assert equal(after.opt_state, before.opt_state)


REWARD: dict[str, Any] = {"env": "dots_and_boxes(rows=2, cols=2, reward=boxes)", "activation": "relu"}


@pytest.mark.parametrize(
    ("text", "settings", "per_seat", "error"),
    [
        ("{first}@0", {}, (), 0.0),
        ("{first}", {"sharing": "shared_encoder"}, ("heads",), 0.0),
        ("{first}", {"sharing": "independent"}, ("encoder", "heads"), 0.0),
        ("{file}", {"sharing": "independent", **REWARD}, ("encoder", "heads"), 0.0),
        ("{small}", {}, (), 1 / 127),
    ],
)
def test_shared_parameters_are_copied_to_every_seat(
    text: str, settings: dict[str, Any], per_seat: tuple[str, ...], error: float, texts: dict[str, Path]
) -> None:
    found = start(dataclasses.replace(CONFIG, **settings, init_from=text.format(**texts)))
    for part, stored in params_of(texts["first"]).items():
        for ours, leaf in zip(jax.tree.leaves(found[part]), jax.tree.leaves(stored), strict=True):
            assert ours.shape == (2,) * (part in per_seat) + leaf.shape
            np.testing.assert_allclose(ours, ours * 0 + leaf, rtol=0, atol=error * np.abs(leaf).max(initial=0))


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("{first}(temperature=0)", {}, "init_from must be the folder of a run, such as runs/first"),
        ("{first}@3", {}, "keeps its last 2 checkpoints"),
        ("nowhere", {}, "nowhere holds no run"),
        ("{seats}", {}, r"Dense_0/bias has shape \(2, 8\) there and \(8,\) here.*sharing independent"),
        ("{file}", {"hidden_sizes": (9,)}, r"file\.policy do not fit .* the same network, mlp, hidden_sizes 8"),
        ("{other}", {}, r"other\.policy do not fit .* the same network, other\(width=8\)"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(
    text: str, settings: dict[str, Any], message: str, texts: dict[str, Path]
) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        start(dataclasses.replace(CONFIG, **settings, init_from=text.format(**texts)))


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
        stored = params_of(Path(text))["encoder"]["params"]
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
    assert equal(restored.params, saved.params)
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
    stored = params_of(Path(text))
    assert equal((after.params, after.learning), (stored, stored))
    rest = [state._replace(params=None, learning=None, key=jax.random.key_data(state.key)) for state in (before, after)]
    assert equal(*map(keys_to_data, rest))
    assert equal(start(dataclasses.replace(CONFIG, init_from=text)), stored)
    further = Imitation(dataclasses.replace(other.config, init_from=text))
    assert equal(further.load(jax.eval_shape(further.init, jax.random.key(0))).params, stored)
