"""Numbers of actions and PDN. The tests of every notation are in `tests/contract`."""

import chex
import jax
import pytest

import jaxgames
from tests.games.checkers.pictures import START, WCDF, read, written
from tests.helpers.positions import play


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
    state = read(WCDF, "BW"[seat] + written(START)[1:])
    assert WCDF.action_from_string(state, text) == action
    assert WCDF.action_to_string(state, action) == text


@pytest.mark.parametrize(
    ("white_first", "black_first"),
    [("B:W18,K30:B1,K9", "B:B1,K9:W18,K30"), ("W:W:B2", "W:B2:W"), ("B:W18:B14,15:J14", "B:B14,15:W18:J14")],
)
def test_either_side_may_be_written_first(white_first: str, black_first: str) -> None:
    chex.assert_trees_all_equal(
        jax.device_get(WCDF.from_string(white_first)), jax.device_get(WCDF.from_string(black_first))
    )


def test_text_does_not_record_the_counters() -> None:
    """PDN has no place for the plies played nor for those without progress: both are 0 when a text is read."""
    state = play(WCDF, read(WCDF, "B:WK32:BK1"), "1-5", "32-28")
    assert (int(state.ply), int(state.quiet)) == (2, 2)
    state = read(WCDF, WCDF.to_string(state))
    assert (int(state.ply), int(state.quiet)) == (0, 0)


def test_text_of_the_env_names_every_parameter() -> None:
    assert str(WCDF) == "checkers(draw_rule='wcdf', max_plies=None)"
    assert jaxgames.make("checkers(draw_rule=wcdf)") == WCDF
