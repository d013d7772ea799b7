"""The exact search in Dots and Boxes: values, closed forms of its work, all switches, windows and bad input."""

import dataclasses
import itertools
import math
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames._checks import ParameterError
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.dots_and_boxes import exact as dots_and_boxes_search
from jaxgames.solvers.dots_and_boxes.exact import Options, Search, SearchResult, search
from jaxgames.wrappers import auto_reset
from tests.helpers.solved import solved_boxes

SWITCHES = [field.name for field in dataclasses.fields(Options)]
NONE = Options(**dict.fromkeys(SWITCHES, False))
TABLE = dataclasses.replace(NONE, table=True)
SYMMETRIES = dataclasses.replace(TABLE, symmetries=True)
CHAINS = dataclasses.replace(SYMMETRIES, chains=True)
ALPHABETA = dataclasses.replace(CHAINS, alphabeta=True, centre_first=True)
ALL_OPTIONS = [Options(*switches) for switches in itertools.product([False, True], repeat=len(SWITCHES))]
SOME_OPTIONS = ALL_OPTIONS[::7]  # with every pair of values of every two switches
ORDER = ("early_termination", "fewest_boxes_first", "openers")  # switches that other searches do not have
OTHERS = dataclasses.replace(Options(), **dict.fromkeys(ORDER, False))
FOUND_VALUES = {(1, 1): -1, (1, 2): 0, (1, 3): -1, (2, 2): 2, (2, 3): -2, (3, 3): -3, (2, 4): 2, (3, 4): 0}

needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="takes hours in plain Python")


def plainly(rows: int, cols: int, *arguments: Any, **named: Any) -> SearchResult:
    return search(DotsAndBoxes(rows, cols), *arguments, **named, compiled=False, progress=False)


def quickly(rows: int, cols: int, *arguments: Any, **named: Any) -> SearchResult:
    return search(DotsAndBoxes(rows, cols), *arguments, **named, progress=False)


def random_sets(rows: int, cols: int, open_edges: int, number: int) -> list[int]:
    """Random sets of edges with so many open ones."""
    random, num_edges = np.random.default_rng(0), DotsAndBoxes(rows, cols).num_edges
    chosen = [random.choice(num_edges, num_edges - open_edges, replace=False).tolist() for _ in range(number)]
    return [sum(1 << edge for edge in drawn) for drawn in chosen]


def state_of(rows: int, cols: int, drawn: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[0], solved_boxes(rows, cols).states_at(np.array([drawn])))


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 2)])
def test_value_of_the_start_is_that_of_other_programs(rows: int, cols: int) -> None:
    assert plainly(rows, cols).value == FOUND_VALUES[min(rows, cols), max(rows, cols)]


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize(("rows", "cols"), [(3, 3), (2, 4), (4, 2), (3, 4)])
def test_value_of_a_larger_board_is_that_of_other_programs(rows: int, cols: int) -> None:
    assert quickly(rows, cols).value == FOUND_VALUES[min(rows, cols), max(rows, cols)]


def test_some_options_have_every_pair_of_switches() -> None:
    for first, second in itertools.combinations(SWITCHES, 2):
        assert len({(getattr(each, first), getattr(each, second)) for each in SOME_OPTIONS}) == 4


@pytest.mark.parametrize(
    "options", SOME_OPTIONS, ids=lambda options: "".join("01"[on] for on in vars(options).values())
)
def test_combinations_of_switches_have_the_same_values(options: Options) -> None:
    assert plainly(1, 1, options=options).value == -1
    for drawn in random_sets(2, 2, 5, 4):
        assert plainly(2, 2, state_of(2, 2, drawn), options).value == solved_boxes(2, 2).table[drawn]


@pytest.mark.slow
@needs_numba
def test_combinations_of_switches_have_the_same_values_on_larger_boards() -> None:
    for options in SOME_OPTIONS:
        assert quickly(1, 2, options=options).value == 0
        for drawn in random_sets(2, 3, 8, 20):
            assert quickly(2, 3, state_of(2, 3, drawn), options).value == solved_boxes(2, 3).table[drawn]
        for drawn in random_sets(3, 3, 9, 10):
            assert quickly(3, 3, state_of(3, 3, drawn), options).value == solved_boxes(3, 3).table[drawn]
    for drawn in random_sets(3, 3, 15, 200):
        assert quickly(3, 3, state_of(3, 3, drawn)).value == solved_boxes(3, 3).table[drawn]


@pytest.mark.parametrize("name", [*ORDER, "all"])
def test_switch_keeps_the_value_of_every_position_of_2x2(name: str) -> None:
    """Positions with few open edges come first, so each of the others is one move from bounds that the table has."""
    table, states = solved_boxes(2, 2).table, solved_boxes(2, 2).states_at(np.arange(4096))
    options = Options() if name == "all" else dataclasses.replace(OTHERS, **{name: True})
    running = Search(DotsAndBoxes(2, 2), options=options, compiled=False)
    for drawn in sorted(range(4096), key=lambda drawn: -drawn.bit_count()):
        margin = int(table[drawn])
        window = (None, (margin - 1, margin + 1), (0, 1))[drawn % 3]
        running.restart(jax.tree.map(lambda leaf, drawn=drawn: np.asarray(leaf)[drawn], states), window)
        assert running.advance(10_000)
        value = running.result().value
        assert value == margin if window != (0, 1) else (value > 0) == (margin > 0), (drawn, window)


