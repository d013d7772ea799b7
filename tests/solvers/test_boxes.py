"""Alpha-beta in Dots and Boxes: keys, values, work, the moves and labels of the agent. In plain Python unless slow.

The values are those of the solved game, and those that others have found. `test_host_player.py` has the contract of the
agents of all games.
"""

import itertools
import math
import time
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from benchmarks.solvers import WINDOWS
from jaxgames._checks import ParameterError
from jaxgames.games.dots_and_boxes import player as playing
from jaxgames.games.dots_and_boxes import search as searching
from jaxgames.games.dots_and_boxes.chains import chain_openers, value_of_chains
from jaxgames.games.dots_and_boxes.player import DotsAndBoxesPlayer, make_player
from jaxgames.games.dots_and_boxes.rules import REWARDS, DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch, ExactValue, make_work
from jaxgames.games.dots_and_boxes.search_moves import (
    CAPTURABLE,
    LOOSE,
    canonical_key,
    captures,
    draw,
    edge_symmetries,
    keys_of_edges,
    make_board,
    make_position,
    undraw,
)
from jaxgames.games.dots_and_boxes.solution import table_shape, worth_of_edges
from jaxgames.solvers.alphabeta import clock as clocks
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.wrappers import auto_reset
from tests.games.dots_and_boxes.cases import written
from tests.games.dots_and_boxes.reference import Reference
from tests.helpers.positions import stacked
from tests.helpers.solved import solved_boxes
from tests.solvers.slow_solutions import random_boxes
from tests.solvers.test_host_player import INEXACT

LONG = 60_000  # milliseconds: no test waits for them, the work of a move is limited otherwise
needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="takes hours in plain Python")


def search(env: Any, state: Any = None, window: Any = None, **named: Any) -> ExactValue:
    return ExactSearch(env, **named).search(state, window)


def plainly(rows: int, cols: int, **named: Any) -> ExactValue:
    return search(DotsAndBoxes(rows, cols), **named, compiled=False)


def state_of(rows: int, cols: int, drawn: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[0], solved_boxes(rows, cols).states_at(np.array([drawn])))


# -- keys ------------------------------------------------------------------------------------------------------------


def test_keys_of_a_large_board_differ() -> None:
    """A key is then a sum of random numbers: all sets of one or two of its 144 edges have keys of their own."""
    board = make_board(8, 8, symmetries=False, compiled=False)
    sets = [*itertools.combinations(range(144), 1), *itertools.combinations(range(144), 2)]
    assert len({make_position(board, edges).keys[0] for edges in sets[::7]} | {0}) == len(sets[::7]) + 1


@pytest.mark.parametrize(("rows", "cols", "orbits"), [(1, 2, 48), (1, 3, 312), (2, 2, 570)])
def test_canonical_keys_are_as_many_as_orbits_by_burnside(rows: int, cols: int, orbits: int) -> None:
    """Burnside: the mean over the symmetries of 2 to the number of their cycles of edges."""
    board = make_board(rows, cols, compiled=False)
    board = board._replace(key_of=keys_of_edges(edge_symmetries(rows, cols, {})))  # no edges are interchangeable
    edges = range(len(board.order))
    sets = itertools.chain(*(itertools.combinations(edges, number) for number in range(len(edges) + 1)))
    assert len({canonical_key(make_position(board, drawn)) for drawn in sets}) == orbits


# -- moves and values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols"), [(2, 2), (2, 3)])
def test_a_best_move_is_among_the_moves(rows: int, cols: int) -> None:
    """Of all sets of edges of 2 x 2, and as many of 2 x 3. Chains alone have the value of the solved game."""
    table, work = solved_boxes(rows, cols).table, make_work(rows, cols, 4, symmetries=False, compiled=False)
    board, chains = work.board, work.playouts.chains
    num_chains = 0
    for drawn in np.random.default_rng(0).permutation(len(table) - 1)[:4095].tolist():
        position = make_position(board, [edge for edge in range(drawn.bit_length()) if drawn >> edge & 1])
        number = captures(board, position, chains.moves, 0)
        if number == 0:
            number = chain_openers(board, position, chains, chains.moves, 0)
        worth: list[int] = []
        for move in [chains.moves[place] for place in range(number)]:
            gain, to_go = draw(board, position, move), int(table[drawn | 1 << move])
            undraw(board, position, move)
            worth.append(gain + to_go if gain else -to_go)
        assert max(worth) == table[drawn], drawn
        if position.counts[CAPTURABLE] == position.counts[LOOSE] == 0:
            assert value_of_chains(board, position, chains) == table[drawn], drawn
            num_chains += 1
    assert num_chains > 20


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize(("rows", "cols", "value"), [(2, 4, 2), (4, 2, 2), (3, 4, 0)])
def test_value_of_a_larger_board_is_that_of_other_programs(rows: int, cols: int, value: int) -> None:
    assert search(DotsAndBoxes(rows, cols)).value == value


