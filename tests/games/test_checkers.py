"""The rules of checkers one by one, and the contract of the env that plays them.

Positions are drawn as boards are printed, Black (seat 0) on top and moving down; `b` and `w` are men, `B` and `W`
kings. The squares have PDN numbers:

    .  1  .  2  .  3  .  4
    5  .  6  .  7  .  8  .
    .  9  . 10  . 11  . 12
    13 . 14  . 15  . 16  .
    . 17  . 18  . 19  . 20
    21 . 22  . 23  . 24  .
    . 25  . 26  . 27  . 28
    29 . 30  . 31  . 32  .

Whole games beside other engines are in `test_checkers_games.py`.
"""

import dataclasses
import functools
import re
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import Env
from jaxgames.env import ParameterError
from tests.games.checkers.reference import Reference, other_side
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, compiled, is_over, legal, play

DRAW_RULES = ["wcdf", "openspiel"]


@functools.cache
def game(**parameters: Any) -> Env[Any]:
    return jaxgames.make("checkers", **parameters)


def written(picture: str, seat: int = 0, onward: int | None = None) -> str:
    """The text of a drawn position; `onward` is the square of the piece that must go on."""
    rows = [row.split() for row in picture.strip().splitlines()]
    assert [len(row) for row in rows] == [8] * 8
    assert all(set(row[i % 2 :: 2]) == {"."} for i, row in enumerate(rows)), "a piece on a light square"
    letters = [letter for i, row in enumerate(rows) for letter in row[1 - i % 2 :: 2]]
    sides = {"w": list[str](), "b": list[str]()}
    for number, letter in enumerate(letters, start=1):
        if letter != ".":
            sides[letter.lower()].append(f"{'K' if letter.isupper() else ''}{number}")
    must = "" if onward is None else f":J{onward}"
    return f"{'BW'[seat]}:W{','.join(sides['w'])}:B{','.join(sides['b'])}{must}"


def read(env: Env[Any], picture: str, seat: int = 0, onward: int | None = None) -> Any:
    return env.from_string(written(picture, seat, onward))


# -- the board and the pieces -------------------------------------------------------------------------------

START = """
    . b . b . b . b
    b . b . b . b .
    . b . b . b . b
    . . . . . . . .
    . . . . . . . .
    w . w . w . w .
    . w . w . w . w
    w . w . w . w .
"""


def test_black_starts_on_1_to_12_and_moves_first() -> None:
    env = game()
    state = env.init(jax.random.key(0))
    assert env.to_string(state) == written(START)
    assert int(state.current_player) == 0
    assert legal(env, state) == {"9-13", "9-14", "10-14", "10-15", "11-15", "11-16", "12-16"}


def test_seats_move_in_turn() -> None:
    env = game()
    state = play(env, env.init(jax.random.key(0)), "11-15")
    assert int(state.current_player) == 1
    assert legal(env, state) == {"21-17", "22-17", "22-18", "23-18", "23-19", "24-19", "24-20"}
    assert int(play(env, state, "23-18").current_player) == 0


def test_men_step_forward_and_kings_both_ways_and_neither_flies() -> None:
    picture = """
        . . . . . . . .
        . . . . . . . .
        . b . . . W . .
        . . . . . . . .
        . . . B . . . .
        . . . . . . . .
        . w . . . . . .
        . . . . . . . .
    """
    env = game()
    assert legal(env, read(env, picture)) == {"9-13", "9-14", "18-14", "18-15", "18-22", "18-23"}
    assert legal(env, read(env, picture, seat=1)) == {"25-21", "25-22", "11-7", "11-8", "11-15", "11-16"}


@pytest.mark.parametrize("seat", [0, 1])
def test_steps_stay_on_the_board(seat: int) -> None:
    """Kings on every edge: two ways to go, one from the single corners."""
    picture = """
        . K . . . . . K
        . . . . . . . .
        . . . . . . . .
        K . . . . . . .
        . . . . . . . K
        . . . . . . . .
        . . . . . . . .
        K . . . . . K .
    """
    env = game()
    state = read(env, picture.replace("K", "BW"[seat]), seat)
    edges = {"1-5", "1-6", "4-8", "13-9", "13-17", "20-16", "20-24", "29-25", "32-27", "32-28"}
    assert legal(env, state) == edges


