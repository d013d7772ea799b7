"""The measures of strength where plays have no end, are drawn or cut off, and where an agent breaks the rules."""

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.policy_table import BATCH
from tests.games.chinese_checkers_diamond.pictures import game
from tests.games.dots_and_boxes.pictures import game as boxes
from tests.helpers.solved import solved_boxes
from tests.solvers.strength.drawn_graphs import GraphSolution
from tests.solvers.strength.measured import agent, solution

Act = Callable[[Any], Any]


# -- cycles and draws ----------------------------------------------------------------------------------------------


def first(states: Any) -> np.ndarray:
    """The first move of every state."""
    return np.zeros(BATCH, np.int32)


def last(moves: Sequence[Sequence[int]]) -> Act:
    """The last move of every state."""
    return lambda states: np.array([max(len(moves[number]) - 1, 0) for number in states.number.tolist()], np.int32)


#   The agent moves in 0 and 2, the other seat in 1; 3 is lost for its mover.
#   0 -> 1 -> 2 -> 1 or 3
WANDERING = [[1], [2], [1, 3], []]


def test_agent_that_keeps_the_win_for_ever_solves_nothing() -> None:
    """No play ends, so nothing is won; the moves keep the value, and the agent is never sure."""
    game = GraphSolution(WANDERING, {0: 1, 1: -1, 2: 1})
    measures = measure(game.env, first, game)
    assert (measures["weak_solved"], measures["ultra_weak"], measures["weak_states"]) == (False, 0, 0)
    assert (measures["kept_value"], measures["action_weak"], measures["strong_action"]) == (1, 1, 1)
    assert (measures["sure_fraction"], measures["weak_uniform"], measures["weak_uniform_loss"]) == (0, 0, 0)
    assert (measures["self_play_winner"], measures["weak_uniform_longest"]) == (None, 50)


def test_agent_that_finishes_is_sure_in_every_state() -> None:
    game = GraphSolution(WANDERING, {0: 1, 1: -1, 2: 1})
    measures = measure(game.env, last(WANDERING), game)
    assert (measures["weak_solved"], measures["ultra_weak"], measures["weak_states"]) == (True, 1, 1)
    assert (measures["sure_fraction"], measures["weak_uniform"], measures["weak_uniform_plies"]) == (1, 1, 3)


def test_win_after_the_limit_of_plies_is_a_draw_only_in_games() -> None:
    game = GraphSolution(WANDERING, {0: 1, 1: -1, 2: 1})
    measures = measure(game.env, last(WANDERING), game, plies=2)
    assert (measures["ultra_weak"], measures["weak_uniform"]) == (0, 0)
    assert (measures["weak_solved"], measures["weak_states"]) == (True, 1)


#   Every reply but one leads to a win: the wandering one of state 1, which leads back to 0.
#   0 -> 1 -> 0 or 2,  2 -> 3
RETURNING = [[1], [0, 2], [3], []]


def test_reply_that_leads_back_is_not_sure_although_all_final_states_are_won() -> None:
    """The share of won final states is 1, and half of the games against random replies last longer each time."""
    game = GraphSolution(RETURNING, {0: 1, 1: -1, 2: 1})
    measures = measure(game.env, first, game, plies=7)
    assert (measures["weak_states"], measures["weak_solved"], measures["sure_fraction"]) == (1, False, 0.5)
    assert measures["weak_uniform"] == 0.875  # 1/2 after 3 plies, 1/4 after 5, 1/8 after 7
    assert measures["weak_uniform_plies"] == 3 / 2 + 5 / 4 + 7 / 8 + 7 / 8


#   A draw in which the other seat can err: by 2 in state 1. The agent then wins by 4, or wanders between 2 and 3.
#   0 -> 1 -> 0 or 2,  2 -> 3 or 4,  3 -> 2,  4 is lost for its mover, the other seat
CHANCES = [[1], [0, 2], [3, 4], [2], []]


def finish(states: Any) -> np.ndarray:
    """The first move of every state, and the winning one of state 2."""
    return (states.number == 2).astype(np.int32)


@pytest.mark.parametrize(("act", "sure_won"), [(first, 0.0), (finish, 1.0)])
def test_agent_that_never_finishes_wins_no_won_state_of_a_drawn_game(act: Act, sure_won: float) -> None:
    """It has every other share in full: a draw is enough there, and no move of it gives the win away."""
    game = GraphSolution(CHANCES, {0: 0, 1: 0, 2: 1, 3: -1})
    measures = measure(game.env, act, game)
    assert measures["sure_won"] == sure_won
    names = ("ultra_weak", "weak_solved", "weak_states", "sure_fraction", "kept_value", "action_weak")
    assert {measures[name] for name in names} == {1}


#   A draw: the agent repeats 0 -> 1 -> 0. In 1 the other seat can also play 2, from which 3 and 4 follow.
#   0 -> 1 -> 0 or 2,  2 -> 1 or 3,  3 -> 4,  4 is lost for its mover, the agent
DRAWN = [[1], [0, 2], [1, 3], [4], []]


