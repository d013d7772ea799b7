"""The agent that plays by the values of another one, beside exact values."""

from pathlib import Path

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.dots_and_boxes.by_value import by_value
from tests.helpers.solved import solved_boxes


def test_moves_by_exact_values_are_best_ones(tmp_path: Path) -> None:
    solution = solved_boxes(2, 2)
    path = tmp_path / "22.npz"
    solution.save(path)
    agent = by_value(solution.env, f"solver({path})", reward="margin")
    states = solution.states_at(np.arange(0, solution.num_states - 1, 3, dtype=np.uint32))
    moves = np.asarray(jax.jit(agent.act)(jax.random.key(0), states))
    best = solution.best_actions(states)
    assert best[np.arange(len(moves)), moves].all()
    assert not best[:, 0].all()


def test_safe_edges_are_drawn_where_there_are_some(tmp_path: Path) -> None:
    solution = solved_boxes(2, 2)
    path = tmp_path / "22.npz"
    solution.save(path)
    states = solution.states_at(np.arange(0, solution.num_states - 1, 3, dtype=np.uint32))
    drawn = np.asarray(states.edges)
    across, down = [(0, 2), (1, 3), (2, 4), (3, 5)], [(6, 7), (7, 8), (9, 10), (10, 11)]
    boxes = np.array([above + beside for above, beside in zip(across, down, strict=True)])

    def gives(edge: np.ndarray) -> np.ndarray:
        """Returns bool[B]: whether the opponent can take a box once the edge, int[B], is drawn on each board."""
        after = drawn | (np.arange(12) == edge[:, None])
        return (after[:, boxes].sum(2) == 3).any(1)

    some = np.zeros(len(drawn), bool)  # whether there is a safe edge
    for edge in range(12):
        some |= ~drawn[:, edge] & ~gives(np.full(len(drawn), edge))
    given = {}
    for rule in (False, True):
        agent = by_value(solution.env, f"solver({path})", reward="margin", safe_edges=rule)
        given[rule] = gives(np.asarray(jax.jit(agent.act)(jax.random.key(0), states)))[some]
    assert given[False].any()
    assert not given[True].any()


@pytest.mark.parametrize(
    ("agent", "message"),
    [("random", "has no values"), ("greedy", "has no values"), ("alphabeta(depth=1)", "on the host")],
)
def test_agent_without_values_is_refused(agent: str, message: str) -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    with pytest.raises(jaxgames.ParameterError, match=message):
        by_value(env, agent)


def test_other_game_is_refused() -> None:
    with pytest.raises(jaxgames.ParameterError, match="plays dots_and_boxes"):
        by_value(jaxgames.make("minichess"), "baseline")