# -- captures -----------------------------------------------------------------------------------------------

CHOICE = """
    . b . . . . . .
    b . . . . . b .
    . w . . . w . .
    . . . . . . . .
    . . . w . . . .
    . . . . . . . .
    . . . . . . . w
    . . . . . . . .
"""


def test_who_can_capture_must_and_may_choose() -> None:
    """The man on 1 has to wait, and the longer capture is not asked for."""
    env = game()
    assert legal(env, read(env, CHOICE)) == {"5x14", "8x15"}


def test_the_same_piece_must_go_on_capturing() -> None:
    """One jump is one ply: after 8x15 the same seat moves again, and 5x14 has to wait."""
    env = game()
    state = play(env, read(env, CHOICE), "8x15")
    assert int(state.current_player) == 0
    assert legal(env, state) == {"15x22"}
    assert env.to_string(state) == "B:W9,18,28:B1,5,15:J15"
    state = play(env, state, "15x22")
    assert env.to_string(state) == "W:W9,28:B1,5,22"
    assert int(state.current_player) == 1


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("B:W32:B6,10", {"6-9", "10-14", "10-15"}),  # not over one's own piece
        ("B:W10,15,32:B6", {"6-9"}),  # not over two
        ("B:W15,32:B6", {"6-9", "6-10"}),  # not over an empty square
        ("B:W13,32:B9", {"9-14"}),  # not over the edges
        ("B:W28:BK24", {"24-19", "24-20", "24-27"}),
        ("W:WK12:B3,8", {"12-16"}),
    ],
)
def test_a_jump_needs_an_opponent_and_an_empty_square_behind(text: str, moves: set[str]) -> None:
    env = game()
    assert legal(env, env.from_string(text)) == moves


def test_men_capture_forward_only_and_kings_both_ways() -> None:
    picture = """
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . w . . . . .
        . . . b . . . .
        . . w . . . . .
        . . . . . . . .
        . . . . . . . .
    """
    env = game()
    assert legal(env, read(env, picture)) == {"18x25"}
    assert legal(env, read(env, picture.replace("b", "B"))) == {"18x9", "18x25"}
    assert legal(env, read(env, picture, seat=1)) == {"22x15"}
    assert legal(env, read(env, picture.replace("w", "W"), seat=1)) == {"22x15", "14x23"}


def test_a_king_may_come_back_to_where_it_started() -> None:
    """All four pieces leave the board at once, and the square of origin is empty meanwhile."""
    picture = """
        . . . . . . . .
        . . B . . . . .
        . w . w . . . .
        . . . . . . . .
        . w . w . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . w .
    """
    env = game()
    state = read(env, picture)
    assert legal(env, state) == {"6x13", "6x15"}
    state = play(env, state, "6x15", "15x22", "22x13", "13x6")
    assert env.to_string(state) == "W:W32:BK6"


def test_a_piece_is_captured_once() -> None:
    """It leaves the board with the jump, so that the king cannot go back over it."""
    env = game()
    state = play(env, env.from_string("B:W10,32:BK6"), "6x15")
    assert env.to_string(state) == "W:W32:BK15"


def test_a_step_ends_the_turn_next_to_an_opponent() -> None:
    """Jumping on is asked for at the end of a jump only."""
    env = game()
    state = play(env, env.from_string("W:W17,32:B9,10"), "17-14")
    assert int(state.current_player) == 0
    assert env.to_string(state) == "B:W14,32:B9,10"


# -- crowning -----------------------------------------------------------------------------------------------


def test_a_man_that_reaches_the_king_row_is_crowned() -> None:
    env = game()
    assert env.to_string(play(env, env.from_string("B:W1:B25"), "25-29")) == "W:W1:BK29"
    assert env.to_string(play(env, env.from_string("W:W8:B21"), "8-3")) == "B:WK3:B21"


def test_crowning_ends_the_turn_in_the_middle_of_a_capture() -> None:
    """A king could go on with 31x24."""
    picture = """
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . {} . . . . .
        . . . w . w . .
        . . . . . . . .
    """
    env = game()
    state = play(env, read(env, picture.format("b")), "22x31")
    assert env.to_string(state) == "W:W27:BK31"
    state = play(env, read(env, picture.format("B")), "22x31")
    assert env.to_string(state) == "B:W27:BK31:J31"
    assert legal(env, state) == {"31x24"}


