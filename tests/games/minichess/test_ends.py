"""Draws by quiet plies and by material. Other ends are in the cases, for tests/contract."""

import pytest

from tests.games.minichess.pictures import KING_CAPTURE, MATE, STANDARD, drawn, read
from tests.helpers.positions import LIVE, TERMINATED, is_over, play


@pytest.mark.parametrize(("quiet", "expected"), [(48, LIVE), (49, LIVE), (98, LIVE), (99, TERMINATED)])
def test_hundredth_quiet_ply_is_a_draw_and_the_fiftieth_is_not(quiet: int, expected: tuple[bool, bool]) -> None:
    state = play(STANDARD, drawn(STANDARD, MATE, quiet=quiet, move=60), "e1e2")
    assert is_over(state) == expected
    assert not state.rewards.any()


def test_checkmate_takes_precedence_over_the_hundredth_quiet_ply() -> None:
    state = play(STANDARD, drawn(STANDARD, MATE, quiet=99, move=60), "e1e5")
    assert state.rewards.tolist() == [1, -1]


@pytest.mark.parametrize(("move", "quiet"), [("d1d2", 0), ("a1b1", 58), ("c1b2", 58), ("c1e3", 0), ("d1e2", 0)])
def test_captures_and_pawn_moves_reset_the_count_of_quiet_plies(move: str, quiet: int) -> None:
    picture = """
        . . . . k
        . . . . .
        . . . . r
        . . . . n
        K . B P .
    """
    state = play(STANDARD, drawn(STANDARD, picture, quiet=57), move)
    assert STANDARD.to_string(state).split()[4] == str(quiet)


@pytest.mark.parametrize(
    ("rows", "dead"),
    [
        ("k4/5/5/5/4K", True),
        ("k4/5/5/5/3NK", True),
        ("kn3/5/5/5/4K", True),
        ("k4/5/5/5/3BK", True),
        ("kb3/5/5/5/4K", True),
        ("k4/5/5/5/3PK", False),
        ("kr3/5/5/5/4K", False),
        ("kq3/5/5/5/4K", False),
        ("kn3/5/5/5/3NK", False),
        ("k4/5/5/5/2NNK", False),
        ("k4/5/5/5/2BNK", False),
        ("k4/5/5/5/2BBK", False),
        ("kb3/5/5/5/3BK", True),  # b5 and d1 are both light
        ("k1b2/5/5/5/3BK", False),
        ("k1b2/3B1/4b/5/2B1K", True),  # any number on either side
        ("k1b2/3B1/4b/5/2BNK", False),
    ],
)
def test_too_little_material_to_mate_is_a_draw(rows: str, dead: bool) -> None:
    for side in "wb":
        assert is_over(read(STANDARD, f"{rows} {side} - - 0 1")) == (TERMINATED if dead else LIVE)
        assert is_over(read(KING_CAPTURE, f"{rows} {side} - - 0 1")) == LIVE
