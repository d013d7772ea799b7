"""PPO against others: the opponents play their seats, and only the learner's decisions are learned from."""

import dataclasses
import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.train.ppo import test_loss
from tests.train.ppo.test_loss import OUTPUTS, STEPS
from train import ppo
from train.ppo import PPO, Config, Minibatch, Transition

CONFIG = Config(
    env="chinese_checkers(size=1, num_players=3, max_rounds=6)",
    opponents=("first", "self@every=2(size=2)"),
    num_envs=12,
    rollout_length=40,
    update_epochs=2,
    num_minibatches=4,
    learning_rate=0.01,
    hidden_sizes=(8,),
)
LEARNER = PPO(CONFIG)
SHAPE = (CONFIG.rollout_length, CONFIG.num_envs)


def key(seed: int) -> jax.Array:
    return jax.random.key(seed)


# -- the loss, by hand ---------------------------------------------------------------------------------------------


@jax.jit
def loss_of(steps: Minibatch) -> Any:
    """((loss, metrics), gradient) at OUTPUTS; each row of the parameters belongs to one step."""
    params = jax.tree.map(lambda leaf: leaf[: len(steps.target)], OUTPUTS)
    return jax.value_and_grad(functools.partial(test_loss.loss_of, CONFIG), has_aux=True)(params, steps)


