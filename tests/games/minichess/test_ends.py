"""Ends of games under standard rules, without repetition (`test_repetition.py`)."""

import pytest

import jaxgames
from tests.games.minichess.pictures import KING_CAPTURE, MATE, STALEMATE, STANDARD, drawn, other_side, read
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, is_over, legal, play


def test_checkmate_wins_for_either_colour() -> None:
    state = play(STANDARD, drawn(STANDARD, MATE), "e1e5")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1, -1]
    assert legal(STANDARD, state) == set()
    state = play(STANDARD, drawn(STANDARD, other_side(MATE), "b"), "e5e1")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [-1, 1]


def test_stalemate_is_a_draw() -> None:
    state = play(STANDARD, drawn(STANDARD, STALEMATE), "c2c4")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


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


def test_capture_that_leaves_too_little_material_draws() -> None:
    state = play(STANDARD, read(STANDARD, "k4/5/5/3r1/4K w - - 7 9"), "e1d2")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


@pytest.mark.parametrize(("rules", "limit"), [("standard", 256), ("king_capture", 200)])
def test_default_limit_truncates(rules: str, limit: int) -> None:
    env = jaxgames.make("minichess", rules=rules)
    assert env == jaxgames.make("minichess", rules=rules, max_plies=limit)
    assert env.max_steps == limit
    for ply, expected in [(limit - 2, LIVE), (limit - 1, TRUNCATED)]:
        state = drawn(env, MATE, "wb"[ply % 2], move=ply // 2 + 1)
        assert is_over(state) == LIVE
        state = play(env, state, "e1e2" if ply % 2 == 0 else "a5b5")
        assert is_over(state) == expected
        assert state.rewards.tolist() == [0, 0]
        assert bool(legal(env, state)) == (expected == LIVE)


def test_win_on_the_last_ply_is_no_truncation() -> None:
    env = jaxgames.make("minichess", max_plies=1)
    assert is_over(play(env, drawn(env, MATE), "e1e5")) == TERMINATED
    assert is_over(play(env, drawn(env, MATE), "e1e4")) == TRUNCATED
