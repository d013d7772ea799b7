"""Labels of the agent `alphabeta` for Dots and Boxes: best edges and values, exact or estimated. In plain Python."""

from typing import Any

import jax
import numpy as np
import pytest

from jaxgames import agents
from jaxgames.games.dots_and_boxes import REWARDS, DotsAndBoxes
from jaxgames.solvers.dots_and_boxes import player as playing
from jaxgames.solvers.dots_and_boxes.player import make_player
from jaxgames.solvers.dots_and_boxes.solution import table_shape, worth_of_edges
from tests.helpers.analysis import analysis_of
from tests.helpers.solved import solved_boxes
from tests.solvers.dots_and_boxes.random_boxes import batch, game, random_states

LONG = 60_000  # milliseconds: no test waits for them, the work of an analysis is limited by its nodes


@pytest.fixture(autouse=True)
def plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles nothing."""
    monkeypatch.setattr(playing, "HAS_NUMBA", False)


def test_analysis_has_all_best_edges_and_the_value_of_perfect_play() -> None:
    table = jax.numpy.asarray(solved_boxes(2, 2).table.reshape(table_shape(game(2, 2))))
    players = {reward: make_player(DotsAndBoxes(2, 2, reward), milliseconds=LONG) for reward in REWARDS}
    for state in random_states(2, 2, 10):
        worth = np.where(state.edges, -128, worth_of_edges(game(2, 2), table, state.edges))
        lead = sum({state.current_player: 1, -1: 0}.get(owner, -1) for owner in state.owner.tolist())
        at_end = worth.max() + lead
        expected = {"boxes": worth.max(), "margin": at_end, "win_loss": np.sign(at_end)}
        for reward, player in players.items():
            assert player.analyse(state) == (np.flatnonzero(worth == worth.max()).tolist(), expected[reward])
        assert players["boxes"].best_actions(state) == players["boxes"].analyse(state)[0]


def test_analysis_without_a_search_to_the_end_has_one_open_edge_and_an_estimate() -> None:
    player = make_player(DotsAndBoxes(4, 4, "boxes"), milliseconds=2, exact=False)
    for state in random_states(4, 4, 6, seed=3):
        check_estimate(player.analyse(state), state)


def test_analysis_whose_nodes_do_not_suffice_has_one_open_edge_and_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    player = make_player(DotsAndBoxes(2, 2, "boxes"), milliseconds=LONG)
    states = random_states(2, 2, 10)
    exact = [player.analyse(state) for state in states]
    assert any(len(best) > 1 for best, _ in exact)  # these are not estimates
    with monkeypatch.context() as context:
        context.setattr(playing, "NODES_OF_ANALYSIS", 0)
        context.setattr(player, "milliseconds", 50)  # few samples of an estimate, enough for a search to the end
        for state in states:
            found = player.analyse(state)
            check_estimate(found, state)
            assert player.analyse(state) == found
    assert [player.analyse(state) for state in states] == exact


def check_estimate(found: tuple[list[int], float], state: Any) -> None:
    """Asserts that an analysis has one open edge, and no more boxes than are left."""
    (edge,), value = found
    assert not state.edges[edge]
    assert abs(value) <= (state.owner == -1).sum()


def test_agent_labels_with_probabilities_and_values() -> None:
    env = DotsAndBoxes(1, 2, "boxes")
    states, player = random_states(1, 2, 5), make_player(env)
    found = analysis_of(agents.make("alphabeta", env), batch(states))
    np.testing.assert_allclose(found.probabilities.sum(1), 1, rtol=1e-6)
    assert found.values is not None
    np.testing.assert_array_equal(found.values.sum(1), 0)
    assert np.abs(found.values).max() > 0
    for state, probabilities, values in zip(states, found.probabilities, found.values, strict=True):
        assert (np.flatnonzero(probabilities).tolist(), values[state.current_player]) == player.analyse(state)