def test_kings_are_kept_apart_from_men() -> None:
    """A king stays one when it moves, its square is a man's when a man comes there, and a captured king is gone."""
    env = game()
    state = play(env, env.from_string("B:W32:B10,K14"), "14-17", "32-28", "10-14")
    assert env.to_string(state) == "W:W28:B14,K17"
    state = play(env, env.from_string("B:WK18,32:B9,14"), "14x23", "32-28", "9-14", "28-24", "14-18")
    assert env.to_string(state) == "W:W24:B18,23"


# -- the end of the game ------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw_rule", DRAW_RULES)
@pytest.mark.parametrize("winner", [0, 1])
@pytest.mark.parametrize(
    ("text", "ply"),
    [
        ("B:W18:B14", "14x23"),  # the last piece is captured
        ("B:W28:B19,20", "20-24"),  # the last piece cannot move: 28x19 has no room
        ("B:W28,K32:B19,20,K23,K27", "20-24"),  # a king is fenced in too
    ],
)
def test_who_cannot_move_loses(text: str, ply: str, winner: int, draw_rule: str) -> None:
    env = game(draw_rule=draw_rule)
    if winner == 1:
        text = other_side(text)
        ply = "".join(part if part in "-x" else str(33 - int(part)) for part in re.split("([-x])", ply))
    state = play(env, env.from_string(text), ply)
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1 - 2 * winner, 2 * winner - 1]
    assert legal(env, state) == set()
    assert int(state.current_player) == 1 - winner


def test_nobody_wins_while_the_opponent_can_move() -> None:
    env = game()
    state = play(env, env.from_string("B:W28:B19,20"), "19-24")
    assert is_over(state) == LIVE
    assert state.rewards.tolist() == [0, 0]
    assert legal(env, state) == {"28x19"}


@pytest.mark.parametrize(("draw_rule", "limit"), [("wcdf", 80), ("openspiel", 40)])
def test_kings_that_shuffle_draw(draw_rule: str, limit: int) -> None:
    env = game(draw_rule=draw_rule)
    state = env.from_string("B:WK32:BK1")
    for ply in range(limit):
        assert is_over(state) == LIVE, ply
        state = play(env, state, ("1-5", "32-28", "5-1", "28-32")[ply % 4])
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]
    assert legal(env, state) == set()


def after_quiet_plies(env: Env[Any], text: str, plies: int) -> Any:
    """A position after so many plies that did not put off the draw."""
    return dataclasses.replace(env.from_string(text), quiet=jnp.int16(plies))


@pytest.mark.parametrize(
    ("draw_rule", "ply", "expected"),
    [
        ("wcdf", "1-6", (TERMINATED, [0, 0])),  # a king's move
        ("wcdf", "9-13", (LIVE, [0, 0])),  # a man's move
        ("openspiel", "1-6", (TERMINATED, [0, 0])),
        ("openspiel", "9-13", (TERMINATED, [0, 0])),
    ],
)
def test_which_moves_put_off_the_draw(draw_rule: str, ply: str, expected: tuple[Any, list[int]]) -> None:
    """One ply before the limit. A man's move counts for the federation only."""
    env = game(draw_rule=draw_rule)
    last = 79 if draw_rule == "wcdf" else 39
    state = play(env, after_quiet_plies(env, "B:W32:BK1,9", last), ply)
    assert (is_over(state), state.rewards.tolist()) == expected


@pytest.mark.parametrize("text", ["B:W18,32:B14", "B:W18,32:BK14", "B:W18,27:BK14"])
@pytest.mark.parametrize(("draw_rule", "limit"), [("wcdf", 80), ("openspiel", 40)])
def test_a_capture_puts_off_the_draw(draw_rule: str, limit: int, text: str) -> None:
    """By a man, a king, and the first jump of two; from then on it is counted from the start."""
    env = game(draw_rule=draw_rule)
    state = play(env, after_quiet_plies(env, text, limit - 1), "14x23")
    assert is_over(state) == LIVE or "27" in text
    state = play(env, after_quiet_plies(env, "B:WK18,K32:BK1,K14", limit - 1), "14x23")
    for ply in range(limit):
        assert is_over(state) == LIVE, ply
        state = play(env, state, ("32-28", "1-5", "28-32", "5-1")[ply % 4])
    assert is_over(state) == TERMINATED


