"""Winners and reasons: `env.winners` and `env.outcome` of all five games.

Positions are texts of finished boards: those of seats and orders that the ends in the cases of each game lack, which
tests/contract plays.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.env import Outcome

STAR = "chinese_checkers(size=1, num_players=2"
DIAMOND = "chinese_checkers_diamond(size=4, pieces=3"


@functools.cache
def program(env: Any, name: str) -> Callable[..., Any]:
    """A method of an env, compiled once."""
    return jax.jit(getattr(env, name))


def check(env: Any, state: Any, expected: Outcome) -> None:
    assert env.outcome(state) == expected
    assert np.flatnonzero(program(env, "winners")(state)).tolist() == list(expected.winners)


@pytest.mark.parametrize(
    ("game", "text", "winner", "reason"),
    [
        # After a step the seat before the mover has won, in a chain the mover itself.
        (f"{STAR})", "./..../.1./..../0 1 - 3", 0, "goal filled"),
        (f"{STAR})", "1/..../.0./..../. 0 - 3", 1, "goal filled"),
        (f"{STAR})", "./..../.1./..../0 0 5,12 3", 0, "goal filled"),
        (f"{STAR})", "1/..../.0./..../. 1 7,0 3", 1, "goal filled"),
        ("chinese_checkers(size=1, num_players=3)", "./..../.../1..2/0 1 - 3", 0, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "./..../.../..../0 1 - 3", 0, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "./..../.../1.../. 2 - 3", 1, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "2/..../.../..../. 3 - 3", 2, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "./...3/.../..../. 0 - 3", 3, "goal filled"),
        ("chinese_checkers(size=1, num_players=6)", "./..../.../..../0 1 - 3", 0, "goal filled"),
        ("chinese_checkers(size=1, num_players=6)", "./...5/.../..../. 0 - 3", None, ""),  # not the goal of seat 5
        ("chinese_checkers(size=1, num_players=6)", "./..../.../...5/. 0 - 3", 5, "goal filled"),
        # One own piece in the full goal is enough.
        (f"{DIAMOND})", "1.../..../...0/..10 1 3", 0, "goal filled"),
        (f"{DIAMOND})", "10../0.../..../..00 0 3", 1, "goal filled"),
        ("minichess", "k1R2/5/K4/5/5 b - - 100 90", 0, "checkmate"),  # before the draw
    ],
)
def test_winner_is_the_seat_that_the_rules_name(game: str, text: str, winner: int | None, reason: str) -> None:
    env: Any = jaxgames.make(game)
    expected = Outcome("live", (), "") if winner is None else Outcome("win", (winner,), reason)
    check(env, env.from_string(text), expected)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "game",
    [
        "chinese_checkers(size=1, num_players=3, reward=win_loss, max_rounds=9)",
        pytest.param("chinese_checkers(size=1, num_players=4, reward=win_loss, max_rounds=9)", marks=pytest.mark.slow),
        "dots_and_boxes(rows=2, cols=2)",
        # These compile for seconds.
        pytest.param("chinese_checkers_diamond(size=3, pieces=3, max_plies=40)", marks=pytest.mark.slow),
        pytest.param("checkers(max_plies=100)", marks=pytest.mark.slow),
        pytest.param("minichess(rules=king_capture, max_plies=50)", marks=pytest.mark.slow),
        pytest.param("minichess(max_plies=80)", marks=pytest.mark.slow),
    ],
)
def test_winner_has_the_highest_return_when_only_winning_pays(game: str, seed: int) -> None:
    """Random games. The winner is unique, its return positive, and nobody wins before the end or without one."""
    env: Any = jaxgames.make(game)
    states, winners, won_early, returns, over = random_games(env)(jax.random.split(jax.random.key(seed), 64))
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
