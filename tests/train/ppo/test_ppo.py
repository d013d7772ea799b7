"""PPO by self-play: what it collects, what it learns from that, and that a run is a function of its key."""

import dataclasses
import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames._platforms import VARIABLE
from tests.helpers.sticks import LuckySticks
from tests.train.ops import advantages_reference
from train import ppo
from train.ops.episodes import map_next_boards
from train.ppo import PPO, Config, Minibatch, TrainState, Transition

CONFIG = Config(
    env="chinese_checkers(size=1, num_players=2, max_rounds=8, reward=sparse)",  # pays 5 and -1
    sharing="shared",
    total_steps=3 * 16 * 24,
    num_envs=16,
    rollout_length=24,
    update_epochs=2,
    num_minibatches=2,
    learning_rate=0.01,
    anneal_lr=True,
    gamma=0.9,
    gae_lambda=0.8,
    hidden_sizes=(8,),
)
LEARNER = PPO(CONFIG)
GAME = LEARNER.env
SHAPE = (CONFIG.rollout_length, CONFIG.num_envs)

init = jax.jit(LEARNER.init)
iterate = jax.jit(chex.assert_max_traces(LEARNER.iterate, n=1))  # fails in any test that traces it again
apply = jax.jit(LEARNER.policy.apply)
minibatch_of = jax.jit(functools.partial(ppo.minibatch_of, GAME))


def key(seed: int) -> jax.Array:
    return jax.random.key(seed)


@dataclasses.dataclass(frozen=True)
class Collected:
    train_state: TrainState  # that played
    after: TrainState  # the same, with the boards and the key after the steps
    steps: Transition  # [rollout_length, num_envs]
    advantages: np.ndarray  # that the update was given
    updated: tuple[TrainState, dict[str, jax.Array]]  # after the update, with its metrics


@jax.jit
def parts(train_state: TrainState) -> Any:
    """The public parts of an iteration."""
    after, steps = LEARNER.collect(train_state)
    steps, advantages = LEARNER.advantages(after.params, steps)
    return after, steps, advantages, LEARNER.update(after, steps, advantages)


@pytest.fixture(scope="module")
def collected() -> Collected:
    """An iteration of a policy with random biases: no value and no logit is trivial."""
    train_state = init(key(0))
    rng = np.random.default_rng(0)
    noise = jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.normal(size=leaf.shape), jnp.float32), train_state.params)
    train_state = train_state._replace(params=noise)
    after, steps, advantages, updated = parts(train_state)
    steps, advantages = jax.device_get((steps, advantages))
    assert steps.terminated.any()  # without both ends of games, the tests here would prove little
    assert steps.truncated[:-1].any()
    assert not steps.truncated[-1].all()
    return Collected(train_state, after, steps, advantages, updated)


@pytest.fixture(scope="module")
def finals(collected: Collected) -> list[list[jaxgames.State]]:
    """The rollout's actions played again, one plain board at a time: the board after each step, [step][board]."""
    start, step = jax.device_get(GAME.init(key(0))), jax.jit(GAME.step)
    columns: list[list[jaxgames.State]] = []
    for actions in np.asarray(collected.steps.action).T:
        state, column = start, list[jaxgames.State]()
        for action in actions:
            state = jax.device_get(step(state, action))
            column.append(state)
            state = start if state.terminated | state.truncated else state
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def stacked(boards: list[list[jaxgames.State]]) -> Any:
    """Leaves [rollout_length, num_envs, ...]."""
    rows = [jax.tree.map(lambda *leaves: np.stack(leaves), *row) for row in boards]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *rows)


def all_steps(collected: Collected) -> Minibatch:
    """The steps of the rollout as the loss reads them, leaves [rollout_length * num_envs, ...]."""
    steps, advantages = collected.steps, collected.advantages
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (steps, advantages, advantages + steps.value))
    return jax.device_get(minibatch_of(*flat))


# -- collect --------------------------------------------------------------------------------------------------


def test_stored_steps_are_those_of_the_game_replayed(collected: Collected, finals: list[list[jaxgames.State]]) -> None:
    """The board stored with each step is the one on which it was played."""
    steps, boards = collected.steps, stacked(finals)
    for name in ("terminated", "truncated"):
        np.testing.assert_array_equal(getattr(steps, name), getattr(boards, name))
    np.testing.assert_allclose(steps.rewards, boards.rewards / 5, rtol=1e-6)  # the largest reward is scaled to 1
    start = jax.tree.map(lambda x: np.broadcast_to(x, (1, CONFIG.num_envs, *x.shape)), GAME.init(key(0)))
    before = jax.tree.map(lambda first, rest: np.concatenate([first, rest[:-1]]), start, boards)
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


