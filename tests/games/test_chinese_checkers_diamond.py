"""The rules of Chinese Checkers on the diamond one by one, and the contract of the env that plays them.

Positions are drawn as n rows of n cells, as they are written; on the board of size 5 the cells are numbered

     0  1  2  3  4
     5  6  7  8  9
    10 11 12 13 14       the neighbours of 12: 7 and 8 above, 11 and 13 beside, 16 and 17 below
    15 16 17 18 19
    20 21 22 23 24

Seat 0 starts in the corner of 0 and wants to fill the corner of 24. Whole games beside a slow reference are in
`test_chinese_checkers_diamond_games.py`, solved games in `test_chinese_checkers_diamond_solved.py`.
"""

import functools
import itertools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import Env, ParameterError
from tests.games.chinese_checkers_diamond_reference import Reference
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, compiled, is_over, legal, play

FITTING = {2: [1], 3: [1, 3], 4: [1, 3, 6]} | {size: [1, 3, 6, 10] for size in range(5, 10)}
ALL = [(size, pieces) for size, allowed in FITTING.items() for pieces in allowed]


@functools.cache
def game(size: int = 5, pieces: int = 3, **parameters: Any) -> Env[Any]:
    return jaxgames.make("chinese_checkers_diamond", size=size, pieces=pieces, **parameters)


def written(picture: str, seat: int = 0, ply: int = 0) -> str:
    """The text of a drawn position."""
    return f"{'/'.join(''.join(row.split()) for row in picture.strip().splitlines())} {seat} {ply}"


def read(env: Env[Any], picture: str, seat: int = 0, ply: int = 0) -> Any:
    return env.from_string(written(picture, seat, ply))


def legal_from(env: Env[Any], state: Any, origin: int) -> set[str]:
    """The legal moves of one piece in notation."""
    return {text for text in legal(env, state) if text.startswith(f"{origin}>")}


def moves(origin: int, *targets: int) -> set[str]:
    return {f"{origin}>{target}" for target in targets}


# -- the board and the seats --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "pieces", "start"),
    [
        (2, 1, "0./.1 0 0"),
        (3, 1, "0../.../..1 0 0"),
        (3, 3, "00./0.1/.11 0 0"),
        (4, 3, "00../0.../...1/..11 0 0"),
        (4, 6, "000./00.1/0.11/.111 0 0"),
        (5, 6, "000../00.../0...1/...11/..111 0 0"),
        (5, 10, "0000./000.1/00.11/0.111/.1111 0 0"),
        (6, 10, "0000../000.../00...1/0...11/...111/..1111 0 0"),
    ],
)
def test_the_homes_are_two_opposite_corners(size: int, pieces: int, start: str) -> None:
    env = game(size, pieces)
    assert env.to_string(env.init(jax.random.key(0))) == start


@pytest.mark.parametrize("size", FITTING)
def test_only_homes_that_do_not_meet_are_allowed(size: int) -> None:
    for pieces in (1, 3, 6, 10):
        if pieces in FITTING[size]:
            content = game(size, pieces).to_string(game(size, pieces).init(jax.random.key(0))).split()[0]
            assert content.count("0") == content.count("1") == pieces
        else:
            with pytest.raises(ParameterError, match=rf"pieces .* {', '.join(map(str, FITTING[size]))} .*not {pieces}"):
                game(size, pieces)


