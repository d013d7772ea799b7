"""`auto_reset` restarts a board in the step that finishes it and loses nothing of that step."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import auto_reset
from jaxgames.wrappers import AutoResetState, seat_discount
from tests.helpers.sticks import LuckySticks

GAME = jaxgames.make("chinese_checkers", size=1, num_players=2, max_rounds=5, reward="sparse")
ENV = auto_reset(GAME, keep_before_reset=True)
LEAN = auto_reset(GAME)
LUCKY = auto_reset(LuckySticks(), keep_before_reset=True)
KEY = jax.random.key(0)
BOARDS, STEPS = 16, 100

init = jax.jit(ENV.init)
mask_of = jax.jit(GAME.legal_action_mask)
step = jax.jit(ENV.step)


def same(a: Any, b: Any) -> bool:
    """Returns whether two pytrees hold the same values."""
    return jax.tree.all(jax.tree.map(lambda x, y: x.dtype == y.dtype and bool(np.all(x == y)), *jax.device_get((a, b))))


@jax.jit
def rollout(key: jax.Array) -> tuple[AutoResetState[Any], AutoResetState[Any], jax.Array, AutoResetState[Any], Any]:
    """Random play: states before and after each step, masks, and what LEAN and GAME return; [STEPS, BOARDS, ...]."""

    def body(states: AutoResetState[Any], key: jax.Array) -> Any:
        action_key, step_key = jax.random.split(key)
        mask = jax.vmap(ENV.legal_action_mask)(states)
        action = jax.vmap(jaxgames.random_action)(jax.random.split(action_key, BOARDS), mask)
        after = jax.vmap(ENV.step)(states, action, jax.random.split(step_key, BOARDS))
        lean = jax.vmap(LEAN.step)(dataclasses.replace(states, before_reset=None), action)
        expected = jax.vmap(GAME.step)(states.board, action)
        return after, (states, after, mask, lean, expected)

    begin = jax.vmap(ENV.init)(jax.random.split(key, BOARDS))
    return jax.lax.scan(body, begin, jax.random.split(key, STEPS))[1]


@pytest.fixture(scope="module")
def played() -> Any:
    return jax.device_get(rollout(KEY))


def test_draw_is_that_of_the_game() -> None:
    game = jaxgames.make("minichess")  # draws in a way of its own
    state, keys = game.init(), jax.random.split(KEY, 20)
    draw = jax.jit(
        jax.vmap(lambda key, env, state: env.random_legal_action(state, key), (0, None, None)), static_argnums=1
    )
    drawn = draw(keys, game, state)
    assert len({*drawn.tolist()}) > 3
    np.testing.assert_array_equal(draw(keys, auto_reset(game), auto_reset(game).init()), drawn)


# -- along random games: under vmap, scan and jit ------------------------------------------------------------


def test_board_restarts_in_the_step_that_finishes_it_and_else_is_that_of_the_game(played: Any) -> None:
    _, after, _, lean, expected = played
    over = np.asarray(expected.terminated | expected.truncated)
    assert after.terminated.any()  # the rollout holds both ends of a game
    assert after.truncated.any()
    start = GAME.init(KEY)
    for chosen, wanted in ((over, start), (~over, jax.tree.map(lambda x: x[~over], expected))):
        found = jax.tree.map(lambda x, chosen=chosen: x[chosen], after.board)
        assert same(found, jax.tree.map(lambda x, like: np.broadcast_to(x, like.shape), wanted, found))
    assert same(after.before_reset, expected)
    assert lean.before_reset is None
    assert same(dataclasses.replace(after, before_reset=None), lean)


def test_rewards_and_flags_are_those_of_the_last_step(played: Any) -> None:
    _, after, _, _, expected = played
    for name in ("rewards", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(after, name), getattr(expected, name))
    np.testing.assert_array_equal(after.current_player, after.board.current_player)
    assert (after.rewards[after.terminated].max(-1) == 5).all()  # the win is paid, not wiped by the restart


def test_sign_of_a_step_is_that_of_the_next_mover_before_the_restart(played: Any) -> None:
    """Pegs hop again here, and games end by the rules and by the limit. Wrapped and unwrapped states give the same."""
    before, after = played[:2]
    ahead = np.where(before.board.current_player == after.before_reset.current_player, 1, -1)
    expected = np.where(after.terminated, 0, ahead)
    assert set(np.unique(expected)) == {-1, 0, 1}
    for discount in (seat_discount(before, after), seat_discount(before.board, after.before_reset)):
        assert np.array_equal(discount, expected)
        assert discount.dtype == jnp.float32
    cut_off = dataclasses.replace(
        after.before_reset, current_player=1 - before.current_player, terminated=np.zeros_like(after.terminated)
    )
    assert (seat_discount(before, dataclasses.replace(after, before_reset=cut_off)) == -1).all()


# -- one board -----------------------------------------------------------------------------------------------

# Seat 0 stands next to its goal, the one cell at the bottom; seat 1 in the middle.
BEFORE_THE_WIN = "./..../.1./..0./. 0 - 3"


def test_illegal_action_pays_the_penalty_and_restarts_the_board() -> None:
    state = init(KEY)
    after = step(state, jnp.int32(GAME.num_actions))
    assert after.rewards.tolist() == [-1, 1]
    assert bool(after.terminated)
    assert mask_of(after.board).any()
    assert same(after.board, state.board)
    assert same(after.before_reset.board, state.board.board)  # the position stays


def test_new_state_has_a_live_board_before_and_after_the_reset() -> None:
    state = init(KEY)
    assert same(state.board, GAME.init(KEY))
    assert same(state.before_reset, state.board)
    results = state.rewards, state.terminated, state.truncated
    assert not any(np.any(result) for result in results)
    assert LEAN.state_bytes == GAME.state_bytes + sum(result.nbytes for result in results)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *(
            (call, ValueError, r"has no finished board: .* auto_reset\(env, keep_before_reset=True\)")
            for call in (
                lambda: LEAN.winners(LEAN.init()),
                lambda: LEAN.outcome(LEAN.init()),
                lambda: seat_discount(LEAN.init(), LEAN.init()),
            )
        ),
        (lambda: ENV.from_string("nothing"), ValueError, "four fields"),
        (lambda: auto_reset(ENV), TypeError, r"auto_reset\(chinese_checkers.* restarts finished boards already"),
        (lambda: LUCKY.step(LUCKY.init(KEY), jnp.int32(0)), ValueError, r"game of chance: step\(state, action, key\)"),
    ],
)
def test_wrong_call_is_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# -- delegated to the env inside -------------------------------------------------------------------------------


def test_plain_values_are_those_of_the_env_inside() -> None:
    """Except for `max_steps`: games of an `auto_reset` env never end."""
    names = [
        *("id", "version", "num_players", "num_actions", "observation_shape"),
        *("reward_range", "zero_sum", "terminal_rewards", "return_range", "needs_key"),
    ]
    for name in names:
        assert getattr(ENV, name) == getattr(GAME, name), name
    np.testing.assert_array_equal(ENV.observation_support, GAME.observation_support)
    assert auto_reset(LuckySticks()).needs_key
    assert GAME.max_steps is not None
    assert ENV.max_steps is None
    again = auto_reset(jaxgames.make(str(GAME)))
    assert (again, hash(again)) == (LEAN, hash(LEAN)), "a `jit` with the env as a static argument compiles once"
    assert ENV != LEAN
    assert str(LEAN) == f"auto_reset({GAME})"
    assert str(ENV) == f"auto_reset({GAME}, keep_before_reset=True)"


def test_texts_mask_and_observations_are_those_of_the_live_board() -> None:
    state = ENV.from_string(BEFORE_THE_WIN)
    assert ENV.to_string(state) == BEFORE_THE_WIN
    assert ENV.to_text(state) == GAME.to_text(state.board)
    np.testing.assert_array_equal(jax.jit(ENV.legal_action_mask)(state), mask_of(state.board))
    for seat in (None, 0, 1):
        np.testing.assert_array_equal(jax.jit(ENV.observe)(state, seat), GAME.observe(state.board, seat))
    win = ENV.action_from_string(state, "10->12")
    assert ENV.action_to_string(state, win) == "10->12"
    after = step(state, jnp.int32(win))
    assert ENV.to_string(after) == GAME.to_string(GAME.init(KEY))
    assert GAME.to_string(after.before_reset).startswith("./..../.1./..../0 ")


# -- games of chance -----------------------------------------------------------------------------------------


def test_chance_of_a_step_and_of_a_restart_depends_on_the_key() -> None:
    state = LUCKY.init(KEY)
    lucky_step = jax.jit(jax.vmap(LUCKY.step, in_axes=(None, None, 0)))
    for action, ends in ((0, False), (-1, True)):  # a step in the game; an illegal action, so that the next game begins
        keys = jax.random.split(jax.random.key(1), 8)
        after = lucky_step(state, jnp.int32(action), keys)
        luck = jax.random.key_data(after.board.luck)
        assert len(np.unique(luck, axis=0)) == 8
        np.testing.assert_array_equal(luck, jax.random.key_data(lucky_step(state, jnp.int32(action), keys).board.luck))
        assert after.terminated.all() == ends
        assert (after.before_reset.luck == state.board.luck).all() == ends
