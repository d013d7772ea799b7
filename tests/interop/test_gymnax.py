"""One seat as an environment of gymnax: its interface, restarts, limits, wrappers and ids."""

# pyright: reportMissingImports=false

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.interop.seat_play import games_by_id
from tests.helpers.blocks import REASON
from tests.helpers.sticks import ShortSticks, Sticks

gymnax: Any = pytest.importorskip("gymnax", reason=f"gymnax {REASON}")

from gymnax.wrappers import FlattenObservationWrapper, LogWrapper  # noqa: E402  # behind the skip
from gymnax.wrappers.compat import LegacyStepAPIWrapper  # noqa: E402

from jaxgames.interop.gymnax import SeatEnv, register_envs  # noqa: E402

STICKS = Sticks()
KEY = jax.random.key(0)
STEPS, BOARDS = 12, 8


@pytest.fixture(scope="module")
def env() -> SeatEnv:
    """A game that is cut off at times."""
    return SeatEnv(ShortSticks(), seat="random")


@functools.partial(jax.jit, static_argnames="env")
def rollout(env: SeatEnv, params: Any) -> Any:
    """Random legal play: what each step returns, and the observation, mask and time before it, [BOARDS, STEPS, ...]."""

    def one_board(key: jax.Array) -> Any:
        def step(carry: Any, key: jax.Array) -> Any:
            observation, state = carry
            action_key, step_key = jax.random.split(key)
            mask = env.action_mask(state)
            action = jaxgames.random_action(action_key, mask)
            after = env.step(step_key, state, action, params)
            return after[:2], (observation, mask, state.time, after[0], *after[2:])

        reset_key, key = jax.random.split(key)
        return jax.lax.scan(step, env.reset(reset_key, params), jax.random.split(key, STEPS))[1]

    return jax.vmap(one_board)(jax.random.split(KEY, BOARDS))


# -- the interface that gymnax's own tests use -----------------------------------------------------------------------


@pytest.mark.parametrize("id", [None, *(pytest.param(id, marks=pytest.mark.slow) for id in games_by_id())])
def test_base_api_of_gymnax(id: str | None, env: SeatEnv) -> None:
    """Shapes, spaces and names along random play, as the tests that gymnax has for each of its environments.

    For the last seat of every game.
    """
    made: Any = env, env.default_params
    if id:
        made = gymnax.make(id, seat=jaxgames.make(games_by_id()[id]).num_players - 1)
    env, params = made
    reset_key, *keys = jax.random.split(KEY, 51 if id else 4)
    observation, state = env.reset(reset_key, params)
    actions = env.action_space(params)
    assert actions.n == env.num_actions == env.game.num_actions
    assert observation.shape == env.observation_space(params).shape
    assert observation.dtype == env.observation_space(params).dtype
    for key in keys:
        observation, state, reward, terminated, truncated, info = env.step(key, state, actions.sample(key), params)
        assert env.observation_space(params).contains(observation)
        assert env.state_space(params).contains(state)
        assert (reward.shape, reward.dtype) == ((), jnp.float32)
        assert (terminated.dtype, truncated.dtype) == (jnp.bool_, jnp.bool_)
        assert info["final_observation"].shape == observation.shape
    assert str(env.game) == env.name


def test_every_game_has_an_id_and_a_game_of_a_user_gets_one() -> None:
    assert set(games_by_id()) <= set(gymnax.registered_envs)
    jaxgames.register("four_sticks", Sticks)
    register_envs()
    assert gymnax.make("jaxgames/FourSticks-v0", num_players=4)[0].game == Sticks(num_players=4)


# -- episodes --------------------------------------------------------------------------------------------------------


def test_finished_games_restart_in_the_same_step(env: SeatEnv) -> None:
    played = jax.device_get(rollout(env, env.default_params))
    observation, mask, time, after, reward, terminated, truncated, info = played
    over = terminated | truncated
    assert min(terminated.sum(), truncated.sum()) >= BOARDS / 2
    assert not np.any(terminated & truncated)
    assert (mask.any(-1) | over).all()  # a game that is over before the seat moves ends in its first step
    assert not reward[~terminated].any()  # sticks pay at the end only
    assert set(reward[terminated]) == {-1.0, 2.0}
    np.testing.assert_array_equal(time[:, 1:], np.where(over, 0, time + 1)[:, :-1])
    np.testing.assert_array_equal(observation[:, 1:], after[:, :-1])
    final = info["final_observation"]
    np.testing.assert_array_equal(final[~over], after[~over])
    assert not final[terminated][:, :, 0].any()  # no stick is left
    assert (final[truncated][:, :, 0].sum(-1) == 4).all()  # sticks left at the limit
    assert after[over][:, :, 0].any(-1).all()  # and in the new game there are some
    assert set(info["seat"].flat) == {0, 1, 2}


def test_params_limit_the_steps(env: SeatEnv) -> None:
    params: Any = env.default_params
    _, _, time, _, _, terminated, truncated, _ = jax.device_get(rollout(env, params.replace(max_steps_in_episode=1)))
    assert not time.any()
    np.testing.assert_array_equal(truncated, ~terminated)  # never both
    assert terminated.any()
    assert truncated.any()


# -- wrappers --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_wrappers_of_gymnax_work(env: SeatEnv) -> None:
    """The stack of PureJaxRL; its `step` returns one flag, `done`."""
    logged: Any = LogWrapper(FlattenObservationWrapper(env))
    wrapped: Any = LegacyStepAPIWrapper(logged)
    params = env.default_params
    observation, state = wrapped.reset(KEY, params)
    assert observation.shape == (np.prod(STICKS.observation_shape),)
    returned = 0.0
    for key in jax.random.split(KEY, 4):
        mask = wrapped.action_mask(state.env_state)
        observation, state, reward, done, info = wrapped.step(key, state, int(mask.argmax()), params)
        returned += float(reward)
        if done:
            assert float(info["returned_episode_returns"]) == returned
            return
    raise AssertionError("7 sticks are gone after 3 steps of a seat")