@pytest.mark.parametrize(
    ("rows", "cols", "sets_each"),
    [(2, 3, 8), pytest.param(3, 3, 40, marks=[pytest.mark.slow, needs_numba])],
)
def test_values_of_random_sets_of_edges_are_those_of_the_solved_game(rows: int, cols: int, sets_each: int) -> None:
    """With one drawn edge, two, and so on to all but one. The reward and the wrapper do not matter."""
    env, random = DotsAndBoxes(rows, cols, "margin"), np.random.default_rng(0)
    table, running = solved_boxes(rows, cols).table, ExactSearch(auto_reset(env), compiled=rows == 3)
    for number in range(1, env.num_edges):
        for _ in range(sets_each):
            drawn = sum(1 << edge for edge in random.permutation(env.num_edges)[:number].tolist())
            assert running.search(state_of(rows, cols, drawn)).value == table[drawn], drawn


def test_value_in_a_window_is_the_margin_or_a_bound_of_it() -> None:
    """Of all sets of edges of 2 x 2, those with few open edges first: the others are one move from stored bounds."""
    table, states = solved_boxes(2, 2).table, solved_boxes(2, 2).states_at(np.arange(4096))
    running = ExactSearch(DotsAndBoxes(2, 2), compiled=False)
    for drawn in sorted(range(4096), key=lambda drawn: -drawn.bit_count()):
        margin, alpha = int(table[drawn]), drawn % 11 - 6
        beta = alpha + 1 + drawn % 4
        state = jax.tree.map(lambda leaf, drawn=drawn: np.asarray(leaf)[drawn], states)
        value = running.search(state, None if drawn % 3 == 0 else (alpha, beta)).value
        if drawn % 3 == 0 or alpha < margin < beta:
            assert value == margin, drawn
        else:
            assert margin <= value <= alpha or beta <= value <= margin, drawn


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 2), (2, 2)])  # lost, drawn and won
def test_two_windows_tell_who_wins(rows: int, cols: int) -> None:
    """Those of `python -m benchmarks.solvers boxes --winner`."""
    of_win, of_loss = (search(DotsAndBoxes(rows, cols), None, window, compiled=False).value for window in WINDOWS)
    assert int(of_win > 0) - int(of_loss < 0) == np.sign(solved_boxes(rows, cols).facts()["start_value"])


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


@pytest.mark.parametrize("table_size", [4, 2**12])
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
        ({"compiled": True}, ("jaxgames[numba]", "compiled=False")),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], needles: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where numba is missing."""
    monkeypatch.setattr(searching, "HAS_NUMBA", False)
    every: dict[str, Any] = {"env": DotsAndBoxes(2, 2), "compiled": False, **arguments}
    with pytest.raises(ParameterError) as error:
        search(**every)
    assert all(needle in str(error.value) for needle in needles)


# -- moves of the agent ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "cols", "number"), [(1, 1, 20), (2, 2, 60), (2, 3, 30), pytest.param(3, 3, 300, marks=pytest.mark.slow)]
)
def test_moves_keep_the_value_of_the_solved_game(rows: int, cols: int, number: int) -> None:
    player, states = make_player(DotsAndBoxes(rows, cols), milliseconds=LONG), random_boxes(rows, cols, number)
    for state, best in zip(states, solved_boxes(rows, cols).best_actions(stacked(states)), strict=True):
        assert best[player.choose(state, 0)], player


# An opened loop of four boxes, and a chain of five. The mover leaves the four boxes to take the chain.
LOOP = """
    *---*---*   *
    |       |   |
    *   *---*   *
    |       |   |
    *---*---*   *
                |
    *---*---*---*