@pytest.mark.parametrize(("draw_rule", "rewards"), [("wcdf", [1, -1]), ("openspiel", [0, 0])])
def test_a_win_on_the_last_quiet_ply(draw_rule: str, rewards: list[int]) -> None:
    """The federation's game is over with the blocked side's loss; OpenSpiel asks for the draw first."""
    env = game(draw_rule=draw_rule)
    last = 79 if draw_rule == "wcdf" else 39
    state = play(env, after_quiet_plies(env, "B:W28:BK19,K20", last), "20-24")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == rewards
    assert play(env, after_quiet_plies(env, "B:W28:BK19,K20", last - 1), "20-24").rewards.tolist() == [1, -1]


@pytest.mark.parametrize("draw_rule", DRAW_RULES)
def test_max_plies_truncate(draw_rule: str) -> None:
    """A jump is a ply, and a capture is cut off as well."""
    env = game(draw_rule=draw_rule, max_plies=3)
    state = play(env, env.init(jax.random.key(0)), "11-15", "22-18")
    assert is_over(state) == LIVE
    state = play(env, state, "15x22")
    assert is_over(state) == TRUNCATED
    assert state.rewards.tolist() == [0, 0]
    assert legal(env, state) == set()
    assert is_over(play(game(max_plies=4), env.init(jax.random.key(0)), "11-15", "22-18", "15x22")) == LIVE

    state = play(game(max_plies=1), read(game(max_plies=1), CHOICE), "8x15")
    assert is_over(state) == TRUNCATED
    assert int(state.current_player) == 0


@pytest.mark.parametrize(("text", "ply", "reward"), [("B:W18:B14", "14x23", 1), ("B:WK32:BK1", "1-5", 0)])
def test_an_end_by_the_rules_is_no_truncation(text: str, ply: str, reward: int) -> None:
    env = game(max_plies=1)
    state = play(env, after_quiet_plies(env, text, 79), ply)
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [reward, -reward]


# -- illegal actions and finished boards ----------------------------------------------------------------------


def test_every_action_is_legal_by_the_mask_or_ends_the_game() -> None:
    """In the start, before and within a capture, for both seats: what the mask leaves out costs the mover 1."""
    env = game()
    texts = [written(START), written(START, seat=1), written(CHOICE), "B:W9,18,28:B1,5,15:J15", "W:WK9,18:B1,K14,15"]
    actions = np.array([*range(-5, 135), 2**31 - 1, -(2**31)], np.int32)
    step = jax.jit(jax.vmap(lambda state, action: env.step(state, action), in_axes=(None, 0)))
    for text in texts:
        state = env.from_string(text)
        mover = int(state.current_player)
        expected = np.isin(actions, np.flatnonzero(compiled(env)[1](state)))
        after = step(state, actions)
        fined = np.where(expected, 0, -1)
        np.testing.assert_array_equal(after.rewards[:, mover], fined)
        np.testing.assert_array_equal(after.rewards[:, 1 - mover], -fined)
        np.testing.assert_array_equal(after.terminated, ~expected)
        first = int(np.flatnonzero(~expected)[0])
        assert env.to_string(jax.tree.map(lambda leaf, i=first: leaf[i], after)) == text


def finished(how: str) -> Any:
    env = game(max_plies=None if how != "truncated" else 1)
    if how == "won":
        return play(env, env.from_string("B:W18:B14"), "14x23")
    if how == "drawn":
        return play(env, after_quiet_plies(env, "B:WK32:BK1", 79), "1-5")
    if how == "truncated":
        return play(env, env.init(jax.random.key(0)), "11-15")
    return compiled(env)[0](env.init(jax.random.key(0)), jnp.int32(-1))


