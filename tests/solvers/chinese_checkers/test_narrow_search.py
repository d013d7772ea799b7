"""A search that leaves positions out proves nothing: its game may be longer, and its lower bound stays true."""

from jaxgames.solvers.chinese_checkers.lone_player import shortest_solo


def test_lower_bound_is_true_after_a_search_that_left_positions_out() -> None:
    """The shortest game of size 2 has 11 turns; with 4 positions per level a game of 14 is found first."""
    first = shortest_solo(2, width=4, prove=False, compiled=False, progress=False)
    assert (len(first.turns), first.lower_bound, first.is_shortest) == (14, 11, False)
    proven = shortest_solo(2, width=4, compiled=False, progress=False)
    assert (len(proven.turns), proven.is_shortest) == (11, True)
