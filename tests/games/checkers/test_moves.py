"""Steps, captures and crowning."""

import pytest

from tests.games.checkers.pictures import START, WCDF, drawn, read, written
from tests.helpers.positions import legal, play, start

# -- steps --------------------------------------------------------------------------------------------------


def test_black_starts_on_1_to_12_and_moves_first() -> None:
    state = start(WCDF)
    assert WCDF.to_string(state) == written(START)
    assert int(state.current_player) == 0
    assert legal(WCDF, state) == {"9-13", "9-14", "10-14", "10-15", "11-15", "11-16", "12-16"}


def test_seats_move_in_turn() -> None:
    state = play(WCDF, start(WCDF), "11-15")
    assert int(state.current_player) == 1
    assert legal(WCDF, state) == {"21-17", "22-17", "22-18", "23-18", "23-19", "24-19", "24-20"}
    assert int(play(WCDF, state, "23-18").current_player) == 0


def test_men_step_forward_and_kings_both_ways_by_one_square() -> None:
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
    assert legal(WCDF, drawn(picture)) == {"9-13", "9-14", "18-14", "18-15", "18-22", "18-23"}
    assert legal(WCDF, drawn(picture, seat=1)) == {"25-21", "25-22", "11-7", "11-8", "11-15", "11-16"}


@pytest.mark.parametrize("seat", [0, 1])
def test_steps_stay_on_the_board(seat: int) -> None:
    """Kings on every edge have two steps, those in the single corners one."""
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
    state = drawn(picture.replace("K", "BW"[seat]), seat)
    edges = {"1-5", "1-6", "4-8", "13-9", "13-17", "20-16", "20-24", "29-25", "32-27", "32-28"}
    assert legal(WCDF, state) == edges


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


def test_capture_is_compulsory_but_the_longest_is_not() -> None:
    """The man on 1 may not step. 8x15 would capture two pieces, 5x14 one: both are legal."""
    assert legal(WCDF, drawn(CHOICE)) == {"5x14", "8x15"}


def test_same_piece_must_continue_its_capture() -> None:
    """One jump is one ply: after 8x15 the same seat moves again, and 5x14 has to wait."""
    state = play(WCDF, drawn(CHOICE), "8x15")
    assert int(state.current_player) == 0
    assert legal(WCDF, state) == {"15x22"}
    assert WCDF.to_string(state) == "B:W9,18,28:B1,5,15:J15"
    state = play(WCDF, state, "15x22")
    assert WCDF.to_string(state) == "W:W9,28:B1,5,22"
    assert int(state.current_player) == 1


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("B:W32:B6,10", {"6-9", "10-14", "10-15"}),  # not over an own piece
        ("B:W10,15,32:B6", {"6-9"}),  # not over two pieces
        ("B:W15,32:B6", {"6-9", "6-10"}),  # not over an empty square
        ("B:W13,32:B9", {"9-14"}),  # not over the edges
        ("B:W28:BK24", {"24-19", "24-20", "24-27"}),
        ("W:WK12:B3,8", {"12-16"}),
    ],
)
def test_jump_needs_an_opponent_and_an_empty_square_behind(text: str, moves: set[str]) -> None:
    assert legal(WCDF, read(WCDF, text)) == moves


def test_men_capture_forward_and_kings_both_ways() -> None:
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
    assert legal(WCDF, drawn(picture)) == {"18x25"}
    assert legal(WCDF, drawn(picture.replace("b", "B"))) == {"18x9", "18x25"}
    assert legal(WCDF, drawn(picture, seat=1)) == {"22x15"}
    assert legal(WCDF, drawn(picture.replace("w", "W"), seat=1)) == {"22x15", "14x23"}


def test_king_may_return_to_the_square_that_it_left() -> None:
    """The square of origin is empty during the capture, and each captured piece leaves the board at once."""
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
    state = drawn(picture)
    assert legal(WCDF, state) == {"6x13", "6x15"}
    state = play(WCDF, state, "6x15", "15x22", "22x13", "13x6")
    assert WCDF.to_string(state) == "W:W32:BK6"


def test_piece_is_captured_once() -> None:
    """It leaves the board with the jump, so the king cannot jump back over it."""
    state = play(WCDF, read(WCDF, "B:W10,32:BK6"), "6x15")
    assert WCDF.to_string(state) == "W:W32:BK15"


def test_step_ends_the_turn_next_to_an_opponent() -> None:
    """Only a jump can be continued."""
    state = play(WCDF, read(WCDF, "W:W17,32:B9,10"), "17-14")
    assert int(state.current_player) == 0
    assert WCDF.to_string(state) == "B:W14,32:B9,10"


# -- crowning -----------------------------------------------------------------------------------------------


def test_man_that_reaches_the_king_row_is_crowned() -> None:
    assert WCDF.to_string(play(WCDF, read(WCDF, "B:W1:B25"), "25-29")) == "W:W1:BK29"
    assert WCDF.to_string(play(WCDF, read(WCDF, "W:W8:B21"), "8-3")) == "B:WK3:B21"


def test_crowning_ends_the_turn_within_a_capture() -> None:
    """A king would have to continue with 31x24."""
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
    state = play(WCDF, drawn(picture.format("b")), "22x31")
    assert WCDF.to_string(state) == "W:W27:BK31"
    state = play(WCDF, drawn(picture.format("B")), "22x31")
    assert WCDF.to_string(state) == "B:W27:BK31:J31"
    assert legal(WCDF, state) == {"31x24"}


def test_king_stays_a_king_and_its_square_does_not_crown() -> None:
    """A king moves as a king, a man that comes to a square where a king was stays a man, a captured king is gone."""
    state = play(WCDF, read(WCDF, "B:W32:B10,K14"), "14-17", "32-28", "10-14")
    assert WCDF.to_string(state) == "W:W28:B14,K17"
    state = play(WCDF, read(WCDF, "B:WK18,32:B9,14"), "14x23", "32-28", "9-14", "28-24", "14-18")
    assert WCDF.to_string(state) == "W:W24:B18,23"
