"""An illegal action ends the game and pays the penalty: -1 to the mover, shared by the others. The position stays."""

import dataclasses
import functools
from typing import Any

import chex
import jax
import numpy as np

import jaxgames
from jaxgames import Env
from tests.contract.games import of_each_game
from tests.helpers.cases import Cases, Judged
from tests.helpers.positions import LIVE, board, compiled, is_over

OUT_OF_RANGE = [-(2**31), -17, -7, -5, -1, 2**31 - 1]  # besides the first numbers after the last action


def all_actions(env: Env[Any]) -> np.ndarray:
    """int32[num_actions + 9], every action in order, then numbers out of range."""
    return np.array([*range(env.num_actions + 3), *OUT_OF_RANGE], np.int32)


@functools.cache
def step_all(env: Env[Any]) -> Any:
    """The boards after every action on one board, compiled."""
    return jax.jit(jax.vmap(lambda state, action: env.step(state, action), in_axes=(None, 0)))


@of_each_game("judged", lambda cases: cases.judged)
def test_every_action_is_in_the_mask_or_pays_the_penalty(cases: Cases, judged: Judged) -> None:
    env = jaxgames.make(judged.env)
    state, actions = jax.device_get(env.from_string(judged.position)), all_actions(env)
    assert is_over(state) == LIVE
    legal = np.zeros(len(actions), bool)
    legal[: env.num_actions] = compiled(env).mask(state)
    after = jax.device_get(step_all(env)(state, actions))

    penalty = np.full(env.num_players, 1 / (env.num_players - 1), np.float32)
    penalty[state.current_player] = -1
    not_penalised = ~np.isclose(after.rewards, penalty).all(-1) | ~after.terminated
    assert not_penalised[legal].all(), "a legal action must not pay the penalty"
    penalised = board(after, ~legal)
    expected = dataclasses.replace(state, rewards=penalty, terminated=np.True_)
    expected = jax.tree.map(lambda leaf: np.broadcast_to(leaf, ((~legal).sum(), *np.shape(leaf))), expected)
    chex.assert_trees_all_close(penalised, expected, rtol=1e-6)  # the penalty is float32


@of_each_game("judged", lambda cases: [judged for judged in cases.judged if judged.illegal])
def test_named_action_is_illegal(cases: Cases, judged: Judged) -> None:
    """It is one of those that pay the penalty in the test above."""
    env = jaxgames.make(judged.env)
    state = jax.device_get(env.from_string(judged.position))
    mask = compiled(env).mask(state)
    for action in judged.illegal:
        number = env.action_from_string(state, action) if isinstance(action, str) else action
        assert number not in np.flatnonzero(mask), f"{action} must be illegal"
        assert number in all_actions(env)