"""


def test_loop_of_four_boxes_is_left_for_a_longer_chain() -> None:
    env = DotsAndBoxes(3, 3)
    state = jax.device_get(env.from_string(written(LOOP)))
    assert env.action_to_string(state, make_player(env, milliseconds=LONG).choose(state, 0)) == "h(1,0)"
    unopened = env.from_string(written(LOOP.replace("*   *---*", "*   *   *")))
    assert search(env, unopened, compiled=False).value == -1  # the loop is opened; the opponent leaves it for the chain


def test_long_chain_rule_prefers_safe_edges_that_keep_the_parity() -> None:
    """Without a search to the end, the edges that it chooses are worth half a box more than safe edges at random."""
    table, rules = solved_boxes(2, 3).table, Reference(2, 3)
    player = DotsAndBoxesPlayer(DotsAndBoxes(2, 3), 9, LONG // 1000, INEXACT)
    gained: list[tuple[float, float]] = []
    for state in random_boxes(2, 3, 400):
        drawn = {edge for edge, is_drawn in zip(rules.edges, state.edges, strict=True) if is_drawn}
        sides = {box: rules.around(box) & drawn for box in rules.boxes}
        open_to = {edge for box in rules.boxes if len(sides[box]) == 2 for edge in rules.around(box)}
        index = int(solved_boxes(2, 3).index(stacked([state]))[0])
        worth = {
            action: -int(table[index | 1 << action])
            for action, edge in enumerate(rules.edges)
            if edge not in drawn | open_to
        }
        if all(len(each) != 3 for each in sides.values()) and len({*worth.values()}) > 1:
            chosen = player.choose(state, 0)
            assert chosen in worth
            gained.append((worth[chosen], float(np.mean([*worth.values()]))))
    assert len(gained) > 5
    assert np.mean([value for value, _ in gained]) > np.mean([mean for _, mean in gained]) + 0.5


@pytest.mark.slow
@pytest.mark.parametrize("strategies", [playing.STRATEGIES, INEXACT], ids=["all", "inexact"])
def test_moves_on_the_largest_board_are_open_and_take_no_longer_than_their_time_in_plain_python(
    strategies: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time of this thread, which does not count what other programs take."""
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    monkeypatch.setattr(clocks.time, "perf_counter", time.thread_time)
    player = DotsAndBoxesPlayer(DotsAndBoxes(8, 8), 9, 200, strategies)
    for seed, state in enumerate(random_boxes(8, 8, 40)):
        began = time.thread_time()
        assert not state.edges[player.choose(state, seed)]
        assert time.thread_time() - began < 0.2


# -- labels of the agent -----------------------------------------------------------------------------------------------


def test_analysis_has_the_labels_of_perfect_play() -> None:
    env = DotsAndBoxes(2, 2)
    table = jax.numpy.asarray(solved_boxes(2, 2).table.reshape(table_shape(env)))
    players = {reward: make_player(DotsAndBoxes(2, 2, reward), milliseconds=LONG) for reward in REWARDS}
    for state in random_boxes(2, 2, 6):
        worth = np.where(state.edges, -128, worth_of_edges(env, table, state.edges))
        lead = sum({state.current_player: 1, -1: 0}.get(owner, -1) for owner in state.owner.tolist())
        at_end = worth.max() + lead
        expected = {"boxes": worth.max(), "margin": at_end, "win_loss": np.sign(at_end)}
        for reward, player in players.items():
            assert player.analyse(state) == (np.flatnonzero(worth == worth.max()).tolist(), expected[reward])
        assert players["boxes"].best_actions(state) == players["boxes"].analyse(state)[0]


def test_analysis_without_a_search_to_the_end_has_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are many choices, or the nodes do not suffice: one open edge, and no more boxes than are left."""
    player, states = make_player(DotsAndBoxes(2, 2, "boxes"), milliseconds=50), random_boxes(2, 2, 10)
    for name, number in (("NODES_OF_ANALYSIS", 0), ("NODES_WITHOUT_CHOICE", math.inf)):
        with monkeypatch.context() as context:
            context.setattr(playing, name, number)
            for state in states:
                (edge,), value = player.analyse(state)
                assert not state.edges[edge]
                assert abs(value) <= (state.owner == -1).sum()
