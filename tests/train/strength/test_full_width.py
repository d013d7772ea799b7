"""Search of full width for all states at once: against a search written out in plain Python, one state at a time."""

from typing import Any

import numpy as np
import pytest

from jaxgames.solvers.strength.graph import Graph, graph_of
from jaxgames.solvers.strength.policy_table import boards
from tests.solvers.strength.measured import solution, zeros
from train.strength.players import lookahead

DISCOUNT = 0.9


def leaf_values(states: Any) -> np.ndarray:
    """Random values from -2 to 2 by state: some are outside of the range of results."""
    noise = np.random.default_rng(0).uniform(-2, 2, solution(3).num_states)
    return noise[solution(3).index(states)].astype(np.float32)


def searched(graph: Graph, leaves: np.ndarray, state: int, depth: int) -> float:
    """The value of a state for its mover."""
    if graph.is_over[state]:
        return -1.0
    if depth == 0:
        return float(np.clip(leaves[state], -1, 1))
    following = graph.children[state, : graph.num_moves[state]].tolist()
    return max(-DISCOUNT * searched(graph, leaves, after, depth - 1) for after in following)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_moves_are_those_of_a_search_of_single_states(depth: int) -> None:
    graph = graph_of(solution(3))
    act = lookahead(solution(3), leaf_values, depth, discount=DISCOUNT)
    actions = np.asarray(act(boards(solution(3), graph.live, 0)))
    every = np.full(graph.size, np.nan)
    every[graph.live] = leaf_values(solution(3).states_at(graph.live))
    for row in range(0, len(graph.live), 9):
        state = int(graph.live[row])
        following = graph.children[state, : graph.num_moves[state]].tolist()
        worth = [-DISCOUNT * searched(graph, every, after, depth - 1) for after in following]
        best = max(worth)
        equal = [graph.actions[state, slot] for slot in range(len(worth)) if worth[slot] > best - 1e-6]
        assert actions[row] == equal[0]


def test_finished_boards_get_an_action_that_is_not_used() -> None:
    graph = graph_of(solution(3))
    over = np.flatnonzero(graph.is_over[:-1]).astype(np.int32)
    assert (np.asarray(lookahead(solution(3), zeros, 2)(boards(solution(3), over, 0))) == 0).all()


@pytest.mark.parametrize(
    ("depth", "discount", "message"),
    [(0, 0.99, "depth must be an integer from 1"), (2, 0.0, "discount must be"), (2, 1.5, "discount must be")],
)
def test_setting_out_of_range_is_refused(depth: int, discount: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lookahead(solution(3), zeros, depth, discount=discount)