def test_values_and_log_probabilities_are_those_of_the_policy(collected: Collected) -> None:
    flat = all_steps(collected)
    logits, values = apply(collected.train_state.params, flat.observation, flat.seat)
    np.testing.assert_allclose(collected.steps.value.reshape(-1), values, rtol=1e-4, atol=1e-5)
    logits = np.where(flat.mask, np.asarray(logits, np.float64), -np.inf)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chosen = np.take_along_axis(log_probs, np.asarray(flat.action)[:, None], 1)[:, 0]
    np.testing.assert_allclose(flat.log_prob, chosen, rtol=1e-4, atol=1e-4)


# -- advantages and update ------------------------------------------------------------------------------------


def test_advantages_equal_their_definition(collected: Collected, finals: list[list[jaxgames.State]]) -> None:
    """Computed slowly from the games as they were played again. In this game a policy has the mover's value only."""
    boards = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), stacked(finals))
    observations = jax.jit(jax.vmap(GAME.observe))(boards)
    _, values = apply(collected.train_state.params, observations, boards.current_player)
    of_mover = np.broadcast_to(np.asarray(values).reshape(*SHAPE, 1), (*SHAPE, GAME.num_players))
    is_mover = boards.current_player.reshape(*SHAPE, 1) == np.arange(GAME.num_players)
    steps, has_target = collected.steps, np.asarray(collected.steps.has_target)
    for board in range(CONFIG.num_envs):
        slow, is_known = advantages_reference.per_seat_advantages(
            *(np.asarray(x)[:, board] for x in (steps.rewards, steps.value, steps.seat)),
            *(np.asarray(x)[:, board] for x in (steps.terminated, steps.truncated, of_mover, is_mover)),
            gamma=CONFIG.gamma,
            gae_lambda=CONFIG.gae_lambda,
        )
        np.testing.assert_allclose(collected.advantages[:, board], slow, rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(has_target[:, board], is_known)
    assert 0 < (~has_target).sum() < has_target.size / 8  # one of 24 steps of a board, and the truncated games


def test_iteration_updates_with_the_advantages_of_the_steps_that_it_collects(collected: Collected) -> None:
    expected, losses = collected.updated
    found, metrics = iterate(collected.train_state)
    assert int(found.iteration) == 1
    assert metrics.keys() == losses.keys() | {
        *("num_episodes", "episode_length", "episode_truncated_rate", "episode_draw_rate"),
        *(f"{name}/seat_{seat}" for name in ("episode_return", "episode_win_rate") for seat in range(2)),
    }
    assert losses.keys() == {
        *("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "explained_variance")
    }
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5), found.params, expected.params)
    for name, number in losses.items():
        np.testing.assert_allclose(metrics[name], number, rtol=1e-3, atol=1e-5, err_msg=name)


@pytest.fixture(scope="module")
def update_elsewhere() -> Any:
    """The update in the form for GPUs and TPUs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "library")
        yield jax.jit(lambda *given: LEARNER.update(*given))  # traced in this form


def test_update_on_a_gpu_is_that_on_a_cpu(collected: Collected, update_elsewhere: Any) -> None:
    """It observes the boards in every minibatch."""
    found = update_elsewhere(collected.after, collected.steps, collected.advantages)
    same = functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6)
    jax.tree.map(same, (found[0].params, found[1]), (collected.updated[0].params, collected.updated[1]))


def test_keys_of_a_rollout_and_of_an_update_are_not_used_again(collected: Collected, update_elsewhere: Any) -> None:
    """With another key, equal boards have other actions, and equal steps another order."""
    c = collected
    states = (c.train_state, c.after, c.updated[0])
    assert len({tuple(np.asarray(jax.random.key_data(each.key)).tolist()) for each in states}) == 3
    _, steps, *_ = parts(c.train_state._replace(key=c.after.key))
    assert (steps.action[0] != c.steps.action[0]).any()
    other, _ = update_elsewhere(c.after._replace(key=c.updated[0].key), c.steps, c.advantages)
    changed = jax.tree.map(lambda a, b: bool(np.any(np.abs(a - b) > 1e-4)), other.params, c.updated[0].params)
    assert jax.tree.all(changed)


# -- whole runs --------------------------------------------------------------------------------
