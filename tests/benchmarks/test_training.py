"""The training benchmark's programs compute what its parts say; how fast is not a test's business."""

import functools
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

from benchmarks import training
from train.ppo import PPO, Config, make_optimizer, ppo_loss, update

CONFIG = Config(
    env="dots_and_boxes(rows=1, cols=1)",
    num_envs=4,
    rollout_length=4,
    update_epochs=2,
    num_minibatches=2,
    hidden_sizes=(5,),
)


def test_every_part_is_measured_and_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(training, "config", lambda game, setting: CONFIG)
    picture, output = tmp_path / "parts.svg", tmp_path / "parts.json"
    words = ["--games", "demo", "--repeats", "1", "--picture", str(picture), "--output", str(output)]
    monkeypatch.setattr("sys.argv", ["training", *words])
    training.main()
    printed = capsys.readouterr()
    result = json.loads(printed.out.splitlines()[-1])
    assert result == json.loads(output.read_text())
    (row,) = result["rows"]
    assert tuple(row["parts"]) == training.PARTS
    assert sum(row["parts"].values()) == pytest.approx(1e6 / row["ppo"])  # the parts are the iteration
    assert row["products"] > 0
    assert row["parts"]["play"] == pytest.approx(1e6 / row["random_play"])
    header, rule, line = (text for text in printed.err.splitlines() if text.startswith("|"))
    assert header.count("|") == rule.count("|") == line.count("|")
    assert picture.read_text().count("<svg") == 1


@pytest.mark.parametrize("game", training.GAMES)
def test_every_setting_of_every_game_is_one(game: str) -> None:
    for setting, changes in training.SETTINGS.items():
        config = training.config(game, setting)
        assert all(getattr(config, name) == value for name, value in changes.items())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--games", "demo", "chess"], r"benchmarks.training: .*the games are"),
        (["--repeats", "0"], "benchmarks.training: repeats must be positive, not 0"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "measure", pytest.fail)
    monkeypatch.setattr("sys.argv", ["training", *words])
    with pytest.raises(SystemExit, match=message):
        training.main()


def test_the_epochs_that_are_timed_learn_what_an_update_learns() -> None:
    """With the loss's gradient and the optimiser they give the parameters of train.ppo.update."""
    learner = PPO(CONFIG)
    train_state, given = collected(learner)
    step: Any = jax.jit(functools.partial(update, CONFIG, learner.policy))
    after, _ = step(train_state, *given[:2])
    gradient = jax.grad(functools.partial(ppo_loss, CONFIG, learner.policy), has_aux=True)
    program = training.epochs(learner, gradient, make_optimizer(CONFIG))
    batch = training.group(CONFIG, given)
    _, subkey = jax.random.split(train_state.key)
    params, *_ = jax.jit(program)(subkey, (train_state.params, train_state.opt_state), batch)
    assert jax.tree.all(jax.tree.map(lambda a, b: jnp.allclose(a, b, rtol=1e-5, atol=1e-6), params, after.params))
    assert not jax.tree.all(jax.tree.map(jnp.array_equal, params, train_state.params))


def test_epochs_without_a_gradient_leave_the_parameters_and_write_the_minibatches_out() -> None:
    learner = PPO(CONFIG)
    train_state, given = collected(learner)
    batch = training.group(CONFIG, given)
    plain = optax.scale(-1e-9)
    start = (train_state.params, plain.init(train_state.params))
    params, _, part, _ = jax.jit(training.epochs(learner, training.nothing, plain))(jax.random.key(0), start, batch)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, params, train_state.params))
    assert jax.tree.map(jnp.shape, part) == jax.tree.map(lambda x: (CONFIG.minibatch_size, *x.shape[2:]), given)


def test_the_bare_products_are_those_of_the_network() -> None:
    """Forward one for each layer; back two more for each but the first, whose input asks for no gradient."""
    learner = PPO(CONFIG)
    train_state, given = collected(learner)
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), given)
    forward = jax.make_jaxpr(learner.policy.apply)(train_state.params, batch[0].observation, batch[0].seat)
    back = jax.make_jaxpr(training.through_the_network(learner))(train_state.params, *batch)
    assert len(list(training.dot_generals(forward.jaxpr))) == 3  # hidden layer, logits, value
    assert len(list(training.dot_generals(back.jaxpr))) == 3 * 3 - 1


def collected(learner: PPO) -> tuple[Any, Any]:
    train_state = jax.jit(learner.init)(jax.random.key(0))
    return jax.jit(functools.partial(training.collect_for_update, learner))(train_state)
