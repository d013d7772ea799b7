"""The search in Dots and Boxes: values, its work, windows, pieces and bad input."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames._checks import ParameterError
from jaxgames.games.dots_and_boxes import search as searching
from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch, ExactValue
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.wrappers import auto_reset
from tests.helpers.solved import solved_boxes

needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="takes hours in plain Python")


def search(env: Any, state: Any = None, window: Any = None, **named: Any) -> ExactValue:
    return ExactSearch(env, **named).search(state, window)


def plainly(rows: int, cols: int, *arguments: Any, **named: Any) -> ExactValue:
    return search(DotsAndBoxes(rows, cols), *arguments, **named, compiled=False)


def random_sets(rows: int, cols: int, open_edges: int, number: int) -> list[int]:
    """Random sets of edges of which `open_edges` are open."""
    random, num_edges = np.random.default_rng(0), DotsAndBoxes(rows, cols).num_edges
    chosen = [random.choice(num_edges, num_edges - open_edges, replace=False).tolist() for _ in range(number)]
    return [sum(1 << edge for edge in drawn) for drawn in chosen]


def state_of(rows: int, cols: int, drawn: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[0], solved_boxes(rows, cols).states_at(np.array([drawn])))


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize(("rows", "cols", "value"), [(2, 4, 2), (4, 2, 2), (3, 4, 0)])
def test_value_of_a_larger_board_is_that_of_other_programs(rows: int, cols: int, value: int) -> None:
    assert search(DotsAndBoxes(rows, cols)).value == value


@pytest.mark.slow
@needs_numba
def test_values_of_3x3_are_those_of_the_solved_game() -> None:
    running, solution = ExactSearch(DotsAndBoxes(3, 3)), solved_boxes(3, 3)
    for open_edges in range(1, 24):
        for drawn in random_sets(3, 3, open_edges, 40):
            assert running.search(state_of(3, 3, drawn)).value == solution.table[drawn], drawn


def test_values_of_2x2_are_those_of_the_solved_game() -> None:
    """Positions with few open edges come first, so each of the others is one move from bounds that the table has."""
    table, states = solved_boxes(2, 2).table, solved_boxes(2, 2).states_at(np.arange(4096))
    running = ExactSearch(DotsAndBoxes(2, 2), compiled=False)
    for drawn in sorted(range(4096), key=lambda drawn: -drawn.bit_count()):
        margin = int(table[drawn])
        window = (None, (margin - 1, margin + 1), (0, 1))[drawn % 3]
        state = jax.tree.map(lambda leaf, drawn=drawn: np.asarray(leaf)[drawn], states)
        value = running.search(state, window).value
        assert value == margin if window != (0, 1) else (value > 0) == (margin > 0), (drawn, window)


def test_value_in_a_window_is_the_margin_or_a_bound_of_it() -> None:
    for drawn in random_sets(2, 2, 8, 4):
        margin, state = int(solved_boxes(2, 2).table[drawn]), state_of(2, 2, drawn)
        for alpha, beta in itertools.combinations(range(-5, 6), 2):
            value = plainly(2, 2, state, window=(alpha, beta)).value
            assert value == margin if alpha < margin < beta else (value <= alpha) == (margin <= alpha)
            assert margin <= value if value <= alpha else True
            assert margin >= value if value >= beta else True


def test_owners_seat_reward_and_wrapper_do_not_matter() -> None:
    for text in ("111010110110 0.1. 0", "111010110110 1.1. 1"):
        env = jaxgames.make("dots_and_boxes(rows=2, cols=2, reward='margin')")
        value = search(auto_reset(env), env.from_string(text), compiled=False).value
        assert value == solved_boxes(2, 2).table[0b011011010111]


# -- work --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols", "value", "nodes", "keys"), [(2, 2, 2, 173, 52), (2, 3, -2, 1_983, 560)])
def test_work_is_that_of_the_stored_table(rows: int, cols: int, value: int, nodes: int, keys: int) -> None:
    """docs/results/boxes_search.json has them of another loop over the nodes."""
    assert plainly(rows, cols)[:3] == (value, nodes, keys)


@pytest.mark.slow
@needs_numba
def test_compiled_search_does_the_same_work_as_plain_python() -> None:
    assert search(DotsAndBoxes(2, 3))[:3] == plainly(2, 3)[:3]
    assert search(DotsAndBoxes(3, 3), table_size=2**24)[:3] == (-3, 90_794, 22_292)


def test_table_is_kept_from_one_search_to_the_next() -> None:
    running = ExactSearch(DotsAndBoxes(2, 2), compiled=False)
    assert running.search(state_of(2, 2, 0b11)).value == solved_boxes(2, 2).table[0b11]
    assert running.search(state_of(2, 2, 0b11)).nodes == 1


@pytest.mark.parametrize("table_size", [4, 64, 2**12])
def test_value_depends_on_no_size_of_the_table_and_no_pieces(table_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few entries the table forgets what a piece has found, until a piece is large enough."""
    whole = plainly(2, 2, table_size=table_size)
    monkeypatch.setattr(searching, "NODES_PER_PIECE", 20)
    pieces = plainly(2, 2, table_size=table_size)
    assert pieces.value == whole.value == 2
    assert pieces.nodes > whole.nodes
    assert 0 < whole.keys <= min(table_size, 52)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "needles"),
    [
        ({"env": DotsAndBoxes(5, 6)}, ("71 edges", "62 edges", "alphabeta")),
        ({"env": DotsAndBoxes(1, 9)}, ("from 1 to 8", "cols=9")),
        ({"env": jaxgames.make("minichess")}, ("dots_and_boxes", "not minichess")),
        ({"env": "dots_and_boxes"}, ("an env of dots_and_boxes",)),
        ({"state": DotsAndBoxes(2, 3).init()}, ("bool[12]", "[17]")),
        ({"state": "111"}, ("one state", "not str")),
        ({"table_size": 1000}, ("table_size", "1024", "not 1000")),
        ({"table_size": 2}, ("table_size", "4 to 1073741824", "not 2")),
        ({"window": (1, 1)}, ("(alpha, beta)", "-63", "(1, 1)")),
        ({"window": (0, 64)}, ("window", "63", "(0, 64)")),
        ({"window": 3}, ("window", "integers", "3")),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], needles: tuple[str, ...]) -> None:
    every: dict[str, Any] = {"env": DotsAndBoxes(2, 2), "compiled": False, **arguments}
    with pytest.raises(ParameterError) as error:
        search(**every)
    assert all(needle in str(error.value) for needle in needles)


def test_compiled_search_without_numba_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "HAS_NUMBA", False)
    with pytest.raises(ParameterError, match=r"jaxgames\[numba\].*compiled=False"):
        search(DotsAndBoxes(1, 1), compiled=True)