@pytest.mark.parametrize("how", ["won", "drawn", "truncated", "illegal"])
def test_a_finished_board_is_frozen_and_pays_nothing(how: str) -> None:
    env, state = game(max_plies=None if how != "truncated" else 1), finished(how)
    step, mask = compiled(env)
    assert bool(state.rewards.any()) == (how in ("won", "illegal"))
    once = step(state, jnp.int32(0))
    assert not once.rewards.any()
    chex.assert_trees_all_equal(once, dataclasses.replace(state, rewards=jnp.zeros(2)))
    for action in [-1, 7, 4 * 21, 127, 128]:
        chex.assert_trees_all_equal(step(state, jnp.int32(action)), once)
    assert not mask(once).any()


# -- views --------------------------------------------------------------------------------------------------


def test_the_view_of_a_capture_from_both_sides() -> None:
    """Own men, own kings, the opponent's, the piece that must go on; [i // 4, i % 4], upside down for seat 0."""
    picture = """
        . b . . . . . W
        . . . . . . . .
        . . . . . . . .
        b . b . . . . .
        . . . w . . . .
        . . . . . . . .
        . . . w . . . .
        B . . . . . . .
    """
    env = game()
    state = read(env, picture, onward=14)
    # printed: black men on 1, 13, 14, a king on 29; white men on 18, 26, a king on 4
    men_0, kings_0, men_1, kings_1, jumper = {(0, 0), (3, 0), (3, 1)}, {(7, 0)}, {(4, 1), (6, 1)}, {(0, 3)}, {(3, 1)}

    def places(plane: np.ndarray) -> set[tuple[int, int]]:
        return {(int(row), int(column)) for row, column in np.argwhere(plane)}

    def upside_down(cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return {(7 - row, 3 - column) for row, column in cells}

    look = jax.jit(env.observe)
    view = look(state, 1)
    assert [places(view[:, :, i]) for i in range(5)] == [men_1, kings_1, men_0, kings_0, jumper]
    for view in (look(state), look(state, 0)):
        assert view.shape == env.observation_shape == (8, 4, 5)
        assert view.dtype == bool
        expected = [upside_down(plane) for plane in (men_0, kings_0, men_1, kings_1, jumper)]
        assert [places(view[:, :, i]) for i in range(5)] == expected


def test_both_seats_see_the_same_start() -> None:
    env = game()
    state = env.init(jax.random.key(0))
    for seat in (0, 1, None):
        np.testing.assert_array_equal(env.observe(state, seat), env.observe(state))
    assert env.observe(state)[5:, :, 0].all()
    assert env.observe(state)[:3, :, 2].all()
    assert int(env.observe(state).sum()) == 24


# -- the env as a function ----------------------------------------------------------------------------------


@pytest.mark.parametrize("draw_rule", DRAW_RULES)
def test_plain_properties_and_a_lean_state(draw_rule: str) -> None:
    env = game(draw_rule=draw_rule)
    assert (env.id, env.num_players, env.num_actions, env.observation_shape) == ("checkers", 2, 128, (8, 4, 5))
    assert env.reward_range == (-1, 1)
    assert env.zero_sum
    assert env.observation_support.all()
    state = jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))
    assert env.state_bytes == sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) == 36
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int32)
    assert (state.rewards.shape, state.rewards.dtype) == ((2,), jnp.float32)
    for flag in (state.terminated, state.truncated):
        assert (flag.shape, flag.dtype) == ((), jnp.bool_)


def test_the_draw_rule_bounds_every_game() -> None:
    """At most 22 captures leave both sides a piece; 24 men have 3 rows of 4 with 5, 6 and 7 rows to go, 144 in all."""
    assert game(draw_rule="openspiel").max_steps == 40 * 23
    assert game(draw_rule="wcdf").max_steps == 80 * (22 + 144 + 1)
    assert game(max_plies=100).max_steps == 100
    assert game(draw_rule="openspiel", max_plies=1000).max_steps == 920


