"""Alpha-beta in checkers: captures, ends of the game and the table. In plain Python; see also `test_host_player`."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.search import (
    SEARCHED_GAME,
    WEIGHTS,
    EndRules,
    Position,
    alphabeta,
    make_search,
)
from jaxgames.solvers.alphabeta.clock import MAX_NODES, NO_LIMIT
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer, MoveValues, plies_to_end
from jaxgames.solvers.alphabeta.search import GENERATION, PLIES_LEFT
from jaxgames.solvers.alphabeta.table import GENERATION_RADIX, MINUS_INFINITY
from tests.games.checkers.cases import START
from tests.games.checkers.reference import Reference
from tests.solvers.checkers.slow_checkers import QUIET_LIMIT, state_of

LARGE_TABLE, NO_TABLE = 1 << 12, 0


def state(text: str, **leaves: int) -> Any:
    return state_of(replace(Reference().from_string(text), **leaves))


def search(text: str, depth: int, draw_rule: str = "wcdf", **leaves: int) -> tuple[set[str], MoveValues]:
    """The best moves in notation, and the values, with the material alone at the leaves."""
    env, board = Checkers(draw_rule=draw_rule), state(text, **leaves)
    player = HostSearchPlayer(SEARCHED_GAME, env, depth, None, "material", LARGE_TABLE, compiled=False)
    return {env.action_to_string(board, action) for action in player.best_actions(board)}, player.move_values(board)


def test_jumps_of_one_turn_take_one_level() -> None:
    """Two jumps are one turn, so one level sees that they win. The piece that must jump again moves alone."""
    best, values = search("B:W10,18:B6,12", depth=1)
    assert (best, values.value) == ({"6x15"}, 999.98)
    best, values = search("B:W9,18,28:B1,5,15:J15", depth=1)
    assert (best, len(values.values)) == ({"15x22"}, 1)


def test_captures_are_followed_to_their_end_without_a_level_left() -> None:
    """One level ends after 14-18 or 14-17. White must capture then, and only after 14-18 Black captures back."""
    env, board = Checkers(), state("B:W22,26:B8,11,14")
    values = search("B:W22,26:B8,11,14", 1)[1]
    by_move = {env.action_to_string(board, action): value for action, value in zip(*values[1:], strict=True)}
    assert by_move["14-18"] > 0.5
    assert by_move["14-17"] < 0.5


def test_sooner_win_and_later_loss_are_preferred() -> None:
    best, values = search("B:WK29:BK22,K31", depth=7)
    assert best == {"31-26", "31-27"}
    assert {plies_to_end(value) for value in values.values} == {None, 3, 7}
    best, values = search("W:WK1:BK10,K11,K7", depth=8)
    assert best == {"1-5"}
    assert (values.values, [plies_to_end(value) for value in values.values]) == ([-999.98, -999.91], [2, 9])


@pytest.mark.parametrize("draw_rule", QUIET_LIMIT)
def test_win_comes_before_the_draw_or_too_late(draw_rule: str) -> None:
    """The king is caught in the third ply, by a capture."""
    limit = QUIET_LIMIT[draw_rule]
    assert plies_to_end(search("B:WK29:BK22,K31", 3, draw_rule, quiet=limit - 3)[1].value) == 3
    best, values = search("B:WK29:BK22,K31", 4, draw_rule, quiet=limit - 2)
    assert (len(best), values.value, plies_to_end(values.value)) == (6, 0, None)


def test_blocking_move_at_the_limit_wins_only_where_a_win_comes_first() -> None:
    text = "W:WK27:B28"  # 27-32 blocks Black
    assert search(text, 1, "wcdf", quiet=79)[1].value == 999.99
    assert search(text, 1, "openspiel", quiet=38)[1].value == 999.99
    assert search(text, 1, "openspiel", quiet=39)[1].value == 0


def test_search_wins_by_a_lead_where_that_ends_the_game() -> None:
    """With four pieces against one, White wins in turn 40; with three it does not; at turn 60 one more piece wins."""
    assert search("W:WK29,30,31,32:BK1", 2, "adjudicated", quiet=39)[1].value == 999.99
    assert search("B:WK29,30,31,32:BK1", 2, "adjudicated", quiet=38)[1].value == -999.98
    assert abs(search("W:WK30,31,32:BK1", 1, "adjudicated", quiet=39)[1].value) < 900
    assert search("W:WK31,32:BK1", 1, "adjudicated", quiet=59)[1].value == 999.99
    assert search("W:WK32:BK1", 2, "adjudicated", quiet=59)[1].value == 0


TABLE_RULES = {
    "wcdf": EndRules(80, men_progress=1, draw_first=0),
    "openspiel": EndRules(40, men_progress=0, draw_first=1),
    "adjudicated": EndRules(60, men_progress=0, draw_first=1, lead_from=40, least_lead=3),
}


@pytest.mark.parametrize("draw_rule", TABLE_RULES)
def test_table_changes_no_value_near_the_ends_of_the_game(draw_rule: str) -> None:
    """One table for all of them, as if they had come up in one search."""
    rules = TABLE_RULES[draw_rule]
    ends = [limit for limit in (rules.lead_from, rules.draw_at) if limit > 0]
    quiets = [0, *(quiet for limit in ends for quiet in range(limit - 5, limit))]
    boards = [state(text) for text in ("B:WK29:BK22,K31", "B:W29:BK22,K31", "W:WK6,K9:BK1", "B:WK29:BK1,K2,K3,K4")]
    searches = [make_search(rules, WEIGHTS["material"], size, compiled=False) for size in (LARGE_TABLE, NO_TABLE)]
    values: set[int] = set()
    for depth in (3, 2, 1, 2, 3, 4):
        limits = [(quiet, NO_LIMIT) for quiet in quiets] + [(0, left) for left in range(1, 6)]
        for board, (quiet, plies_left) in itertools.product(boards, limits):
            position = Position(int(board.own), int(board.opponents), int(board.kings), 0, quiet)
            value: list[int] = []
            for space in searches:
                space.counts[MAX_NODES], space.counts[PLIES_LEFT], space.counts[GENERATION] = NO_LIMIT, plies_left, 1
                value.append(alphabeta(space, position, 0, depth, MINUS_INFINITY, -MINUS_INFINITY, 0))
            assert value[0] == value[1]
            values.add(value[0])
    assert len(values) > 1


def test_generations_begin_again_with_an_empty_table() -> None:
    """The last of them would not fit beside the other parts of an entry."""
    player, board = (
        HostSearchPlayer(SEARCHED_GAME, Checkers(), 3, None, "material", LARGE_TABLE, compiled=False),
        state(START),
    )
    expected = player.move_values(board)
    counts = player._search.counts  # pyright: ignore[reportPrivateUsage]  # 4 million moves are too many
    counts[GENERATION] = GENERATION_RADIX - 2
    assert [player.move_values(board) for _ in range(3)] == [expected] * 3
    assert counts[GENERATION] == 2


def test_player_beats_random_play_from_both_seats() -> None:
    player, reference = (
        HostSearchPlayer(SEARCHED_GAME, Checkers(), 2, None, "positional", LARGE_TABLE, compiled=False),
        Reference(),
    )
    rng = np.random.default_rng(0)
    for seat in (0, 1):
        position = reference.start()
        while not position.over:
            moves = reference.moves(position)
            mine = position.seat == seat
            action = player.choose(state_of(position), position.ply) if mine else int(rng.choice(list(moves)))
            position = reference.after(position, moves[action])
        assert position.rewards[seat] == 1
