"""The shares of moves in lost positions, against the solution."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from examples.papers.solution_strength import lost_positions
from jaxgames.solvers.strength.graph import graph_of
from tests.helpers.solved import solved_diamond


class Policy(NamedTuple):
    """The probabilities and values that `analyse` returns."""

    probabilities: Any


def test_uniform_policy_delays_as_often_as_a_drawn_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its entropy is 1, and its drawn moves delay the end as often as uniform ones."""
    solution = solved_diamond(3, 3)
    graph = graph_of(solution)
    lost, won = (graph.live[graph.value[graph.live] == value] for value in (-1, 1))

    def uniform(agent: Any, states: Any) -> Policy:
        indices = solution.index(states)
        legal = np.zeros((len(indices), solution.env.num_actions))
        rows, slots = np.nonzero(graph.actions[indices] >= 0)
        legal[rows, graph.actions[indices][rows, slots]] = 1
        return Policy(jnp.asarray(legal / legal.sum(-1, keepdims=True)))

    monkeypatch.setattr(lost_positions, "analyse_compiled", uniform)
    row = lost_positions.measured(solution, graph, None, lost, won)
    assert (row["entropy_lost"], row["entropy_won"]) == (1, 1)
    assert row["delays_drawn"] == row["delays_uniform"]
    assert 0 < row["delays_uniform"] < 1
