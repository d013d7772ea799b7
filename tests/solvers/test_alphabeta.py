"""Parts of alpha-beta that all games share: entries of the table, pieces of work, machine code on disk."""

import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgames.games.checkers import search as checkers
from jaxgames.games.minichess.search_moves import make_chess
from jaxgames.solvers.alphabeta import clock as clocks
from jaxgames.solvers.alphabeta import compiled
from jaxgames.solvers.alphabeta.deepening import deepen
from jaxgames.solvers.alphabeta.search import GENERATION, new_search
from jaxgames.solvers.alphabeta.table import (
    GENERATION_RADIX,
    WIN,
    action_in,
    causes_cutoff,
    lower_in,
    pack_entry,
    probe,
    slot_of,
    store_bounds,
    upper_in,
    value_in,
)

VALUES = st.one_of(st.integers(-30, 30), st.integers(WIN - 60, WIN - 20), st.integers(20 - WIN, 60 - WIN))
WINDOWS = st.tuples(VALUES, VALUES).filter(lambda window: window[0] != window[1]).map(sorted)


# -- the table ---------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, database=None)
@given(value=VALUES, window=WINDOWS, asked=WINDOWS, depth=st.integers(0, 9), action=st.integers(0, 1249))
def test_entry_decides_where_its_bound_reaches(
    value: int, window: list[int], asked: list[int], depth: int, action: int
) -> None:
    """A value on or below the window is an upper bound, on or above it a lower bound, and inside exact."""
    entry = pack_entry(3, value, 5, window[0], window[1], depth, action)
    assert (value_in(entry, 5), action_in(entry)) == (value, action)
    is_upper, is_lower = value <= window[0], value >= window[1]
    expected = value <= asked[0] if is_upper else value >= asked[1] if is_lower else True
    assert causes_cutoff(entry, 5, depth, *asked) == expected
    assert not causes_cutoff(entry, 5, depth + 1, *asked)


def test_win_is_as_far_from_the_position_on_every_way_to_it() -> None:
    """A win 4 plies after a position that is 5 plies from the root; the same one is found 7 plies from the root."""
    for sign in (1, -1):
        entry = pack_entry(1, sign * (WIN - 9), 5, -1, 1, 2, 0)
        assert value_in(entry, 7) == sign * (WIN - 11)


def test_entry_is_found_by_both_words_and_the_number_of_the_search() -> None:
    table = [0] * 3 * 8
    place = slot_of(table, 12, 34)
    assert place in range(0, 24, 3)
    table[place : place + 3] = [12, 34, entry := pack_entry(2, 7, 0, 0, 9, 1, 5)]
    assert probe(table, place, 12, 34, 2) == entry
    for words in ((13, 34, 2), (12, 35, 2), (12, 34, 3)):
        assert probe(table, place, *words) == -1


def test_bounds_of_the_least_work_give_way_where_a_line_is_full() -> None:
    table = [0] * 2 * 4
    assert [store_bounds(table, 0, 4, key, -1, 1, work) for key, work in ((1, 5), (2, 0), (3, 9), (4, 4))] == [1] * 4
    assert store_bounds(table, 0, 4, 5, -127, 127, 7) == 0
    assert table[::2] == [1, 5, 3, 4]
    assert (lower_in(table[3]), upper_in(table[3])) == (-127, 127)


def test_generations_begin_again_with_an_empty_table() -> None:
    """The last of them would not fit beside the other parts of an entry."""
    search = checkers.make_search(checkers.EndRules(80, 1, 0), checkers.WEIGHTS["material"], 4, compiled=False)
    search.counts[GENERATION], search.table[2] = GENERATION_RADIX - 2, 7
    new_search(search)
    assert (search.counts[GENERATION], search.table[2]) == (GENERATION_RADIX - 1, 7)
    new_search(search)
    assert (search.counts[GENERATION], search.table[2]) == (1, 0)


# -- the clock and the moves at the root -------------------------------------------------------------------------------


def test_one_interrupted_piece_does_not_shorten_the_next_but_two_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces fill half of the time that is left of a second, by the lesser time per node of the last two pieces."""
    now, sizes, clock = [0.0], list[int](), clocks.Clock()
    monkeypatch.setattr(clocks, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    clock.start(1.0, clocks.NO_LIMIT)
    for seconds in (1e-4, 1e-4, 6e-2, 6e-2, 1e-4):

        def work(size: int, seconds: float = seconds) -> tuple[None, int]:
            sizes.append(size)
            now[0] += seconds
            return None, 100

        clock.run(work)
    assert sizes[3:] == pytest.approx([(1 - 0.0602) / 2e-6, (1 - 0.1202) / 1.2e-3], abs=1)


@pytest.mark.parametrize(("place", "expected"), [(2, [(2, 3), (0, 1)]), (0, [(1, 1), (2, 7), (0, 7)])])
def test_each_depth_begins_with_the_best_moves_of_the_last_one(place: int, expected: list[tuple[int, int]]) -> None:
    """The clock ends the third depth at one of its moves. Those before it count, or else the second depth."""
    values, tried = {1: (0, 9, 5), 2: (7, 1, 7), 3: (1, 2, 3)}, list[list[int]]()

    def values_at(moves: list[int], depth: int) -> Iterator[tuple[int, int]]:
        tried.append(moves)
        for move in moves:
            if depth == 3 and move == moves[place]:
                raise clocks.OutOfTimeError
            yield move, values[depth][move]

    assert deepen(range(3), range(1, 9), values_at) == expected
    assert tried == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


# -- machine code on disk ----------------------------------------------------------------------------------------------

CALLEE = """
from jaxgames.solvers.alphabeta.compiled import compiled

@compiled
def callee(number):
    return number + {}
"""
CALLER = """
from callee import callee
from jaxgames.solvers.alphabeta.compiled import compiled, function_for

def make(called):
    @compiled
    def total(number):
        return called(number) if number < 1 else 1 + total(number - 1)

    return total

TOTAL = make(callee)

def caller(number):
    return TOTAL(number)

if __name__ == "__main__":
    function = function_for(True)(caller)
    print(function(10), sum(function.stats.cache_hits.values()))
"""


@pytest.mark.slow  # processes with numba
@pytest.mark.skipif(not compiled.HAS_NUMBA, reason="needs numba")
def test_stored_code_of_other_sources_or_of_a_damaged_index_is_compiled_again(tmp_path: Path) -> None:
    def run() -> list[int]:
        paths = {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, str(tmp_path / "caller.py")]
        done = subprocess.run(command, env=os.environ | paths, check=True, capture_output=True)
        return [*map(int, done.stdout.split())]

    (tmp_path / "caller.py").write_text(CALLER)
    for added, stored in ((1, 0), (1, 1), (2, 0)):
        (tmp_path / "callee.py").write_text(CALLEE.format(added))
        os.utime(tmp_path / "callee.py", (2e9 + added, 2e9 + added))
        assert run() == [10 + added, stored]

    (index,) = (tmp_path / "cache").rglob("*.nbi")
    index.write_bytes(index.read_bytes().replace(b"caller", b"missed"))  # names what is gone, as after an update
    assert run() == [12, 0]
    index.write_bytes(index.read_bytes()[:-5])
    assert run() == [12, 0]
    assert run() == [12, 1]


def test_numba_that_is_switched_off_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    module = runpy.run_path(compiled.__file__)
    assert not module["HAS_NUMBA"]
    assert module["compiled"](make_chess) is make_chess