def test_restart_begins_a_search_with_the_table_as_it_is() -> None:
    running = Search(DotsAndBoxes(2, 2), compiled=False)
    assert not running.advance(5)
    running.restart(state_of(2, 2, 0b11))
    assert running.advance(100_000)
    assert running.result().value == solved_boxes(2, 2).table[0b11]
    nodes = running.result().nodes
    running.restart(state_of(2, 2, 0b11))
    assert running.advance(100_000)
    assert running.result().nodes == nodes + 1
    with pytest.raises(ParameterError, match="window"):
        running.restart(window=(1, 1))


def test_owners_seat_and_reward_do_not_matter() -> None:
    for text in ("111010110110 0.1. 0", "111010110110 1.1. 1"):
        env = jaxgames.make("dots_and_boxes(rows=2, cols=2, reward='margin')")
        assert search(env, env.from_string(text), compiled=False).value == solved_boxes(2, 2).table[0b011011010111]


def test_finished_board_has_value_0() -> None:
    result = plainly(2, 2, state_of(2, 2, 4095))
    assert result[:3] == (0, 1, 0)


def test_wrapper_that_keeps_the_rules_is_searched() -> None:
    assert search(auto_reset(DotsAndBoxes(1, 2)), compiled=False).value == 0


# -- work --------------------------------------------------------------------------------------------------------------


def test_naive_search_looks_at_every_order_of_edges() -> None:
    """The number of orders in which some of E edges are drawn is floor(E! e)."""
    assert plainly(1, 1, options=NONE)[:3] == (-1, math.floor(math.factorial(4) * math.e), 0)
    assert plainly(1, 2, options=NONE)[:3] == (0, 13_700, 0)
    assert math.floor(math.factorial(7) * math.e) == 13_700


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 2), (1, 3), (2, 2)])
def test_table_holds_every_set_of_edges_but_the_last(rows: int, cols: int) -> None:
    edges = DotsAndBoxes(rows, cols).num_edges
    assert plainly(rows, cols, options=TABLE)[1:3] == (1 + edges * 2 ** (edges - 1), 2**edges - 1)


@pytest.mark.parametrize(("rows", "cols", "orbits"), [(1, 2, 48), (1, 3, 312), (2, 2, 570)])
def test_table_holds_every_orbit_but_the_last_with_symmetries(rows: int, cols: int, orbits: int) -> None:
    assert plainly(rows, cols, options=SYMMETRIES).keys == orbits - 1


@pytest.mark.slow
@needs_numba
def test_work_on_larger_boards_is_that_of_the_closed_forms() -> None:
    """The table of 2 x 3 and 3 x 3 has an entry for each set. An entry that is lost shows as another node."""
    assert quickly(1, 3, options=NONE).nodes == math.floor(math.factorial(10) * math.e) == 9_864_101
    assert quickly(2, 3, options=TABLE)[:3] == (-2, 1_114_113, 131_071)
    assert quickly(2, 3, options=SYMMETRIES)[:3] == (-2, 283_969, 33_407)
    assert quickly(3, 3, options=TABLE)[:3] == (-3, 201_326_593, 16_777_215)
    result = quickly(3, 3, options=SYMMETRIES)
    assert (result.value, result.keys) == (-3, 2_102_799)


@pytest.mark.parametrize(
    ("rows", "cols", "options", "nodes", "keys"),
    [
        *[(1, 2, CHAINS, 175, 30), (1, 3, CHAINS, 1_266, 159), (2, 2, CHAINS, 2_392, 254)],
        *[(1, 2, ALPHABETA, 66, 13), (1, 3, ALPHABETA, 462, 82), (2, 2, ALPHABETA, 1_355, 210)],
        *[(2, 2, OTHERS, 556, 81), (2, 3, OTHERS, 8_205, 990)],
    ],
)
def test_work_is_at_most_that_of_another_search(rows: int, cols: int, options: Options, nodes: int, keys: int) -> None:
    """A trial that gave a node to every capture; the keys of both are the same where the order of moves is."""
    result = plainly(rows, cols, options=options)
    assert (result.nodes <= nodes, result.keys <= keys) == (True, True)


@pytest.mark.slow
@needs_numba
def test_each_improvement_saves_work_on_3x3() -> None:
    results = [quickly(3, 3, options=options) for options in (CHAINS, ALPHABETA, OTHERS, Options())]
    assert [result.value for result in results] == [-3] * 4
    nodes, keys = ([getattr(result, name) for result in results] for name in ("nodes", "keys"))
    assert nodes[0] >= 2 * nodes[1] >= 4 * nodes[2] >= 8 * nodes[3]
    assert keys[0] >= 2 * keys[1] >= 4 * keys[2] >= 6 * keys[3]
    assert (nodes[2] <= 348_760, keys[2] <= 34_794) == (True, True)  # those of another search


