"""Dots and Boxes of a study: its agent, values and hand-outs beside solved games, and games counted by hand."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.dots_and_boxes import board_sizes, depths
from examples.papers.dots_and_boxes.agent import Arguments, report
from examples.papers.dots_and_boxes.by_value import by_value
from examples.papers.dots_and_boxes.depths import handouts_of_a_game
from examples.papers.dots_and_boxes.first_moves import edge_classes, value_by_windows
from examples.papers.dots_and_boxes.study_agent import player_of
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from tests.games.dots_and_boxes.cases import written
from tests.helpers.positions import board
from tests.helpers.solved import solved_boxes


def test_row_counts_games_and_moves_of_both_seats(tmp_path: Path) -> None:
    """With 7 edges and 2 boxes, `first` against itself takes both boxes from the same seat, which alternates.

    The bot of OpenSpiel refuses an action that is illegal in its own copy of the game.
    """
    settings: dict[str, Any] = {"board": (1, 2), "agent": "first", "games": 4, "simulations": 2}
    own, mcts = report(Arguments(**settings, output=tmp_path, opponents=("self", "mcts"))).result["rows"]
    assert (own["opponent"], own["games"], own["wins"], own["losses"], own["ties"]) == ("self", 4, 2, 2, 0)
    assert own["moves"] == 4 * 7 / 2
    assert own["lost_to_the_clock"] == 0
    assert mcts["wins"] + mcts["losses"] + mcts["ties"] == 4


def test_boards_of_a_run_are_those_of_its_training(monkeypatch: pytest.MonkeyPatch) -> None:
    boards = [board_sizes.board_of(text) for text in ("1x2", "2x2", "3x2")]
    run = SimpleNamespace(env=boards[0], config=SimpleNamespace(other_envs=(str(boards[1]),)))
    monkeypatch.setattr(board_sizes, "learner_of", {"run": run}.get)
    assert [board_sizes.was_trained_on("run", env) for env in boards] == [True, True, False]
    assert board_sizes.was_trained_on("greedy", boards[0]) is None


BOXES = np.array([(0, 2, 6, 7), (1, 3, 7, 8), (2, 4, 9, 10), (3, 5, 10, 11)])  # on 2 x 2, each by its four edges


def gives_a_box(drawn: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """Returns bool[B]: whether the opponent can take a box once the edge, int[B], is drawn on each board."""
    after = drawn | (np.arange(12) == edge[:, None])
    return (after[:, BOXES].sum(2) == 3).any(1)


def test_moves_by_exact_values_are_best_ones_and_safe_ones_if_asked(tmp_path: Path) -> None:
    solution, path = solved_boxes(2, 2), tmp_path / "22.npz"
    solution.save(path)
    states = solution.states_at(np.arange(0, solution.num_states - 1, 3, dtype=np.uint32))
    drawn, rows = np.asarray(states.edges), np.arange(len(states.edges))
    moves = {}
    for rule in (False, True):
        agent = by_value(solution.env, f"solver({path})", reward="margin", safe_edges=rule)
        moves[rule] = np.asarray(jax.jit(agent.act)(jax.random.key(0), states))
    assert solution.best_actions(states)[rows, moves[False]].all()
    has_safe = ~np.stack([drawn[:, edge] | gives_a_box(drawn, np.full(len(rows), edge)) for edge in range(12)]).all(0)
    assert gives_a_box(drawn, moves[False])[has_safe].any()
    assert not gives_a_box(drawn, moves[True])[has_safe].any()


def test_agent_without_values_is_refused() -> None:
    for agent, needle in (("random", "has no values"), ("alphabeta(depth=1)", "on the host")):
        with pytest.raises(jaxgames.ParameterError, match=needle):
            by_value(jaxgames.make("dots_and_boxes(rows=1, cols=1)"), agent)


def test_best_move_of_a_handout_is_that_of_the_solved_game() -> None:
    """And the other one of taking and leaving is not."""
    env, solution, generator = DotsAndBoxes(2, 3), solved_boxes(2, 3), random.Random(0)
    search, start, kinds = ExactSearch(env, compiled=False), jax.device_get(env.init()), set[str]()
    for _ in range(40):
        for kind, state, best in handouts_of_a_game(env, search, start, generator):
            worth = solution.worth(solution.index(jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)))[0]
            assert worth[best] == worth[~state.edges].max()
            kinds.add(kind)
    assert {"2 boxes, leave", "2 boxes, take"} <= kinds <= {*depths.KINDS}


@pytest.mark.parametrize(("rows", "cols", "classes"), [(2, 2, 2), (3, 5, 11), (4, 4, 6)])
def test_symmetries_and_corners_leave_few_first_edges(rows: int, cols: int, classes: int) -> None:
    """On 2 x 2, an edge is outer or inner. On 3 x 5 the edges of a corner are one class, and ten others are left."""
    env = DotsAndBoxes(rows, cols)
    found = edge_classes(env)
    assert len(found) == classes
    assert sum(number for _, number in found) == env.num_actions


@pytest.mark.parametrize("guess", [-4, 2])
def test_value_does_not_depend_on_the_guess(guess: int) -> None:
    search, solution = ExactSearch(DotsAndBoxes(2, 2), compiled=False), solved_boxes(2, 2)
    for drawn in (0, 0b1, 0b100):
        state = board(solution.states_at(np.array([drawn])), 0)
        assert value_by_windows(search, state, guess)["value"] == solution.table[drawn]


LONG = 60_000  # milliseconds: no test waits for them, the work of a move is limited otherwise

ONE_TAKEN = """
    *---*---*---*
    | 0 |
    *---*---*---*

    *---*---*---*
"""
# A chain of one box, on the left, and one of four. The mover opens the shorter one.
TWO_CHAINS = """
    *---*---*---*---*---*
        |
    *   *   *---*---*---*
"""


@pytest.mark.parametrize(("depth", "edge"), [(1, "v(0,2)"), (9, "v(0,3)")])
def test_search_takes_the_box_that_it_sees(depth: int, edge: str) -> None:
    """With depth 1 two boxes now; the chain behind is out of sight."""
    env, state = DotsAndBoxes(2, 3), jax.device_get(DotsAndBoxes(2, 3).from_string(written(ONE_TAKEN)))
    assert env.action_to_string(state, player_of(env, depth, LONG).choose(state, 0)) == edge


def test_search_is_limited_to_random_edges() -> None:
    """With one move, chance chooses among all open edges; the other edge of the corner is the same."""
    env, state = DotsAndBoxes(1, 5), jax.device_get(DotsAndBoxes(1, 5).from_string(written(TWO_CHAINS)))
    players = [player_of(env, 9, LONG, limit) for limit in (1, 7, None)]
    chosen = [{player.choose(state, seed) for seed in range(40)} for player in players]
    assert [{env.action_to_string(state, edge) for edge in edges} for edges in chosen[1:]] == [{"h(1,0)"}] * 2
    assert chosen[0] == {*np.flatnonzero(~state.edges).tolist()} - {env.action_from_string(state, "v(0,0)")}
