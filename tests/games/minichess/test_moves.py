"""Moves of pieces under standard rules: check, pins, pawns."""

import itertools

import pytest

import jaxgames
from tests.games.minichess.pictures import STANDARD, drawn, other_side, read
from tests.helpers.positions import legal, play, start


def test_white_moves_first_and_seats_move_in_turn() -> None:
    state = start(STANDARD)
    assert int(state.current_player) == 0
    state = play(STANDARD, state, "b1c3")
    assert int(state.current_player) == 1
    assert STANDARD.to_string(state) == "rnbqk/ppppp/2N2/PPPPP/R1BQK b - - 1 1"
    assert STANDARD.to_string(play(STANDARD, state, "d4c3")) == "rnbqk/ppp1p/2p2/PPPPP/R1BQK w - - 0 2"


# -- the king -----------------------------------------------------------------------------------------------


def test_check_must_be_answered() -> None:
    """The rook on e1 gives check: the king steps aside, bishop or knight captures, or the knight steps between."""
    picture = """
        . . . . k
        . b . . .
        . . . . .
        . . n . .
        K . . . R
    """
    assert legal(STANDARD, drawn(STANDARD, picture, "b")) == {"e5d5", "e5d4", "b4e1", "c2e1", "c2e3"}


def test_only_the_king_answers_a_double_check() -> None:
    """The knight on a1 may not capture one of the checking pieces."""
    picture = """
        k . . R .
        . . . . .
        . N . . .
        . . . . .
        n . K . r
    """
    assert legal(STANDARD, drawn(STANDARD, picture, "b")) == {"a5a4", "a5b4"}


def test_pinned_piece_stays_on_its_line() -> None:
    """The rook on c3 is pinned along the file, the pawn on d2 along the diagonal: it may only capture the bishop."""
    picture = """
        . . r . k
        . . . . .
        . . R . b
        . . . P .
        . . K . .
    """
    moves = legal(STANDARD, drawn(STANDARD, picture))
    assert {move for move in moves if move.startswith("c3")} == {"c3c2", "c3c4", "c3c5"}
    assert {move for move in moves if move.startswith("d2")} == {"d2e3"}


def test_king_may_not_flee_along_the_line_of_a_rook() -> None:
    """a2 lies behind the king as the rook sees it; c2 is next to the other king."""
    picture = """
        . . . . .
        . . . . .
        . . . k .
        . K . . r
        . . . . .
    """
    assert legal(STANDARD, drawn(STANDARD, picture)) == {"b2a1", "b2b1", "b2c1", "b2a3", "b2b3"}


def test_king_is_never_captured() -> None:
    """A position that cannot be reached: Black is in check and White is to move."""
    moves = legal(STANDARD, read(STANDARD, "k3R/5/K4/5/5 w - - 5 9"))
    assert moves
    assert not {move for move in moves if move.endswith("a5")}


# -- pawns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["w", "b"])
@pytest.mark.parametrize("promotion", ["all", "queen"])
def test_pawn_on_its_last_rank_becomes_a_piece_that_promotion_allows(side: str, promotion: str) -> None:
    """Ahead and by captures to both sides."""
    picture = """
        . n . r k
        . . P . .
        . . . . .
        . . . . .
        K . . . .
    """
    env = jaxgames.make("minichess", promotion=promotion)
    moves = ["c4b5", "c4c5", "c4d5"] if side == "w" else ["c2b1", "c2c1", "c2d1"]
    state = drawn(env, picture if side == "w" else other_side(picture), side)
    becomes = "qrbn" if promotion == "all" else "q"
    assert {move for move in legal(env, state) if move[0] == "c"} == {to + piece for to in moves for piece in becomes}
    for to, piece in itertools.product(moves, becomes):
        rows = env.to_string(play(env, state, to + piece)).split()[0]
        there = rows.split("/")[0 if side == "w" else 4].replace("1", ".").replace("2", "..").replace("3", "...")
        assert there["abcde".index(to[2])] == (piece.upper() if side == "w" else piece)
        assert ("P" if side == "w" else "p") not in rows


def test_double_step_starts_on_the_second_rank_and_passes_over_empty_cells() -> None:
    picture = """
        . . . . k
        p p . . .
        . . P . n
        P . . P P
        K . . . .
    """
    env = jaxgames.make("minichess", double_step=True)
    pawns = {move for move in legal(env, drawn(env, picture)) if move[0] in "cde" or move.startswith("a2")}
    assert pawns == {"a2a3", "c3b4", "c3c4", "d2d3", "d2d4", "d2e3"}
    blacks = {move for move in legal(env, drawn(env, picture, "b")) if move[0] in "ab"}
    assert blacks == {"a4a3", "b4b3", "b4c3", "b4b2"}
    assert "d2d4" not in legal(STANDARD, drawn(STANDARD, picture))


def test_double_step_leaves_no_pawn_to_capture_in_passing() -> None:
    env = jaxgames.make("minichess", double_step=True)
    state = play(env, read(env, "4k/5/1p3/P1P2/K4 w - - 0 1"), "c2c4")
    assert {move for move in legal(env, state) if move[0] == "b"} == {"b3b2", "b3a2"}


def test_illegal_underpromotion_has_a_text_too() -> None:
    """As an empty cell, the opponent's piece and a blocked line have."""
    env = jaxgames.make("minichess", promotion="queen")
    state = read(env, "4k/1P1R1/5/5/K4 w - - 0 1")
    for move in ["c3c4", "e5e4", "a1a5", "b4b5n"]:
        assert env.action_to_string(state, env.action_from_string(state, move)) == move
    assert not {"c3c4", "e5e4", "b4b5n"} & legal(env, state)