def test_parameters_are_checked_and_named() -> None:
    env = game()
    assert env == game(draw_rule="wcdf", max_plies=None) == jaxgames.make("checkers(draw_rule=wcdf)")
    assert str(env) == "checkers(draw_rule='wcdf', max_plies=None)"
    assert jaxgames.make(str(game(draw_rule="openspiel", max_plies=7))) == game(draw_rule="openspiel", max_plies=7)
    assert len({env, game(max_plies=3), game(max_plies=None)}) == 2


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"draw_rule": "fmjd"}, "'wcdf', 'openspiel', not 'fmjd'"),
        ({"draw_rule": 80}, "'wcdf', 'openspiel', not 80"),
        ({"max_plies": 0}, "max_plies must be an integer from 1 to 1000000 or None, not 0"),
        ({"max_plies": 1_000_001}, "not 1000001"),
        ({"max_plies": 1.5}, "not 1.5"),
        ({"max_plies": True}, "not True"),
        ({"max_plies": "9"}, "not '9'"),
        ({"size": 10}, "draw_rule, max_plies"),
        ({"num_players": 2}, "draw_rule, max_plies"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], expected: str) -> None:
    with pytest.raises(ParameterError) as error:
        jaxgames.make("checkers", **parameters)
    assert expected in str(error.value)


# -- notation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seat", "text", "action"),
    [
        (0, "11-15", 4 * 21 + 0),
        (0, "11-16", 4 * 21 + 3),
        (1, "22-18", 4 * 21 + 0),
        (1, "22-17", 4 * 21 + 3),
        (1, "24-20", 4 * 23 + 0),
        (0, "15-10", 4 * 17 + 1),
    ],
)
def test_actions_are_numbered_in_the_movers_frame(seat: int, text: str, action: int) -> None:
    """index = 32 - PDN for seat 0 and PDN - 1 for seat 1; direction 0 is up-right, then clockwise."""
    env = game()
    state = env.from_string("BW"[seat] + written(START)[1:])
    assert env.action_from_string(state, text) == action
    assert env.action_to_string(state, action) == text


@settings(max_examples=60, deadline=None)
@given(choices=st.lists(st.integers(0, 10_000), max_size=120))
def test_what_is_written_reads_back(choices: list[int]) -> None:
    """Positions and actions of random play-outs."""
    env, reference = game(), Reference()
    position = reference.start()
    for choice in choices:
        moves = reference.legal(position)
        if moves:
            position = reference.step(position, list(moves)[choice % len(moves)], moves)
    text = reference.to_string(position)
    state = env.from_string(text)
    assert env.to_string(state) == text
    for action, move in reference.legal(position).items():
        assert env.action_to_string(state, action) == reference.move_to_string(move)
        assert env.action_from_string(state, reference.move_to_string(move)) == action


@settings(max_examples=60, deadline=None)
@given(
    seat=st.sampled_from("BW"),
    pieces=st.lists(st.sampled_from(["", "B", "BK", "W", "WK"]), min_size=32, max_size=32),
)
def test_any_placement_reads_back(seat: str, pieces: list[str]) -> None:
    """Reachable or not, with nothing paid, whichever side is written first; over if the side to move cannot."""
    white, black = (
        ",".join(piece[1:] + str(number) for number, piece in enumerate(pieces, start=1) if piece[:1] == side)
        for side in "WB"
    )
    env = game(max_plies=1)
    text = f"{seat}:W{white}:B{black}"
    state = env.from_string(text)
    assert env.to_string(state) == text
    chex.assert_trees_all_equal(env.from_string(f"{seat}:B{black}:W{white}"), state)
    assert not state.rewards.any()
    assert is_over(state) == (Reference().from_string(text).terminated, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B:W18:B", TERMINATED),  # White has captured the last piece
        ("W:W18:B", LIVE),
        ("W:W:B18", TERMINATED),
        ("B:W:B", TERMINATED),
        ("B:WK22,K30:B25,K29", TERMINATED),  # blocked
        ("W:WK22,K30:B25,K29", LIVE),
        ("B:W1:B30", TERMINATED),  # a man on its own king row has nowhere to go
        ("B:W15,16:B12", LIVE),
    ],
)
def test_from_string_knows_what_is_over(text: str, expected: tuple[bool, bool]) -> None:
    env = game(max_plies=5)
    assert is_over(env.from_string(text)) == expected


