"""A rollout and an update of PPO: opponents play their seats, and only the learner's decisions are learned from."""

import dataclasses
import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames._platforms import VARIABLE
from tests.helpers.networks import random_leaves
from tests.helpers.scripted_agents import analysis_of
from tests.helpers.sticks import LuckySticks
from tests.train.ops.test_targets import slow_advantages
from train import ppo
from train.ops.episodes import map_next_boards
from train.ppo import PPO, Config, Minibatch, TrainState, Transition

CONFIG = Config(  # of self-play
    env="chinese_checkers(size=1, num_players=2, max_rounds=8, reward=sparse)",
    total_steps=3 * 16 * 24,
    num_envs=16,
    rollout_length=24,
    update_epochs=2,
    num_minibatches=2,
    learning_rate=0.01,
    gamma=0.9,
    gae_lambda=0.8,
    hidden_sizes=(8,),
)
LEARNER = PPO(
    dataclasses.replace(
        CONFIG,
        env="chinese_checkers(size=1, num_players=3, max_rounds=6, reward=sparse)",
        opponents=("first", "self@every=1(size=2)"),
        num_envs=12,
        rollout_length=40,
    )
)
GAME = LEARNER.env
SHAPE = (LEARNER.config.rollout_length, LEARNER.config.num_envs)

key = jax.random.key
apply = jax.jit(LEARNER.policy.apply)


@jax.jit
def update_with(numbers: Any, *given: Any) -> Any:
    return PPO(LEARNER.config, numbers).update(*given)


update = functools.partial(update_with, LEARNER.numbers)
minibatch_of = jax.jit(functools.partial(ppo.minibatch_of, GAME))


@jax.jit
def rollout(train_state: TrainState) -> Any:
    after, steps = LEARNER.collect(train_state)
    return after, *LEARNER.advantages(after.params, steps)


@dataclasses.dataclass(frozen=True)
class Collected:
    train_state: TrainState  # that played
    after: TrainState  # the same, with the boards and the key after the steps
    steps: Transition  # [rollout_length, num_envs]
    advantages: np.ndarray  # that the update was given
    updated: tuple[TrainState, dict[str, jax.Array]]  # after the update, with its metrics

    @functools.cached_property
    def own(self) -> np.ndarray:
        """bool[rollout_length, num_envs], whether the mover's seat is the learner's."""
        return np.take_along_axis(np.asarray(self.steps.learner_seats), np.asarray(self.steps.seat)[..., None], -1)[
            ..., 0
        ]

    @functools.cached_property
    def minibatch(self) -> Minibatch:
        """All steps as the loss reads them, leaves [rollout_length * num_envs, ...]."""
        given = self.steps, self.advantages, self.advantages + self.steps.value
        return jax.device_get(minibatch_of(*jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), given)))


@pytest.fixture(scope="module")
def collected() -> Collected:
    """An iteration of a policy with random biases: no value and no logit is trivial."""
    train_state = jax.jit(LEARNER.init)(key(0))
    train_state = LEARNER.load(LEARNER.with_params(train_state, random_leaves(train_state.params, divisor=2)))
    after, steps, advantages = rollout(train_state)
    updated = update(after, steps, advantages)
    steps, advantages = jax.device_get((steps, advantages))
    assert steps.terminated.any()  # without both ends of games, the tests here would prove little
    assert steps.truncated[:-1].any()
    assert not steps.truncated[-1].all()
    return Collected(train_state, after, steps, advantages, updated)


@pytest.fixture(scope="module")
def finals(collected: Collected) -> Any:
    """The boards after all steps, leaves [*SHAPE, ...], if the actions are played again, one plain board at a time."""
    start, step = jax.device_get(GAME.init(key(0))), jax.jit(GAME.step)
    columns: list[Any] = []
    for actions in np.asarray(collected.steps.action).T:
        state, column = start, list[jaxgames.State]()
        for action in actions:
            state = jax.device_get(step(state, action))
            column.append(state)
            state = start if state.terminated | state.truncated else state
        columns.append(jax.tree.map(lambda *leaves: np.stack(leaves), *column))
    return jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *columns)


# -- collect --------------------------------------------------------------------------------------------------