def first_rows(count: int) -> Minibatch:
    """The first steps of the batch in test_loss.py, all of the learner."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], STEPS)


def with_opponents(is_learners: list[bool]) -> Minibatch:
    """The four steps, some of them of an opponent."""
    return STEPS._replace(learner_mask=np.array(is_learners))


def test_loss_and_gradient_are_those_of_the_batch_without_the_opponents_steps() -> None:
    (loss, metrics), gradient = jax.device_get(loss_of(with_opponents([True, True, False, False])))
    (expected_loss, expected_metrics), expected_gradient = jax.device_get(loss_of(first_rows(2)))
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-6)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7), metrics, expected_metrics)
    for found, expected in zip(gradient, expected_gradient, strict=True):
        np.testing.assert_allclose(found[:2], expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(found[2:], np.zeros_like(found[2:]))
    np.testing.assert_allclose(metrics["value_loss"], 0.5 * 2**2 / 2)  # by hand: errors of 2 and 0 in two steps
    np.testing.assert_allclose(metrics["policy_loss"], -(1.3 - 0.7) / 2, rtol=1e-4)


@pytest.mark.parametrize("number", [1e30, np.nan, np.inf])
def test_numbers_in_the_opponents_steps_change_nothing(number: float) -> None:
    steps, theirs = with_opponents([True, False, True, False]), np.array([False, True, False, True])
    log_prob, advantage, target = (
        np.where(theirs, np.float32(number), numbers) for numbers in (steps.log_prob, steps.advantage, steps.target)
    )
    action = np.where(theirs, np.int32(2), steps.action)
    other = steps._replace(log_prob=log_prob, advantage=advantage, target=target, action=action)
    jax.tree.map(np.testing.assert_array_equal, loss_of(other), loss_of(steps))


def test_minibatch_without_a_step_of_the_learner_has_no_gradient() -> None:
    (loss, metrics), gradient = loss_of(with_opponents([False] * 4))
    assert [float(number) for number in jax.tree.leaves((loss, metrics))] == [0.0] * 6
    for leaf in gradient:
        np.testing.assert_array_equal(leaf, np.zeros_like(leaf))


# -- an iteration --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collected() -> tuple[Any, Transition, jax.Array]:
    """The train state after a rollout, its steps and their advantages."""

    @jax.jit
    def parts(train_state: Any) -> Any:
        after, steps = LEARNER.collect(train_state)
        return after, *LEARNER.advantages(after.params, steps)

    return parts(LEARNER.load(jax.jit(LEARNER.init)(key(0))))


def own_steps(steps: Transition) -> np.ndarray:
    """bool[rollout_length, num_envs], whether the mover's seat is the learner's."""
    seats = np.asarray(steps.learner_seats)
    return np.take_along_axis(seats, np.asarray(steps.seat)[..., None], -1)[..., 0]


def all_steps(steps: Transition) -> Minibatch:
    """The steps of the rollout as the loss reads them, leaves [rollout_length * num_envs, ...]; no advantages."""
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), jax.device_get(steps))
    return jax.jit(functools.partial(ppo.minibatch_of, LEARNER.env))(flat, flat.value, flat.value)


def test_learner_has_one_seat_per_game_and_a_new_one_when_the_board_restarts(collected: Any) -> None:
    _, steps, _ = collected
    seats = np.asarray(steps.learner_seats)
    assert (seats.sum(-1) == 1).all()
    changed = (seats[1:] != seats[:-1]).any(-1)
    ended = np.asarray(steps.terminated | steps.truncated)[:-1]
    assert not changed[~ended].any()
    assert 0 < changed.sum() < ended.sum()
    np.testing.assert_array_equal(steps.learner_mask, own_steps(steps) & np.asarray(steps.has_target))


def test_opponents_play_their_seats_and_the_learner_samples_its_own(collected: Any) -> None:
    """In games against "first" every step of another seat is the first legal action; elsewhere that would be chance."""
    _, steps, _ = collected
    decisions = all_steps(steps)
    is_first = np.asarray(steps.action) == np.asarray(decisions.mask).argmax(-1).reshape(SHAPE)
    own = own_steps(steps)
    always_first: list[bool] = []
    for board in range(CONFIG.num_envs):
        ends = np.flatnonzero(np.asarray(steps.terminated | steps.truncated)[:, board]) + 1
        for begin, end in itertools.pairwise([0, *ends]):
            theirs = ~own[begin:end, board]
            always_first.append(bool(is_first[begin:end, board][theirs].all()))
    assert 0.25 < np.mean(always_first) < 0.75
    assert 0 < is_first[own].mean() < 0.7
    logits, _ = jax.jit(LEARNER.policy.apply)(collected[0].params, decisions.observation, decisions.seat)
    log_probs = jax.nn.log_softmax(jnp.where(decisions.mask, logits, -jnp.inf))
    chosen = np.take_along_axis(np.asarray(log_probs), np.asarray(steps.action).reshape(-1, 1), 1).reshape(SHAPE)
    np.testing.assert_allclose(np.asarray(steps.log_prob)[own], chosen[own], rtol=1e-4, atol=1e-4)


def test_update_does_not_depend_on_the_opponents_steps(collected: Any) -> None:
    train_state, steps, advantages = collected
    own = np.asarray(steps.learner_mask)
    update = jax.jit(LEARNER.update)
    expected, metrics = update(train_state, steps, advantages)
    noise = np.where(own, 0, 100 * np.random.default_rng(1).normal(size=SHAPE)).astype(np.float32)
    value, log_prob, advantages = map(np.asarray, (steps.value, steps.log_prob, advantages))
    seat, start = steps.seat, LEARNER.env.init(key(0))
    boards = jax.tree.map(
        lambda x, first: np.where(own.reshape(SHAPE + (1,) * first.ndim), x, first), steps.state, start
    )
    other = steps._replace(
        state=dataclasses.replace(boards, current_player=seat),
        action=np.where(own, steps.action, 0),
        value=value + noise,
        log_prob=log_prob + noise,
    )
    found, other_metrics = update(train_state, other, advantages + noise)
    jax.tree.map(np.testing.assert_array_equal, found.params, expected.params)
    jax.tree.map(np.testing.assert_array_equal, other_metrics, metrics)
    targets = (advantages + value)[own]
    explained = 1 - np.var(advantages[own]) / np.var(targets)
    np.testing.assert_allclose(metrics["explained_variance"], explained, rtol=1e-3, atol=1e-4)
    changed = jax.tree.map(lambda old, new: np.any(old != new), *jax.device_get((train_state.params, found.params)))
    assert jax.tree.all(changed)
