"""A rollout and an update of PPO: opponents play their seats, and only the learner's decisions are learned from."""

import dataclasses
import functools
import itertools
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames._platforms import VARIABLE
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import reward_scale
from jaxgames.solvers.exact.agent import SolverAgent
from tests.helpers.networks import random_leaves, with_policy
from tests.helpers.scripted_agents import analysis_of
from tests.helpers.solved import solved_boxes
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
SEATS = [f"seat_{seat}" for seat in range(3)]
SHAPE = (LEARNER.config.rollout_length, LEARNER.config.num_envs)

apply = jax.jit(LEARNER.policy.apply)
update = jax.jit(LEARNER.update)
minibatch_of = jax.jit(functools.partial(ppo.minibatch_of, GAME))


def key(seed: int) -> jax.Array:
    return jax.random.key(seed)


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


def test_iteration_updates_with_the_advantages_of_the_steps_that_it_collects(collected: Collected) -> None:
    expected, losses = collected.updated
    found, metrics = jax.jit(LEARNER.iterate)(collected.train_state)
    assert int(found.iteration) == 1
    pool: Any = found.opponents.agents[1]
    jax.tree.map(lambda kept, new: np.testing.assert_array_equal(kept[0], new), pool.params, found.params)
    assert losses.keys() == {
        *("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "explained_variance")
    }
    assert metrics.keys() == losses.keys() | {
        *("num_episodes", "episode_length", "episode_truncated_rate", "episode_draw_rate"),
        *(f"{name}/{who}" for name in ("episode_return", "episode_win_rate") for who in ("learner", *SEATS)),
    }
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5), found.params, expected.params)
    for name, number in losses.items():
        np.testing.assert_allclose(metrics[name], number, rtol=1e-3, atol=1e-5, err_msg=name)


def test_actions_and_the_order_of_an_update_are_drawn_from_the_key(collected: Collected) -> None:
    c = collected
    _, steps, _ = rollout(c.train_state._replace(key=c.after.key))
    assert (steps.action[0] != c.steps.action[0]).any()
    other, _ = update(c.after._replace(key=c.train_state.key), c.steps, c.advantages)
    changed = jax.tree.map(lambda a, b: bool(np.any(np.abs(a - b) > 1e-4)), other.params, c.updated[0].params)
    assert jax.tree.all(changed)


def test_update_on_a_gpu_is_that_on_a_cpu(collected: Collected, monkeypatch: pytest.MonkeyPatch) -> None:
    """It observes the boards in every minibatch."""
    monkeypatch.setenv(VARIABLE, "library")  # traced in this form
    found = jax.jit(lambda *given: LEARNER.update(*given))(collected.after, collected.steps, collected.advantages)
    same = functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6)
    jax.tree.map(same, (found[0].params, found[1]), (collected.updated[0].params, collected.updated[1]))


def test_update_does_not_depend_on_the_opponents_steps(collected: Collected) -> None:
    steps, advantages, own = collected.steps, collected.advantages, np.asarray(collected.steps.learner_mask)
    expected, metrics = collected.updated
    noise = np.where(own, 0, 100 * np.random.default_rng(1).normal(size=SHAPE)).astype(np.float32)
    start = GAME.init(key(0))
    boards = jax.tree.map(
        lambda x, first: np.where(own.reshape(SHAPE + (1,) * first.ndim), x, first), steps.state, start
    )
    other = steps._replace(
        state=dataclasses.replace(boards, current_player=steps.seat),
        action=np.where(own, steps.action, 0),
        value=steps.value + noise,
        log_prob=steps.log_prob + noise,
    )
    found, other_metrics = update(collected.after, other, advantages + noise)
    jax.tree.map(np.testing.assert_array_equal, found.params, expected.params)
    jax.tree.map(np.testing.assert_array_equal, other_metrics, metrics)
    targets = (advantages + steps.value)[own]
    explained = 1 - np.var(advantages[own]) / np.var(targets)
    np.testing.assert_allclose(metrics["explained_variance"], explained, rtol=1e-3, atol=1e-4)
    changed = jax.tree.map(lambda old, new: np.any(old != new), *jax.device_get((collected.after.params, found.params)))
    assert jax.tree.all(changed)