def test_stored_steps_are_those_of_the_game_replayed(collected: Collected, finals: Any) -> None:
    """The board stored with each step is the one on which it was played."""
    steps = collected.steps
    for name in ("terminated", "truncated"):
        np.testing.assert_array_equal(getattr(steps, name), getattr(finals, name))
    largest = np.abs(finals.rewards).max()
    assert largest > 1  # it is scaled to 1
    np.testing.assert_allclose(steps.rewards, finals.rewards / largest, rtol=1e-6)
    start = jax.tree.map(lambda x: np.broadcast_to(x, (1, SHAPE[1], *x.shape)), GAME.init(key(0)))
    before = jax.tree.map(lambda first, rest: np.concatenate([first, rest[:-1]]), start, finals)
    restarted = np.asarray(before.terminated | before.truncated)
    before = jax.tree.map(
        lambda x, first: np.where(restarted.reshape(SHAPE + (1,) * (x.ndim - 2)), first, x), before, start
    )
    jax.tree.map(np.testing.assert_array_equal, steps.state, before)


def test_stored_steps_of_a_game_of_chance_lead_to_the_same_boards_when_played_again(sticks: None) -> None:
    jaxgames.register("lucky_sticks", LuckySticks)
    learner = PPO(dataclasses.replace(CONFIG, env="lucky_sticks", num_envs=8, rollout_length=12, num_minibatches=1))

    @jax.jit
    def left_before_and_after(key: jax.Array) -> Any:
        steps: Any = learner.collect(learner.init(key))[1]
        everywhere = jnp.ones(steps.action.shape, jnp.bool_)
        after = map_next_boards(learner.env, lambda boards: boards.left[:, None], steps, everywhere)
        return steps.state.left, after[..., 0], steps.action, steps.terminated

    before, after, action, ended = jax.device_get(left_before_and_after(key(0)))
    np.testing.assert_array_equal(after[:-1][~ended[:-1]], before[1:][~ended[:-1]])
    assert 0 < (before - after - action - 1 == 1).sum() < ended.size  # sticks that were lost by chance


def test_learner_has_one_seat_per_game_and_a_new_one_when_the_board_restarts(collected: Collected) -> None:
    steps, seats = collected.steps, np.asarray(collected.steps.learner_seats)
    assert (seats.sum(-1) == 1).all()
    changed = (seats[1:] != seats[:-1]).any(-1)
    ended = np.asarray(steps.terminated | steps.truncated)[:-1]
    assert not changed[~ended].any()
    assert 0 < changed.sum() < ended.sum()
    np.testing.assert_array_equal(steps.learner_mask, collected.own & np.asarray(steps.has_target))
    in_self_play = steps._replace(learner_seats=None)
    np.testing.assert_array_equal(in_self_play.learner_mask, steps.has_target)
    assert in_self_play._replace(has_target=None).learner_mask is None


def test_opponents_play_their_seats_and_the_learner_samples_its_own(collected: Collected) -> None:
    """In games against "first" every step of another seat is the first legal action; elsewhere that would be chance."""
    steps, own, flat = collected.steps, collected.own, collected.minibatch
    is_first = np.asarray(steps.action) == np.asarray(flat.mask).argmax(-1).reshape(SHAPE)
    always_first: list[bool] = []
    for board in range(SHAPE[1]):
        ends = np.flatnonzero(np.asarray(steps.terminated | steps.truncated)[:, board]) + 1
        for begin, end in itertools.pairwise([0, *ends]):
            theirs = ~own[begin:end, board]
            always_first.append(bool(is_first[begin:end, board][theirs].all()))
    assert 0.25 < np.mean(always_first) < 0.75
    assert 0 < is_first[own].mean() < 0.7
    logits, values = apply(collected.train_state.params, flat.observation, flat.seat)
    np.testing.assert_allclose(steps.value.reshape(-1), values, rtol=1e-4, atol=1e-5)
    logits = np.where(flat.mask, np.asarray(logits, np.float64), -np.inf)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chosen = np.take_along_axis(log_probs, np.asarray(flat.action)[:, None], 1).reshape(SHAPE)
    np.testing.assert_allclose(np.asarray(steps.log_prob)[own], chosen[own], rtol=1e-4, atol=1e-4)


# -- advantages and update ------------------------------------------------------------------------------------


