"""Wins, draws and truncations, and their rewards."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import jaxgames
from jaxgames import Env
from tests.games.checkers.pictures import ADJUDICATED, BY_DRAW_RULE, WCDF, read
from tests.games.checkers.reference import other_side
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, is_over, legal, play, start

LIMITS = [("wcdf", 80), ("openspiel", 40)]


# -- wins ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw_rule", BY_DRAW_RULE)
@pytest.mark.parametrize("winner", [0, 1])
@pytest.mark.parametrize(
    ("text", "ply"),
    [
        ("B:W18:B14", "14x23"),  # the last piece is captured
        ("B:W28:B19,20", "20-24"),  # the last piece cannot move: 28x19 has no empty square behind
        ("B:W28,K32:B19,20,K23,K27", "20-24"),  # a king cannot move either
    ],
)
def test_player_without_a_move_loses(text: str, ply: str, winner: int, draw_rule: str) -> None:
    env = BY_DRAW_RULE[draw_rule]
    if winner == 1:
        text = other_side(text)
        ply = "".join(part if part in "-x" else str(33 - int(part)) for part in re.split("([-x])", ply))
    state = play(env, read(env, text), ply)
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1 - 2 * winner, 2 * winner - 1]
    assert legal(env, state) == set()
    assert int(state.current_player) == 1 - winner


def test_game_goes_on_while_the_opponent_can_capture() -> None:
    state = play(WCDF, read(WCDF, "B:W28:B19,20"), "19-24")
    assert is_over(state) == LIVE
    assert state.rewards.tolist() == [0, 0]
    assert legal(WCDF, state) == {"28x19"}


# -- draws --------------------------------------------------------------------------------------------------


def after_quiet_plies(env: Env[Any], text: str, plies: int) -> Any:
    """A position after that many plies that did not reset the draw counter."""
    return dataclasses.replace(read(env, text), quiet=np.int16(plies))


@pytest.mark.parametrize(("draw_rule", "limit"), LIMITS)
def test_moves_of_kings_alone_draw_after_the_limit(draw_rule: str, limit: int) -> None:
    env = BY_DRAW_RULE[draw_rule]
    state = read(env, "B:WK32:BK1")
    for ply in range(limit):
        assert is_over(state) == LIVE, ply
        state = play(env, state, ("1-5", "32-28", "5-1", "28-32")[ply % 4])
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]
    assert legal(env, state) == set()


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


@pytest.mark.parametrize(("draw_rule", "limit"), LIMITS)
def test_draw_counter_starts_at_zero_after_a_capture(draw_rule: str, limit: int) -> None:
    env = BY_DRAW_RULE[draw_rule]
    state = play(env, after_quiet_plies(env, "B:WK18,K32:BK1,K14", limit - 1), "14x23")
    for ply in range(limit):
        assert is_over(state) == LIVE, ply
        state = play(env, state, ("32-28", "1-5", "28-32", "5-1")[ply % 4])
    assert is_over(state) == TERMINATED


@pytest.mark.parametrize(("draw_rule", "rewards"), [("wcdf", [1, -1]), ("openspiel", [0, 0])])
def test_win_on_the_last_quiet_ply_counts_for_the_federation_only(draw_rule: str, rewards: list[int]) -> None:
    """For OpenSpiel the draw takes precedence."""
    env, last = BY_DRAW_RULE[draw_rule], dict(LIMITS)[draw_rule] - 1
    state = play(env, after_quiet_plies(env, "B:W28:BK19,K20", last), "20-24")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == rewards
    assert play(env, after_quiet_plies(env, "B:W28:BK19,K20", last - 1), "20-24").rewards.tolist() == [1, -1]


# -- adjudication -------------------------------------------------------------------------------------------
# The ends are in ADJUDICATED_ENDS of `cases.py`. `after_quiet_plies` sets the number of turns that were played.


@pytest.mark.parametrize(
    ("turn", "text", "ply"),
    [
        (39, "B:WK32:B1,2,3,K4", "1-5"),  # a lead of three, too early
        (40, "B:WK32:B1,2,K4", "1-5"),  # a lead of two
        (50, "B:WK32:B1,2,K4", "1-5"),
        (59, "B:WK32:B1,2,K4", "1-5"),
        (59, "B:WK32:BK1", "1-5"),
    ],
)
def test_small_lead_decides_nothing_before_turn_60(turn: int, text: str, ply: str) -> None:
    assert is_over(play(ADJUDICATED, after_quiet_plies(ADJUDICATED, text, turn - 1), ply)) == LIVE


def test_lead_is_compared_when_the_turn_ends() -> None:
    """In turn 41, the first of two jumps makes a lead of three."""
    state = play(ADJUDICATED, after_quiet_plies(ADJUDICATED, "B:W10,19,31:B1,2,3,4,6", 40), "6x15")
    assert (is_over(state), int(state.quiet)) == (LIVE, 40)
    assert not ADJUDICATED.winners(state).any()
    state = play(ADJUDICATED, state, "15x24")
    assert (is_over(state), int(state.quiet), state.rewards.tolist()) == (TERMINATED, 41, [1, -1])
    assert ADJUDICATED.outcome(state).reason == "a lead of 4 pieces after 41 turns"


# -- truncation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw_rule", BY_DRAW_RULE)
def test_max_plies_truncates_and_a_jump_is_a_ply(draw_rule: str) -> None:
    env = jaxgames.make("checkers", draw_rule=draw_rule, max_plies=3)
    state = play(env, start(env), "11-15", "22-18")
    assert is_over(state) == LIVE
    state = play(env, state, "15x22")
    assert is_over(state) == TRUNCATED
    assert state.rewards.tolist() == [0, 0]
    assert legal(env, state) == set()


def test_capture_is_truncated_between_its_jumps() -> None:
    env = jaxgames.make("checkers", max_plies=1)
    state = play(env, read(env, "B:W9,11,18,28:B1,5,8"), "8x15")
    assert is_over(state) == TRUNCATED
    assert int(state.current_player) == 0


@pytest.mark.parametrize(("text", "ply", "reward"), [("B:W18:B14", "14x23", 1), ("B:WK32:BK1", "1-5", 0)])
def test_end_by_the_rules_takes_precedence_over_truncation(text: str, ply: str, reward: int) -> None:
    env = jaxgames.make("checkers", max_plies=1)
    state = play(env, after_quiet_plies(env, text, 79), ply)
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [reward, -reward]