# -- beside perfect play -------------------------------------------------------------------------------------------

BOXES: Any = jaxgames.make("dots_and_boxes(rows=2, cols=3, reward=boxes)")
LENGTH, NUM_ENVS = 8, 64


@dataclasses.dataclass(frozen=True)
class SolvedPolicy:
    """The exact value of the mover, and equal logits. The parameters are the value of every index, float32[P]."""

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        parts = observation[:, ::2, 1::2, 0], observation[:, 1::2, ::2, 0]  # horizontal and vertical edges
        edges = jnp.concatenate([part.reshape(len(seat), -1) for part in parts], 1)
        index = edges.astype(jnp.uint32) @ (jnp.uint32(1) << jnp.arange(edges.shape[1], dtype=jnp.uint32))
        return jnp.zeros((len(seat), BOXES.num_actions)), params[index] * reward_scale(BOXES)


@jax.jit
def returns(player: SolverAgent, boards: Any) -> jax.Array:
    """float32[B, 2], the rewards of both seats from there on, if two perfect players play on."""

    def step(carry: tuple[Any, jax.Array], _: None) -> tuple[tuple[Any, jax.Array], None]:
        boards, paid = carry
        after = jax.vmap(BOXES.step)(boards, player.act(jax.random.key(0), boards))
        return (after, paid + after.rewards), None

    start = boards, jnp.zeros((len(boards.current_player), 2))
    return jax.lax.scan(step, start, length=BOXES.num_edges)[0][1]


def test_advantages_and_the_agents_values_are_what_perfect_players_are_paid_later() -> None:
    """On boards of random games. With gamma = lambda = 1, value + advantage is all that the seat is paid.

    No observation of dots and boxes shows whose turn it is. So a value of the seat that is not to move, taken from that
    seat's own observation, would be as if it were to move.
    """
    solution = solved_boxes(2, 3)
    sizes: dict[str, Any] = {"num_envs": NUM_ENVS, "rollout_length": LENGTH, "num_minibatches": 1}
    learner = with_policy(Config(env=str(BOXES), gamma=1.0, gae_lambda=1.0, **sizes), SolvedPolicy())

    @jax.jit
    def play(train_state: Any) -> Any:
        train_state, steps = learner.collect(train_state)
        return train_state, (*learner.advantages(train_state.params, steps), train_state.boards.board)

    table = jnp.asarray(solution.table, jnp.float32)
    start = jax.jit(PPO(learner.config).init)(jax.random.key(0))._replace(params=table)
    steps, advantages, boards = jax.device_get(play(play(start)[0])[1])
    player = SolverAgent(BOXES, type(solution), "solver", "first", solution.device_table)
    paid = np.asarray(returns(player, boards))
    agent = PolicyAgent(table, BOXES, cast(Any, SolvedPolicy()))
    np.testing.assert_allclose(np.asarray(analysis_of(agent, boards).values), paid, atol=1e-5)
    after = paid * reward_scale(BOXES)
    ended = steps.terminated | steps.truncated
    targets, num_checked = steps.value + advantages, 0
    for time, board in np.ndindex(LENGTH, NUM_ENVS):
        if not ended[time:, board].any():  # the game goes on after the rollout
            expected = (steps.rewards[time:, board].sum(0) + after[board])[steps.seat[time, board]]
            np.testing.assert_allclose(targets[time, board], expected, atol=1e-5)
            num_checked += 1
    assert num_checked > NUM_ENVS * LENGTH / 2
    assert np.square(after).mean() > 0.1  # 0 would be wrong