def test_advantages_equal_their_definition(collected: Collected, finals: Any) -> None:
    """Computed slowly from the games as they were played again. In this game a policy has the mover's value only."""
    boards = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), finals)
    observations = jax.jit(jax.vmap(GAME.observe))(boards)
    _, values = apply(collected.train_state.params, observations, boards.current_player)
    of_mover = np.broadcast_to(np.asarray(values).reshape(*SHAPE, 1), (*SHAPE, GAME.num_players))
    is_mover = boards.current_player.reshape(*SHAPE, 1) == np.arange(GAME.num_players)
    steps, has_target = collected.steps, np.asarray(collected.steps.has_target)
    for board in range(SHAPE[1]):
        slow, is_known = slow_advantages(
            *(np.asarray(x)[:, board] for x in (steps.rewards, steps.value, steps.seat)),
            *(np.asarray(x)[:, board] for x in (steps.terminated, steps.truncated, of_mover, is_mover)),
            gamma=CONFIG.gamma,
            gae_lambda=CONFIG.gae_lambda,
        )
        np.testing.assert_allclose(collected.advantages[:, board], slow, rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(has_target[:, board], is_known)
    assert 0 < (~has_target).sum() < has_target.size / 5  # the ends of the rollout and of truncated games


def test_seat_that_is_not_to_move_has_the_negated_value_in_a_zero_sum_game_of_two() -> None:
    """Where the rollout ends, and in the analysis of the agent, in the game's unit of reward."""
    game = "dots_and_boxes(rows=2, cols=2, reward=boxes)"  # one edge can pay 2
    learner = PPO(Config(env=game, num_envs=8, rollout_length=5, num_minibatches=1, hidden_sizes=(8,)))

    @jax.jit
    def run(key: jax.Array) -> Any:
        after, steps = learner.collect(learner.init(key))
        values, are_known = learner.bootstrap_values(after.params, steps)
        return after, values[-1], are_known[-1], learner.outputs(after.params, after.boards.board)[1]

    after, values, are_known, of_movers = jax.device_get(run(key(0)))
    boards = after.boards.board
    assert are_known.all()
    expected = np.where(boards.current_player[:, None] == np.arange(2), of_movers[:, None], -of_movers[:, None])
    assert np.abs(expected).min() > 1e-5
    np.testing.assert_allclose(values, expected, rtol=1e-4)
    of_agent: Any = analysis_of(learner.agent(after.params), boards)
    np.testing.assert_allclose(of_agent.values, 2 * expected, rtol=1e-4)


def test_iteration_updates_with_the_advantages_of_the_steps_that_it_collects(collected: Collected) -> None:
    expected, losses = collected.updated
    found, metrics = jax.jit(LEARNER.iterate)(collected.train_state)
    assert int(found.iteration) == 1
    pool: Any = found.opponents.agents[1]
    jax.tree.map(lambda kept, new: np.testing.assert_array_equal(kept[0], new), pool.params, found.params)
    assert metrics.keys() > losses.keys() > {"explained_variance", "clip_fraction"}
    assert metrics.keys() > {"episode_win_rate/learner", "episode_return/seat_0"}
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5), found.params, expected.params)
    for name, number in losses.items():
        np.testing.assert_allclose(metrics[name], number, rtol=1e-3, atol=1e-5, err_msg=name)


def test_actions_and_the_order_of_an_update_are_drawn_from_the_key(collected: Collected) -> None:
    c = collected
    _, steps, _ = rollout(c.train_state._replace(key=c.after.key))
    assert (steps.action[0] != c.steps.action[0]).any()
    at_start = (c.steps.episode_stats.length == 1) & c.own
    of_boards = [c.steps.action[at_start[:, board], board] for board in range(SHAPE[1])]
    assert any(len({*actions.tolist()}) > 1 for actions in of_boards)  # each step has a key of its own
    other, _ = update(c.after._replace(key=c.train_state.key), c.steps, c.advantages)
    changed = jax.tree.map(lambda a, b: bool(np.any(np.abs(a - b) > 1e-4)), other.params, c.updated[0].params)
    assert jax.tree.all(changed)


def test_metrics_are_means_over_the_learners_steps_of_all_minibatches(collected: Collected) -> None:
    """With a learning rate of 0, the errors of the values are those of the rollout."""
    numbers = dataclasses.replace(LEARNER.numbers, learning_rate=0.0)
    _, metrics = update_with(numbers, collected.after, collected.steps, collected.advantages)
    own = np.asarray(collected.steps.learner_mask)
    errors, targets = collected.advantages[own], (collected.advantages + collected.steps.value)[own]
    np.testing.assert_allclose(metrics["value_loss"], 0.5 * np.square(errors).mean(), rtol=1e-4)
    explained = 1 - np.var(errors) / np.var(targets)
    np.testing.assert_allclose(metrics["explained_variance"], explained, rtol=1e-3, atol=1e-4)


def test_update_on_a_gpu_is_that_on_a_cpu(collected: Collected, monkeypatch: pytest.MonkeyPatch) -> None:
    """It observes the boards in every minibatch."""
    monkeypatch.setenv(VARIABLE, "library")  # traced in this form
    found = jax.jit(lambda *given: LEARNER.update(*given))(collected.after, collected.steps, collected.advantages)
    same = functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6)
    jax.tree.map(same, (found[0].params, found[1]), (collected.updated[0].params, collected.updated[1]))
