"""The winner of random games has the highest return where only winning pays.

Winners and reasons of single positions are in the cases of each game, for tests/contract.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames


@pytest.mark.parametrize(
    "game",
    [
        "chinese_checkers(size=1, num_players=3, reward=win_loss, max_rounds=9)",
        "dots_and_boxes(rows=2, cols=2)",
        *(
            pytest.param(game, marks=pytest.mark.slow)  # compiles for seconds
            for game in (
                "chinese_checkers(size=1, num_players=4, reward=win_loss, max_rounds=9)",
                "chinese_checkers_diamond(size=3, pieces=3, max_plies=40)",
                "checkers(max_plies=100)",
                "minichess(rules=king_capture, max_plies=50)",
                "minichess(max_plies=80)",
            )
        ),
    ],
)
def test_winner_has_the_highest_return_when_only_winning_pays(game: str) -> None:
    """Random games. The winner is unique, its return positive, and nobody wins before the end or without one."""
    env: Any = jaxgames.make(game)
    states, winners, won_early, returns, over = random_games(env)(jax.random.split(jax.random.key(0), 64))
    assert not won_early.any()
    np.testing.assert_array_equal(winners, (returns > 0) & np.asarray(states.terminated)[:, None])
    assert over.all()
    assert 0 < winners.sum() <= 64


@functools.cache
def random_games(env: Any) -> Callable[..., Any]:
    """A program that plays one game per key to its end.

    It returns the last state, its winners, whether `winners` named a seat on a live board, the returns, and whether the
    game ended.
    """

    def game(key: jax.Array) -> tuple[Any, ...]:
        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            state, winners, won_early, returns = carry
            mask = env.legal_action_mask(state)
            action = jnp.argmax(jnp.where(mask, jax.random.uniform(key, mask.shape), -1))
            live = ~(state.terminated | state.truncated)
            won_early |= live & winners.any()
            state = env.step(state, action.astype(jnp.int32))
            return (state, env.winners(state), won_early, returns + state.rewards), None

        nobody = jnp.zeros(env.num_players, bool)  # of a live board, as tests/contract has it
        start = (env.init(), nobody, jnp.bool_(False), jnp.zeros(env.num_players))
        steps = jax.random.split(key, min(env.max_steps, 150))
        (state, winners, won_early, returns), _ = jax.lax.scan(step, start, steps)
        return state, winners, won_early, returns, state.terminated | state.truncated

    return jax.jit(jax.vmap(game))