def test_text_forgets_the_counters() -> None:
    """PDN has no place for the plies played nor for those without progress: both begin again."""
    env = game(max_plies=100)
    state = play(env, env.from_string("B:WK32:BK1"), "1-5", "32-28")
    assert (int(state.ply), int(state.quiet)) == (2, 2)
    state = env.from_string(env.to_string(state))
    assert (int(state.ply), int(state.quiet)) == (0, 0)


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "position such as"),
        ("B", "'B'", "position such as"),
        ("B:W18", "'B:W18'", "position such as"),
        ("B:W18:W19", "'B:W18:W19'", "position such as"),
        ("B:18:19", "'B:18:19'", "position such as"),
        ("B:W18:B9:J9:", "'B:W18:B9:J9:'", "position such as"),
        ("b:W18:B9", "'b'", "side to move"),
        (":W18:B9", "''", "side to move"),
        ("B:W0:B9", "'0'", "1 to 32"),
        ("B:W33:B9", "'33'", "1 to 32"),
        ("B:W18,:B9", "''", "1 to 32"),
        ("B:W18, 19:B9", "' 19'", "1 to 32"),
        ("B:Wk18:B9", "'k18'", "1 to 32"),
        ("B:W18-20:B9", "'18-20'", "1 to 32"),
        ("B:W-1:B9", "'-1'", "1 to 32"),
        ("B:W18:B9.", "'9.'", "1 to 32"),
        ("B:W18:BK", "'K'", "1 to 32"),
        ("B:W18:B9,18", "18", "one piece a square"),
        ("B:W18,K18:B9", "18", "one piece a square"),
        ("B:W18:B14:14", "'14'", "must go on"),
        ("B:W18:B14:JK14", "'JK14'", "must go on"),
        ("B:W18:B14:J33", "'J33'", "must go on"),
        ("B:W18:B14:", "''", "must go on"),
        ("B:W18:B14:J15", "'J15'", "that can jump"),  # empty
        ("B:W18:B14:J18", "'J18'", "that can jump"),  # the opponent's
        ("B:W18:B13,14:J13", "'J13'", "that can jump"),  # has no jump
    ],
)
def test_a_wrong_position_is_explained(text: str, offending: str, expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        game().from_string(text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "'11-15'"),
        ("11", "'11'", "'11-15'"),
        ("11-", "'11-'", "'11-15'"),
        ("11 - 15", "'11 - 15'", "'11-15'"),
        ("11>15", "'11>15'", "'15x22'"),
        ("1x10x19", "'1x10x19'", "'15x22'"),
        ("0-5", "0", "1 to 32"),
        ("11-33", "33", "1 to 32"),
        ("11-11", "'11-11'", "next to 11"),
        ("11-18", "'11-18'", "next to 11"),
        ("12-13", "'12-13'", "next to 12"),
        ("14x18", "'14x18'", "diagonal from 14"),
        ("4x13", "'4x13'", "diagonal from 4"),
        ("11x18", "'11x18'", "no opponent on 15"),
        ("6x15", "'6x15'", "no opponent on 10"),
        ("14-18", "'14-18'", "over the opponent on 18"),
    ],
)
def test_a_wrong_action_is_explained(text: str, offending: str, expected: str) -> None:
    env = game()
    state = env.from_string("B:W18,32:B6,10,11,14")
    with pytest.raises(ValueError, match=r"expected|names no move here") as error:
        env.action_from_string(state, text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize("action", [-1, 128, 4 * 0 + 0, 4 * 4 + 3, 4 * 31 + 1])
def test_an_action_that_names_no_move_has_no_text(action: int) -> None:
    """Out of range, and over the edges of the board."""
    env = game()
    with pytest.raises(ValueError, match=str(action)):
        env.action_to_string(env.init(jax.random.key(0)), action)


def test_a_jump_over_the_edge_has_no_text() -> None:
    """17 is next to 13, behind which the board ends."""
    env = game()
    state = env.from_string("B:W13:B17")
    with pytest.raises(ValueError, match="leaves the board"):
        env.action_to_string(state, 4 * (32 - 17) + 1)


@pytest.mark.parametrize("text", [None, 7, b"11-15"])
def test_what_is_no_text_is_refused(text: Any) -> None:
    env = game()
    with pytest.raises(ValueError, match="expected a text"):
        env.from_string(text)
    with pytest.raises(ValueError, match="expected a text"):
        env.action_from_string(env.init(jax.random.key(0)), text)
