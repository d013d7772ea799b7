"""Entries of the transposition table: what was stored is read back, and used only where it decides."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgames.solvers.alphabeta.table import WIN, action_in, causes_cutoff, pack_entry, probe, slot_of, value_in

VALUES = st.one_of(st.integers(-30, 30), st.integers(WIN - 60, WIN - 20), st.integers(20 - WIN, 60 - WIN))
WINDOWS = st.tuples(VALUES, VALUES).filter(lambda window: window[0] != window[1]).map(sorted)


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