@pytest.mark.slow
@needs_numba
def test_compiled_search_does_the_same_work_as_plain_python() -> None:
    for options in (CHAINS, ALPHABETA, Options()):
        assert quickly(2, 3, options=options)[:3] == plainly(2, 3, options=options)[:3]


@pytest.mark.parametrize("table_size", [4, 64, 2**11, 2**12])
def test_value_does_not_depend_on_the_size_of_the_table(table_size: int) -> None:
    result = plainly(2, 2, table_size=table_size)
    assert result.value == 2
    assert 0 < result.keys <= min(table_size, 52)
    small = plainly(1, 2, options=TABLE, table_size=min(table_size, 64))
    assert small.value == 0
    assert 4 <= small.keys <= 64


def test_early_termination_ends_a_search_that_is_decided() -> None:
    """Fewer than four boxes are left. So no margin is above 4, and a window from 4 to 5 is decided at the start."""
    state = state_of(2, 2, 0b111111111111 ^ 0b1001)  # two edges are open
    for early_termination in (False, True):
        options = dataclasses.replace(OTHERS, early_termination=early_termination)
        result = plainly(2, 2, state, options, window=(4, 5))
        assert result.value <= 4
        assert (result.nodes == 1) == early_termination


# -- windows -----------------------------------------------------------------------------------------------------------


def test_value_in_a_window_is_the_margin_or_a_bound_of_it() -> None:
    for drawn in random_sets(2, 2, 8, 4):
        margin, state = int(solved_boxes(2, 2).table[drawn]), state_of(2, 2, drawn)
        for alpha, beta in itertools.combinations(range(-5, 6), 2):
            value = plainly(2, 2, state, window=(alpha, beta)).value
            assert value == margin if alpha < margin < beta else (value <= alpha) == (margin <= alpha)
            assert margin <= value if value <= alpha else True
            assert margin >= value if value >= beta else True


# -- interruption ------------------------------------------------------------------------------------------------------


def test_search_in_parts_does_the_same_work() -> None:
    running, shares = Search(DotsAndBoxes(2, 2), compiled=False), [0.0]
    while not running.advance(7):
        shares.append(running.share())
    assert running.advance()
    assert running.result()[:3] == plainly(2, 2)[:3]
    assert shares == sorted(shares)
    assert 0 < shares[-1] <= 1


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"env": DotsAndBoxes(5, 6)}, ("71 edges", "62 edges", "alphabeta")),
        ({"env": DotsAndBoxes(1, 9)}, ("rows and cols from 1 to 8",)),
        ({"env": jaxgames.make("minichess")}, ("dots_and_boxes", "not minichess")),
        ({"env": "dots_and_boxes"}, ("expected an env",)),
        ({"state": DotsAndBoxes(2, 3).init()}, ("bool[12]", "not edges of shape [17]")),
        ({"state": "111"}, ("one state", "not str")),
        ({"table_size": 1000}, ("table_size", "1024", "not 1000")),
        ({"table_size": 2}, ("table_size", "4 to 1073741824", "not 2")),
        ({"table_size": 2**31}, ("table_size", "4 to 1073741824")),
        ({"table_size": 4.0}, ("table_size", "integer")),
        ({"table_size": 64, "options": NONE}, ("table_size needs table=True",)),
        ({"window": (0, 1), "options": TABLE}, ("window needs alphabeta=True",)),
        ({"window": (1, 1)}, ("(alpha, beta)", "-63", "(1, 1)")),
        ({"window": (0, 64)}, ("window", "63", "(0, 64)")),
        ({"window": (0.0, 1)}, ("window", "integers", "(0.0, 1)")),
        ({"window": 3}, ("window", "integers", "3")),
        ({"options": "all"}, ("Options(corners=False)", "'all'")),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], names: tuple[str, ...]) -> None:
    every: dict[str, Any] = {"env": DotsAndBoxes(2, 2), "compiled": False, **arguments}
    with pytest.raises(ParameterError) as error:
        search(**every)
    assert all(name in str(error.value) for name in names)


def test_switches_are_true_or_false() -> None:
    with pytest.raises(ParameterError, match="corners must be one of False, True, not 'no'"):
        Options(corners="no")  # pyright: ignore[reportArgumentType]  # on purpose


def test_table_that_does_not_fit_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(length: int, compiled: bool) -> Any:
        if length > 2**20:
            raise MemoryError
        return [0] * length

    monkeypatch.setattr(dots_and_boxes_search, "_zeros", no_memory)
    with pytest.raises(ParameterError, match=r"16,777,216 entries takes 0.2 GiB, .* pass a smaller table_size"):
        plainly(3, 3)


def test_compiled_search_without_numba_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dots_and_boxes_search, "HAS_NUMBA", False)
    with pytest.raises(ParameterError, match=r"pip install 'jaxgames\[numba\]', or pass compiled=False"):
        search(DotsAndBoxes(1, 1), compiled=True)
