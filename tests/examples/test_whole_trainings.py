"""The trainings in one file: their estimates and losses are those of `train`, and the examples learn to win."""

import importlib
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples import alphazero, ppo
from tests.helpers.blocks import needs
from tests.helpers.commands import last_json
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.alphazero.run import Minibatch as AlphaZeroMinibatch
from train.ppo import PPO, Config, Minibatch, minibatch_of

SAME: dict[str, Any] = {"gamma": 0.9, "gae_lambda": 0.8, "clip_coef": 0.2, "vf_coef": 0.5, "ent_coef": 0.01}


@pytest.mark.parametrize(
    "game", ["dots_and_boxes(rows=1, cols=2)", "chinese_checkers(size=1, num_players=3, max_rounds=4)"]
)
def test_ppo_has_the_advantages_and_the_loss_of_train(game: str) -> None:
    """On a rollout in which games end by the rules or by a limit, for two seats and for three."""
    learner = PPO(Config(env=game, hidden_sizes=(8,), num_envs=8, rollout_length=24, num_minibatches=1, **SAME))

    settings = ppo.Config(**SAME)

    @jax.jit
    def both(key: jax.Array) -> Any:
        train_state, steps = learner.collect(learner.init(key))
        with_target, expected = learner.advantages(train_state.params, steps)
        boards = train_state.boards.board
        value, mover = learner.outputs(train_state.params, boards)[1], boards.current_player
        is_mover = mover[:, None] == jnp.arange(learner.env.num_players)
        is_two = learner.env.num_players == 2
        last = jnp.where(is_mover, value[:, None], -value[:, None])
        every = (
            jax.vmap(jax.vmap(learner.env.observe))(steps.state),
            jax.vmap(jax.vmap(learner.env.legal_action_mask))(steps.state),
        )
        own = ppo.Steps(*every, *(getattr(steps, name) for name in ppo.Steps._fields[2:]))
        found, known = ppo.advantages_of(settings, own, last, is_mover | is_two)
        flat: Any = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (with_target, expected, expected + steps.value))
        minibatch: Minibatch = minibatch_of(learner.env, *flat)
        params = jax.tree.map(lambda leaf: leaf + 0.1, train_state.params)
        ours, _ = learner.loss(train_state, params, minibatch)
        rows = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), own)
        mask = jnp.ones(minibatch.target.shape, bool) if minibatch.learner_mask is None else minibatch.learner_mask
        theirs = ppo.loss_of(settings, learner.policy, params, rows, minibatch.advantage, minibatch.target, mask)
        return (found, expected), (known, with_target.has_target, steps.truncated), (ours, theirs)

    (found, expected), (known, has_target, truncated), (ours, theirs) = jax.device_get(both(jax.random.key(0)))
    # `train` values the last board of a truncated game; here its end is not learned. So only later games are compared.
    learned = known & ~np.maximum.accumulate(truncated[::-1], axis=0)[::-1]
    np.testing.assert_allclose(found[learned], expected[learned], rtol=1e-4, atol=1e-5)
    assert learned.mean() > 0.1
    assert has_target is None or (has_target >= known)[learned].all()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_alphazero_has_the_loss_of_train() -> None:
    learner = AlphaZero(AlphaZeroConfig(env="dots_and_boxes(rows=1, cols=1)", network="mlp", hidden_sizes=(8,)))
    params = learner.init_params(jax.random.key(0))
    observation = jax.random.bernoulli(jax.random.key(1), shape=(5, *learner.env.observation_shape))
    slots = jnp.array([[0, 2, 3, -1]] * 5)
    weights = jnp.array([[0.5, 0.25, 0.25, 0.0]] * 5)
    target = jnp.linspace(-1, 1, 5)
    by_action = jnp.array([[0.5, 0.0, 0.25, 0.25]] * 5)
    mask = jnp.array([[True, False, True, True]] * 5)
    nothing: Any = None
    minibatch = AlphaZeroMinibatch(observation, slots, weights, target[:, None])
    expected, _ = learner.loss(nothing, params, minibatch)
    found = alphazero.loss_of(learner.policy, params, alphazero.Samples(observation, mask, by_action, target))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_targets_of_alphazero_by_hand() -> None:
    """Seat 0 moves, seat 1 moves twice, and is paid 1 when the game ends; then a game that goes on."""
    config = alphazero.Config(gamma=0.5, td_lambda=0.5)
    rewards = jnp.zeros((4, 1, 2)).at[2, 0].set(jnp.array([-1.0, 1.0]))
    over, turns = jnp.array([[0], [0], [1], [0]], bool), jnp.array([[1], [0], [1], [1]], bool)
    values = jnp.array([0.0, 0.2, 0.4, 0.6, 0.8])[:, None, None] * jnp.array([1.0, -1.0])
    found = alphazero.targets_of(config, rewards, over, turns, values)[:, 0, 0]
    second = 0.5 * 0.4 + 0.5 * -1
    np.testing.assert_allclose(found, [0.5 * (0.5 * 0.2 + 0.5 * second), second, -1, 0.5 * 0.8], rtol=1e-5)


@needs("jaxmarl")
def test_advantages_of_ippo_are_sums_of_discounted_errors_up_to_the_end_of_a_game() -> None:
    """One agent, three steps; the second ends a game."""
    ippo = importlib.import_module("examples.jaxmarl_ippo")
    reward, value, last_value = jnp.array([[0.0], [1.0], [0.0]]), jnp.array([[0.5], [0.2], [0.1]]), jnp.array([0.4])
    batch = ippo.Batch(None, value, value, value, reward, jnp.array([[False], [True], [False]]))
    deltas = [ippo.GAMMA * 0.2 - 0.5, 1 - 0.2, ippo.GAMMA * 0.4 - 0.1]
    expected = [deltas[0] + ippo.GAMMA * ippo.GAE_LAMBDA * deltas[1], deltas[1], deltas[2]]
    assert ippo.advantages_of(batch, last_value)[:, 0] == pytest.approx(expected, abs=1e-6)


LEARNED: dict[str, Callable[[Any], bool]] = {  # of the last line that an example prints
    "ppo": lambda result: result["opponent"] == "greedy" and result["win_rate"] >= 0.1,
    "alphazero": lambda result: result["opponent"] == "greedy" and result["win_rate"] >= 0.9,
    "own_learner": lambda result: result["win_rates"][0] < 0.8 and result["win_rates"][-1] > 0.85,
    "own_network": lambda result: [*map(operator.gt, result["scores"].values(), (0.75, 0.85))] == [True, True],
    "jaxmarl_ippo": lambda result: (
        result["games"] == 16 * (640 // 12) and abs(result["scores"][0]) < 0.1 and result["scores"][1] > 0.15
    ),
    "pgx_search": lambda result: result["games"] == 320 and result["won"] - result["lost"] > 0.25 * 320,
}


@pytest.mark.slow  # whole trainings of a few minutes
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs("jaxmarl") if name == "jaxmarl_ippo" else ()) for name in LEARNED]
)
def test_example_learns_to_win(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The second board of `own_network` was never seen in training. Games on 2 x 2 boxes have 12 steps each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    monkeypatch.delitem(sys.modules, f"examples.{name}", raising=False)  # whose registrations are forgotten
    example = importlib.import_module(f"examples.{name}")
    capsys = request.getfixturevalue("capsys")  # not before: the import of JaxMARL replaces the standard output
    example.main()
    result = last_json(capsys)
    assert LEARNED[name](result), result
    assert len([*tmp_path.glob("*.svg")]) == (name in ("ppo", "alphazero"))