@pytest.mark.parametrize(("size", "pieces"), [(2, 1), (3, 3), (4, 6), (7, 6), (9, 6)])
def test_left_out_the_pieces_are_six_or_the_most_that_fit(size: int, pieces: int) -> None:
    assert jaxgames.make("chinese_checkers_diamond", size=size) == game(size, pieces)
    assert jaxgames.make("chinese_checkers_diamond", size=size, pieces=None) == game(size, pieces)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 1}, "size must be an integer from 2 to 9, not 1"),
        ({"size": 10}, "size must be an integer from 2 to 9, not 10"),
        ({"size": "4"}, "size must be an integer from 2 to 9, not '4'"),
        ({"pieces": 2}, "pieces must be one of 1, 3, 6, 10, not 2"),
        ({"pieces": True}, "pieces must be one of 1, 3, 6, 10, not True"),
        ({"pieces": "3"}, "pieces must be one of 1, 3, 6, 10, not '3'"),
        ({"size": 4, "pieces": 10}, "pieces must be one of 1, 3, 6 for size=4, where both homes fit, not 10"),
        ({"tip_lock": 1}, "tip_lock must be one of False, True, not 1"),
        ({"pieces": 3, "tip_lock": True}, "tip_lock=True is a rule for pieces=6 only, not for pieces=3"),
        ({"size": 3, "tip_lock": True}, "tip_lock=True is a rule for pieces=6 only, not for pieces=3"),
        ({"max_plies": 0}, "max_plies must be an integer from 1 to 1000000, not 0"),
        ({"max_plies": None}, "max_plies must be an integer from 1 to 1000000, not None"),
    ],
)
def test_wrong_parameters_are_explained(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        jaxgames.make("chinese_checkers_diamond", **parameters)
    assert message in str(error.value)


# -- moves --------------------------------------------------------------------------------------------------


def test_a_step_goes_to_one_of_six_neighbours() -> None:
    env = game()
    picture = """
        . . . . .
        . . . . .
        . . 0 . .
        . . . . .
        . . . . .
    """
    assert legal(env, read(env, picture)) == moves(12, 7, 8, 11, 13, 16, 17)


def test_a_step_stays_on_the_board_and_goes_to_an_empty_cell() -> None:
    """The corners on the two sides have three neighbours, those on top and at the bottom two; all six pieces block."""
    env = game()
    picture = """
        . . . . 0
        . . . . .
        . . . 1 0
        . . . . 1
        0 . . . .
    """
    state = read(env, picture)
    assert legal_from(env, state, 4) == moves(4, 3, 8, 9)
    assert legal_from(env, state, 20) == moves(20, 15, 16, 21)
    assert legal_from(env, state, 14) == moves(14, 9, 18, 12, 24)  # two steps and a hop over each 1
    corner = """
        . . . . .
        . . . . .
        . . . . .
        . . . . .
        . . . . 0
    """
    assert legal(env, read(env, corner)) == moves(24, 19, 23)


def test_the_opening_moves() -> None:
    env = game(4, 3)
    assert legal(env, env.init(jax.random.key(0))) == moves(0, 2, 8) | moves(1, 2, 5) | moves(4, 5, 8)


def test_a_hop_goes_over_any_piece_but_only_one_to_the_empty_cell_behind() -> None:
    """12 hops over its own 7 and a foreign 11; behind 13 stands 14, behind 16 stands 20, and 17 is empty."""
    env = game()
    picture = """
        . . . . .
        . . 0 . .
        . 1 0 1 1
        . 1 . . .
        1 . . . .
    """
    assert legal_from(env, read(env, picture), 12) == moves(12, 2, 10, 8, 17)


CHAIN = """
    . . . . .
    . . 1 . .
    . 1 . . .
    . . . . 0
    0 1 . . .
"""


def test_a_whole_chain_is_one_action_and_may_end_anywhere() -> None:
    """20 over 21 to 22, or a step. With a piece on 17 the chain goes on over it to 12, and from there to 2 or 10."""
    env = game()
    state = read(env, CHAIN)
    assert legal_from(env, state, 20) == moves(20, 15, 16, 22)
    longer = read(env, CHAIN.replace(". . . . 0", ". . 0 . ."))
    assert legal_from(env, longer, 20) == moves(20, 15, 16, 22, 12, 2, 10)
    after = play(env, longer, "20>2")
    picture = """
        . . 0 . .
        . . 1 . .
        . 1 . . .
        . . 0 . .
        . 1 . . .
    """
    assert env.to_string(after) == written(picture, seat=1, ply=1)


def test_a_chain_goes_round_corners_but_a_step_neither_begins_nor_ends_it() -> None:
    """A step to 6 or 10, followed by a hop, would lead 5 to other cells."""
    env = game()
    picture = """
        . . . . .
        0 . . . .
        . 0 . . .
        . . . . .
        . . . . .
    """
    assert legal_from(env, read(env, picture), 5) == moves(5, 0, 1, 6, 10)
    assert legal_from(env, read(env, picture), 11) == moves(11, 6, 7, 10, 12, 15, 16)


def test_a_chain_in_a_ring_passes_over_its_own_origin() -> None:
    """Three hops around 12 lead from 6 back to 6: 8 and 16 are reached in either direction, 6 itself is no move."""
    env = game()
    picture = """
        . . . . .
        . 0 1 . .
        . 1 1 . .
        . . . . .
        . . . . .
    """
    assert legal_from(env, read(env, picture), 6) == moves(6, 1, 2, 5, 10, 8, 16)


def test_a_piece_does_not_hop_over_its_own_lifted_self() -> None:
    """3 may hop over 2 to 1, and from there back, but not over where it came from; and 2 not over itself."""
    env = game(5, 1)
    picture = """
        . . 0 0 .
        . . . . .
        . . . . .
        . . . . .
        . . . . .
    """
    state = read(env, picture)
    assert legal_from(env, state, 3) == moves(3, 1, 4, 7, 8)
    assert legal_from(env, state, 2) == moves(2, 1, 4, 6, 7)


def snake(size: int) -> tuple[list[str], list[int]]:
    """Cells on which one chain can visit all of even row and column one after the other, and those that it visits."""
    content, last = ["."] * size**2, size - 1
    visited: list[int] = []
    for row in range(0, size, 2):
        line = [row * size + col for col in range(0, size, 2)]
        visited += line if row % 4 == 0 else line[::-1]
    for cell, following in itertools.pairwise(visited):
        content[(cell + following) // 2] = "1"
    content[0] = "0"
    assert visited[-1] == last * size + (last if last % 4 == 0 else 0)
    return content, visited


@pytest.mark.parametrize("size", [3, 5, 7, 9])
def test_the_longest_chain_there_is(size: int) -> None:
    """One hop after the other through all cells of even row and column, 24 of them on the largest board."""
    env = game(size, 1)
    content, visited = snake(size)

    def hops(content: list[str]) -> set[str]:
        rows = "/".join("".join(content[begin : begin + size]) for begin in range(0, size**2, size))
        return legal_from(env, env.from_string(f"{rows} 0 0"), 0) & moves(0, *visited)

    assert len(visited) == ((size + 1) // 2) ** 2
    assert hops(content) == moves(0, *visited[1:])
    for cut in range(1, len(visited)):  # every hop is needed
        shorter = content.copy()
        shorter[(visited[cut - 1] + visited[cut]) // 2] = "."
        assert hops(shorter) == moves(0, *visited[1:cut])


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("011/1../1.. 0 0", "0>0"),
        ("..0/..0/001 1 0", "8>8"),
        (".1./.../... 0 0", "0>0"),  # no pieces at all
        ("01./.../... 0 0", None),  # a hop
        ("011/1../... 0 0", None),
    ],
)
def test_who_has_no_move_passes(text: str, passes: str | None) -> None:
    """By a move from the tip of its home to itself, which is action 0; nobody else may pass."""
    env = game(3, 1)
    step, mask = compiled(env)
    state = env.from_string(text)
    if passes is None:
        assert not mask(state)[0]
        return
    assert legal(env, state) == {passes}
    assert env.action_from_string(state, passes) == 0
    after = step(state, jnp.int32(0))
    rows, seat, _ = text.split()
    assert env.to_string(after) == f"{rows} {1 - int(seat)} 1"
    assert after.rewards.tolist() == [0, 0]
    assert is_over(after) == LIVE


# -- the end of the game -------------------------------------------------------------------------------------


def test_a_full_goal_with_one_own_piece_wins() -> None:
    """The opponent's pieces that never left count."""
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        0 . . 1
        . 0 . 1
    """
    state = play(env, read(env, picture), "13>14")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1, -1]
    assert legal(env, state) == set()


def test_seat_1_wins_in_the_corner_of_seat_0() -> None:
    env = game(4, 3)
    picture = """
        1 1 . .
        . . . .
        1 . . .
        . 0 . .
    """
    state = play(env, read(env, picture, seat=1), "8>4")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [-1, 1]


def test_a_goal_full_of_the_opponents_pieces_is_not_won() -> None:
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        0 . . 1
        . 0 1 1
    """
    assert is_over(play(env, read(env, picture), "13>9")) == LIVE


def test_a_goal_with_a_hole_is_not_won() -> None:
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        0 . . .
        . 0 . 0
    """
    assert is_over(play(env, read(env, picture), "13>14")) == LIVE


def test_a_chain_through_the_goal_wins_only_if_it_ends_there() -> None:
    """13 hops over 14 into the last hole 15, and on over 11 to 7."""
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        . . . 0
        . 0 0 .
    """
    assert is_over(play(env, read(env, picture), "13>15")) == TERMINATED
    assert is_over(play(env, read(env, picture), "13>7")) == LIVE


def test_who_has_won_already_when_it_moves_must_keep_the_goal_full() -> None:
    """No game leads there. The last mover was the other, so nothing is over; the win is looked for after a move."""
    env = game(4, 3)
    picture = """
        . . . .
        0 . . .
        . . . 0
        . . 0 1
    """
    state = read(env, picture)
    assert is_over(state) == LIVE
    assert is_over(play(env, state, "4>5")) == TERMINATED
    assert is_over(play(env, state, "14>13")) == LIVE


HOLE = """
    1 0 . . .
    . . . . .
    0 . . . .
    . . . . .
    . . . . .
"""


def test_nobody_fills_its_own_home_around_an_opponent() -> None:
    """10>5 would make seat 1 win. From within the home the hole only moves, and two holes are not yet filled."""
    env = game()
    assert legal_from(env, read(env, HOLE), 10) == moves(10, 11, 15, 6)
    assert "1>5" in legal(env, read(env, HOLE))
    assert "10>5" in legal(env, read(env, HOLE.replace("1 0", "0 0")))
    assert "10>5" in legal(env, read(env, HOLE.replace("1 0", "1 .")))


def test_it_does_not_matter_how_the_home_would_be_filled() -> None:
    """By a hop the move is illegal as well, but the chain may go on out of the hole again."""
    env = game()
    picture = """
        . 0 . . .
        1 . . . .
        0 . . . .
        . . . . .
        . . . . .
    """
    assert legal_from(env, read(env, picture), 10) == moves(10, 11, 15, 6, 2)
    assert moves(10, 0, 2) < legal_from(env, read(env, picture.replace("1 .", "0 .", 1)), 10)


def test_who_could_only_fill_its_home_passes() -> None:
    env = game(3, 3)
    picture = """
        1 1 1
        . 1 .
        0 1 1
    """
    assert legal(env, read(env, picture)) == {"0>0"}
    assert legal(env, read(env, picture.replace("1 1 1", ". 1 1", 1))) == {"6>3"}


# -- tip_lock ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "move", "locks"),
    [
        (".00../0..../.0.../...../.....", "11>10", True),  # the last of the four closes
        (".00../00.../...../0..../.....", "15>10", True),
        ("100../0..../.0.../...../.....", "11>10", False),  # the tip is not empty
        (".01../0..../.0.../...../.....", "11>10", False),  # the four are not all the owner's
        (".0.../0..../.0.../...../.....", "11>10", False),  # only three of the four
        (".00../0..../...../...../.....", "5>10", False),  # from one of the four to another
        ("000../0..../...../...../.....", "0>10", True),  # from the tip to the last of the four
        ("0.0../0..../0..../...../.....", "0>1", True),
        (".0.../.0.../...../...../.....", "1>2", False),
        (".00../0..../0..../...../.....", "1>0", False),  # a lock may be opened
        (".00../0..../0..../...../.....", "2>3", False),
        (".00../0..../0..../..0../.....", "17>18", True),  # but does not stay
        ("0..../.0.../..... /...../....0".replace(" ", ""), "6>1", False),
    ],
)
def test_tip_lock_forbids_to_lock_ones_own_tip(rows: str, move: str, locks: bool) -> None:
    for tip_lock in (False, True):
        env = game(5, 6, tip_lock=tip_lock)
        assert (move in legal(env, env.from_string(f"{rows} 0 0"))) == (not (locks and tip_lock))


def test_tip_lock_is_for_both_seats() -> None:
    env = game(5, 6, tip_lock=True)
    state = env.from_string("...../...../...1./....1/..11. 1 0")
    assert "13>14" not in legal(env, state)
    assert "13>8" in legal(env, state)


def test_a_chain_may_stop_on_the_way_to_a_lock_and_go_on_behind_it() -> None:
    """20 hops over 15 to 10, where it would lock the tip, and on over 11 to 12 or over 5 into the tip itself."""
    text = ".00../0..../.1.../1..../0.... 0 0"
    env = game(5, 6, tip_lock=True)
    assert legal_from(env, env.from_string(text), 20) == moves(20, 16, 21, 12, 0)
    assert legal_from(game(5, 6), env.from_string(text), 20) == moves(20, 16, 21, 12, 0, 10)


def test_whom_a_locked_tip_of_the_opponent_leaves_no_move_passes() -> None:
    """Such a position cannot arise; whatever seat 0 moves, it would go on."""
    picture = "0..../...../....1/....1/..11. 0 0"
    assert legal(game(5, 6, tip_lock=True), game(5, 6).from_string(picture)) == {"0>0"}
    assert legal(game(5, 6), game(5, 6).from_string(picture)) == moves(0, 1, 5)


# -- limits --------------------------------------------------------------------------------------------------


def test_max_plies_truncate() -> None:
    env = game(max_plies=3)
    state = env.init(jax.random.key(0))
    for ply in range(3):
        assert is_over(state) == LIVE, ply
        assert int(state.current_player) == ply % 2
        state = play(env, state, min(legal(env, state)))
    assert is_over(state) == TRUNCATED
    assert state.rewards.tolist() == [0, 0]
    assert legal(env, state) == set()
    assert env.max_steps == 3


def test_a_win_in_the_last_ply_is_no_truncation() -> None:
    env = game(4, 3, max_plies=8)
    text = "..../..../0..1/.0.1 0 7"
    assert is_over(play(env, env.from_string(text), "13>14")) == TERMINATED
    assert is_over(play(env, env.from_string(text), "13>9")) == TRUNCATED


def test_the_default_limit_is_200_plies() -> None:
    env = game()
    assert env == game(max_plies=200)
    rows = env.to_string(env.init(jax.random.key(0))).split()[0]
    assert is_over(env.from_string(f"{rows} 0 199")) == LIVE
    assert is_over(env.from_string(f"{rows} 0 200")) == TRUNCATED


# -- illegal actions and finished boards ---------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_an_illegal_action_ends_the_game_and_is_fined(seat: int) -> None:
    """A pass, a foreign piece, an empty cell, a way that is blocked, and all that is no action."""
    env = game(4, 3)
    step, mask = compiled(env)
    state = env.init(jax.random.key(0))
    if seat == 1:
        state = play(env, state, "0>8")
    cells = env.num_actions // 16
    no_actions = [-1, -17, env.num_actions, 2**31 - 1, -(2**31)]
    for action in [0, 15 * cells + 7, 6 * cells + 5, 0 * cells + 1, 0 * cells + 5, 1 * cells + 1, *no_actions]:
        after = step(state, jnp.int32(action))
        assert after.rewards.tolist() == ([-1, 1] if seat == 0 else [1, -1])
        assert is_over(after) == TERMINATED
        assert env.to_string(after) == env.to_string(state)
        assert not mask(after).any()


def finished(how: str) -> Any:
    env = game(4, 3, max_plies=8)
    state = env.from_string("..../..../0..1/.0.1 0 7")
    if how == "illegal":
        return compiled(env)[0](state, jnp.int32(-1))
    return play(env, state, "13>14" if how == "won" else "13>9")


@pytest.mark.parametrize("how", ["won", "truncated", "illegal"])
def test_a_finished_board_is_frozen_and_pays_nothing(how: str) -> None:
    env, state = game(4, 3, max_plies=8), finished(how)
    step, mask = compiled(env)
    assert state.rewards.any() == (how != "truncated")
    once = step(state, jnp.int32(0))
    assert not once.rewards.any()
    for action in [-1, 7, 8 * 16 + 4, 7 * 16 + 3, env.num_actions]:
        chex.assert_trees_all_equal(step(state, jnp.int32(action)), once)
    assert env.to_string(once) == env.to_string(state)
    assert is_over(once) == is_over(state)
    assert not mask(once).any()


# -- views ---------------------------------------------------------------------------------------------------


def test_the_view_from_both_sides() -> None:
    """Own pieces and the opponent's; upside down for seat 1."""
    env = game(3, 1)
    state = env.from_string("01./..1/... 0 0")
    own, other = np.zeros((3, 3), bool), np.zeros((3, 3), bool)
    own[0, 0] = other[0, 1] = other[1, 2] = True
    look = jax.jit(env.observe)
    for view in (look(state), look(state, 0)):
        assert view.shape == env.observation_shape == (3, 3, 2)
        assert view.dtype == bool
        np.testing.assert_array_equal(view, np.stack([own, other], axis=-1))
    np.testing.assert_array_equal(look(state, 1), np.stack([other, own], axis=-1)[::-1, ::-1])
    after = play(env, state, "0>2")
    np.testing.assert_array_equal(look(after), look(after, 1))
    assert np.argwhere(look(after, 0)[..., 0]).tolist() == [[0, 2]]


@pytest.mark.parametrize(("size", "pieces"), [(4, 3), (7, 6), (9, 10)])
def test_both_seats_see_the_same_start(size: int, pieces: int) -> None:
    env = game(size, pieces)
    state = env.init(jax.random.key(0))
    np.testing.assert_array_equal(env.observe(state, 0), env.observe(state, 1))


# -- symmetries ----------------------------------------------------------------------------------------------


def crowds(size: int, boards: int, seed: int) -> np.ndarray:
    """int[boards, size, size], 0 and 1 for the seats' pieces and -1; every share of empty cells comes up."""
    rng = np.random.default_rng(seed)
    empty = rng.random((boards, 1, 1))
    content = np.where(rng.random((boards, size, size)) < empty, -1, rng.integers(0, 2, (boards, size, size)))
    homes = rng.random((boards, size, size)) < 0.8  # every second board is full in the corners
    line = np.add.outer(np.arange(size), np.arange(size))
    content[::2] = np.where(homes & (line < 3), rng.integers(0, 2), content)[::2]
    content[::2] = np.where(homes & (line > 2 * size - 5), rng.integers(0, 2), content)[::2]
    return content


def read_all(env: Env[Any], content: np.ndarray, seats: np.ndarray) -> Any:
    letters = np.array(["0", "1", "."])
    texts = ["/".join("".join(row) for row in letters[board]) for board in content]
    states = [env.from_string(f"{text} {seat} 7") for text, seat in zip(texts, seats, strict=True)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


@pytest.mark.parametrize(("size", "pieces", "tip_lock"), [(4, 3, False), (5, 6, True), (6, 6, True), (9, 10, False)])
def test_a_mirror_and_an_exchange_of_the_colours_change_nothing(size: int, pieces: int, tip_lock: bool) -> None:
    """Exchanging rows and columns mirrors the board. Turned, with the seats exchanged, it looks alike to the mover."""
    env = game(size, pieces, tip_lock=tip_lock)
    content, seats = crowds(size, 150, seed=size), np.arange(150) % 3 % 2
    cells = size * size
    mirrored = np.arange(cells).reshape(size, size).T.ravel()

    @jax.jit
    @jax.vmap
    def look(state: Any) -> Any:
        return env.legal_action_mask(state).reshape(cells, cells), env.observe(state), state.terminated

    masks, views, over = look(read_all(env, content, seats))
    assert 10 < np.count_nonzero(over) < 140
    masks_2, views_2, over_2 = look(read_all(env, content.transpose(0, 2, 1), seats))
    np.testing.assert_array_equal(masks[:, mirrored][:, :, mirrored], masks_2)
    np.testing.assert_array_equal(views.transpose(0, 2, 1, 3), views_2)
    np.testing.assert_array_equal(over, over_2)
    exchanged = np.where(content < 0, -1, 1 - content)[:, ::-1, ::-1]
    chex.assert_trees_all_equal(look(read_all(env, exchanged, 1 - seats)), (masks, views, over))


# -- the env as a function -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "pieces"), ALL)
def test_plain_properties_and_a_lean_state(size: int, pieces: int) -> None:
    """A bit a cell and side and a few bytes more: 26 bytes up to 4 x 4, 34 up to 8 x 8, 50 on 9 x 9."""
    env = game(size, pieces)
    assert env.id == "chinese_checkers_diamond"
    assert env.num_players == 2
    assert env.num_actions == size**4
    assert env.observation_shape == (size, size, 2)
    assert env.max_steps == 200
    assert env.reward_range == (-1, 1)
    assert env.zero_sum
    assert env.observation_support.all()
    assert env.state_bytes == (26 if size <= 4 else 34 if size <= 8 else 50)
    assert env.state_bytes <= size * size + 22
    state = jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int32)
    assert (state.rewards.shape, state.rewards.dtype) == ((2,), jnp.float32)
    for flag in (state.terminated, state.truncated):
        assert (flag.shape, flag.dtype) == ((), jnp.bool_)


def test_one_action_is_judged_as_the_mask_judges_it() -> None:
    """`step` fines exactly the actions that the mask leaves out, crowded boards and passes included."""
    env = game(3, 3)
    content = crowds(3, 60, seed=1)
    states = read_all(env, content, np.arange(60) % 2)

    @jax.jit
    @jax.vmap
    def judge(state: Any) -> Any:
        actions = jnp.arange(-3, env.num_actions + 3)
        fined = jax.vmap(lambda action: env.step(state, action).rewards[state.current_player] < 0)(actions)
        live = ~(state.terminated | state.truncated)
        return fined, live & jnp.ones_like(fined), jnp.pad(env.legal_action_mask(state), 3)

    fined, live, mask = judge(states)
    np.testing.assert_array_equal(fined, live & ~mask)


# -- notation ------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(board=st.sampled_from(ALL), choices=st.lists(st.integers(0, 10_000), max_size=40), data=st.data())
def test_what_is_written_reads_back(board: tuple[int, int], choices: list[int], data: st.DataObject) -> None:
    """Positions and actions of random play-outs, and actions that are not legal."""
    env, reference = game(*board), Reference(*board)
    position = reference.start()
    for choice in choices:
        legal = reference.legal(position)
        if legal:
            position = reference.step(position, list(legal)[choice % len(legal)], legal)
    text = reference.to_string(position)
    state = env.from_string(text)
    assert env.to_string(state) == text
    assert is_over(state) == (position.terminated, position.truncated)
    for action, move in reference.legal(position).items():
        assert env.action_to_string(state, action) == reference.move_to_string(position, move)
        assert env.action_from_string(state, reference.move_to_string(position, move)) == action
    action = data.draw(st.integers(0, env.num_actions - 1))
    assert env.action_from_string(state, env.action_to_string(state, action)) == action


@settings(max_examples=60, deadline=None)
@given(data=st.data(), size=st.integers(2, 9), seat=st.integers(0, 1), ply=st.integers(0, 199))
def test_any_placement_reads_back(data: st.DataObject, size: int, seat: int, ply: int) -> None:
    """Reachable or not, with any number of pieces a seat, and with nothing paid."""
    env = game(size, 1)
    cells = "".join(data.draw(st.lists(st.sampled_from(".01"), min_size=size**2, max_size=size**2)))
    text = f"{'/'.join(cells[i : i + size] for i in range(0, size**2, size))} {seat} {ply}"
    state = env.from_string(text)
    assert env.to_string(state) == text
    assert not state.rewards.any()
    assert not state.truncated
    assert bool(state.terminated) == (cells[0 if seat == 0 else -1] == str(1 - seat))


@pytest.mark.parametrize(
    ("rows", "seat", "ply", "expected"),
    [
        ("..../..../...0/..00", 1, 0, TERMINATED),  # seat 0 has just moved
        ("..../..../...0/..00", 0, 0, LIVE),  # seat 1 has
        ("..../..../...1/..10", 1, 0, TERMINATED),  # one piece is enough
        ("..../..../...1/..11", 1, 0, LIVE),
        ("..../..../...0/..0.", 1, 0, LIVE),
        ("11../1.../..../....", 0, 0, TERMINATED),
        ("10../0.../..../....", 0, 0, TERMINATED),
        ("00../0.../..../....", 0, 0, LIVE),
        ("11../1.../..../....", 1, 0, LIVE),
        ("..../..../...0/..00", 0, 199, LIVE),
        ("..../..../...0/..00", 0, 200, TRUNCATED),
        ("..../..../...0/..00", 0, 201, TRUNCATED),
        ("..../..../...0/..00", 1, 200, TERMINATED),  # never both
    ],
)
def test_from_string_knows_what_is_over(rows: str, seat: int, ply: int, expected: tuple[bool, bool]) -> None:
    env = game(4, 3)
    state = env.from_string(f"{rows} {seat} {ply}")
    assert is_over(state) == expected
    assert env.to_string(state) == f"{rows} {seat} {ply}"
    assert legal(env, state) == set() or expected == LIVE


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "three fields"),
        ("0./.1 0", "'0./.1 0'", "three fields"),
        ("0./.1 0 0 0", "'0./.1 0 0 0'", "three fields"),
        ("0. 0 0", "'0.'", "2 rows"),
        ("0./.1/ 0 0", "'0./.1/'", "2 rows"),
        ("0../.1 0 0", "'0..'", "2 cells in row 0"),
        ("0./1 0 0", "'1'", "2 cells in row 1"),
        ("0./.2 0 0", "'2'", "'.', '0' or '1'"),
        ("0./.x 0 0", "'x'", "'.', '0' or '1'"),
        ("0./.1 2 0", "'2'", "0 or 1"),
        ("0./.1 -1 0", "'-1'", "0 or 1"),
        ("0./.1 a 0", "'a'", "0 or 1"),
        ("0./.1 0 -1", "'-1'", "turns"),
        ("0./.1 0 1.5", "'1.5'", "turns"),
        ("0./.1 0 99999999999", "'99999999999'", "turns"),
        (7, "7", "a text"),
    ],
)
def test_a_wrong_position_is_explained(text: Any, offending: str, expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        game(2, 1).from_string(text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "'0>8'"),
        ("pass", "'pass'", "'0>8'"),
        ("1->6", "'1->6'", "'0>8'"),
        ("1>", "'1>'", "'0>8'"),
        ("1 > 6", "'1 > 6'", "'0>8'"),
        ("-1>6", "'-1>6'", "'0>8'"),
        ("1>16", "16", "0 to 15"),
        ("99>0", "99", "0 to 15"),
        (None, "None", "a text"),
    ],
)
def test_a_wrong_action_is_explained(text: Any, offending: str, expected: str) -> None:
    env = game(4, 3)
    with pytest.raises(ValueError, match="expected") as error:
        env.action_from_string(env.init(jax.random.key(0)), text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize("action", [-1, 256])
def test_an_action_out_of_range_has_no_text(action: int) -> None:
    env = game(4, 3)
    with pytest.raises(ValueError, match=rf"from 0 to 255, not {action}"):
        env.action_to_string(env.init(jax.random.key(0)), action)
