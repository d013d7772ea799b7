"""The draw counter and what resets it. Other ends are in the cases, for tests/contract."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from jaxgames import Env
from tests.games.checkers.pictures import BY_DRAW_RULE, read
from tests.helpers.positions import LIVE, TERMINATED, is_over, play

LIMITS = [("wcdf", 80), ("openspiel", 40)]


def after_quiet_plies(env: Env[Any], text: str, plies: int) -> Any:
    """A position after that many plies that did not reset the draw counter."""
    return dataclasses.replace(read(env, text), quiet=np.int16(plies))


@pytest.mark.parametrize(
    ("draw_rule", "ply", "expected"),
    [
        ("wcdf", "1-6", TERMINATED),
        ("wcdf", "9-13", LIVE),
        ("openspiel", "1-6", TERMINATED),
        ("openspiel", "9-13", TERMINATED),
    ],
)
def test_mans_move_resets_the_draw_counter_of_the_federation_only(
    draw_rule: str, ply: str, expected: tuple[bool, bool]
) -> None:
    """One ply before the limit: 1-6 is a king's move, 9-13 a man's."""
    env = BY_DRAW_RULE[draw_rule]
    state = play(env, after_quiet_plies(env, "B:W32:BK1,9", dict(LIMITS)[draw_rule] - 1), ply)
    assert is_over(state) == expected
    assert state.rewards.tolist() == [0, 0]


@pytest.mark.parametrize("text", ["B:W18,32:B14", "B:W18,32:BK14", "B:W18,27:BK14"])
@pytest.mark.parametrize(("draw_rule", "limit"), LIMITS)
def test_capture_resets_the_draw_counter(draw_rule: str, limit: int, text: str) -> None:
    """By a man, by a king, and by the first jump of two."""
    env = BY_DRAW_RULE[draw_rule]
    state = play(env, after_quiet_plies(env, text, limit - 1), "14x23")
    assert int(state.quiet) == 0
    assert is_over(state) == LIVE


@pytest.mark.parametrize(("draw_rule", "rewards"), [("wcdf", [1, -1]), ("openspiel", [0, 0])])
def test_win_on_the_last_quiet_ply_counts_for_the_federation_only(draw_rule: str, rewards: list[int]) -> None:
    """For OpenSpiel the draw takes precedence."""
    env, last = BY_DRAW_RULE[draw_rule], dict(LIMITS)[draw_rule] - 1
    state = play(env, after_quiet_plies(env, "B:W28:BK19,K20", last), "20-24")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == rewards
    assert play(env, after_quiet_plies(env, "B:W28:BK19,K20", last - 1), "20-24").rewards.tolist() == [1, -1]