@pytest.mark.parametrize(("act", "solved", "sure"), [(first, True, 1.0), (last(DRAWN), False, 0.0)])
def test_cycle_is_enough_where_the_start_is_a_draw(act: Act, solved: bool, sure: float) -> None:
    game = GraphSolution(DRAWN, {0: 0, 1: 0, 2: 0, 3: 1})
    measures = measure(game.env, act, game)
    assert (measures["weak_solved"], measures["sure_fraction"]) == (solved, sure)
    assert measures["weak_states"] == float(solved)  # nothing ends, or all that ends is lost
    assert measures["ultra_weak"] == float(solved)  # the agent plays both seats
    assert measures["weak_uniform"] == 1 - measures["weak_uniform_loss"]
    assert (measures["weak_uniform_loss"] > 0) != solved


def test_seat_that_loses_the_start_reaches_its_value_with_any_moves() -> None:
    measures = measure(game(3, 3), agent("hash0", 3), solution(3), seat=1)
    assert (measures["weak_solved"], measures["weak_states"], measures["weak_uniform"]) == (True, 1, 1)
    assert measures["weak_uniform_loss"] > 0


# -- wrong input ---------------------------------------------------------------------------------------------------


def changing(calls: Iterator[int], states: Any) -> np.ndarray:
    """Another move in every call but the first: in state 2 of the graph, and on the start of Dots and Boxes."""
    if hasattr(states, "edges"):
        return np.where(states.edges.any(1), states.edges.argmin(1), min(next(calls), 1))
    return np.where(states.number == 2, next(calls) > 0, 0).astype(np.int32)


def constant(action: int) -> Act:
    return lambda states: np.full(BATCH, action, np.int32)


@pytest.mark.parametrize(
    ("of", "make_act", "named"),
    [
        ("graph", lambda: constant(3), ["illegal action 3 for 'state", "the legal actions there are 0"]),
        ("graph", lambda: lambda states: np.zeros(3, np.int32), [f"shape ({BATCH},), not of (3,)"]),
        ("graph", lambda: lambda states: np.zeros(BATCH, np.float32), ["act must return actions", "float32"]),
        (
            "graph",
            lambda: functools.partial(changing, itertools.count()),
            ["act must be deterministic: for 'state 2' it played action 0, and 1"],
        ),
        ("boxes", lambda: constant(0), ["illegal action 0 for '1", "the legal actions there are 1, 2"]),
        ("boxes", lambda: constant(12), ["illegal action 12 for '0"]),
        ("boxes", lambda: functools.partial(changing, itertools.count()), ["act must be deterministic"]),
    ],
)
def test_agent_that_breaks_the_rules_is_refused(of: str, make_act: Callable[[], Act], named: list[str]) -> None:
    game = GraphSolution(WANDERING, {0: 1, 1: -1, 2: 1}) if of == "graph" else solved_boxes(2, 2)
    with pytest.raises(ValueError, match=".*".join(map(re.escape, named))):
        measure(game.env, make_act(), game)


@pytest.mark.parametrize(
    ("env", "changes", "named"),
    [
        (game(3, 3), {"plies": 0}, ["plies must be an integer from 1 to"]),
        (game(3, 3), {"seat": 2}, ["seat must be one of 0, 1"]),
        (game(3, 3), {"strong_states": 0}, ["strong_states must be an integer from 1"]),
        (game(4, 3), {}, ["the solution is of", "size=3", "not of", "size=4"]),
        (boxes(2, 2), {"plies": 11}, ["plies must be an integer from 12 to"]),
    ],
)
def test_wrong_settings_are_refused(env: Any, changes: dict[str, Any], named: list[str]) -> None:
    of_game = solved_boxes(2, 2) if env == boxes(2, 2) else solution(3)
    with pytest.raises(ValueError, match=".*".join(map(re.escape, named))):
        measure(env, constant(0), of_game, **changes)


def test_limit_of_plies_of_the_game_does_not_matter() -> None:
    short = game(3, 3, max_plies=30)
    assert measure(short, agent("hash0", 3), solution(3)) == every()


@functools.cache
def every() -> dict[str, Any]:
    """The measures over all states."""
    return measure(game(3, 3), agent("hash0", 3), solution(3))


def test_random_sample_of_states_estimates_the_strong_measures() -> None:
    measures = measure(game(3, 3), agent("hash0", 3), solution(3), strong_states=600)
    assert measures["strong_states"] == 600
    assert measures["strong_action"] == pytest.approx(every()["strong_action"], abs=0.06)
    assert measures["strong_action"] != every()["strong_action"]
    assert measures["sure_fraction"] == every()["sure_fraction"]


def test_weak_measures_can_be_left_out() -> None:
    whole = measure(game(3, 3), agent("hash0", 3), solution(3), strong_states=600)
    strong = measure(game(3, 3), agent("hash0", 3), solution(3), strong_states=600, weak=False)
    assert strong == {name: whole[name] for name in strong}
    assert "strong_action" in strong
    assert {"ultra_weak", "weak_solved", "agent_states", "sure_fraction"} <= whole.keys() - strong.keys()
