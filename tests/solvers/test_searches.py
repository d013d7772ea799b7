"""Alpha-beta in checkers and in 5 x 5 chess: moves as words, the ends of the game, repetitions, returns.

In plain Python unless slow. Moves are those of the slow references. `test_host_player.py` compares values with those of
minimax.
"""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers import search as checkers
from jaxgames.games.checkers import search_moves as checkers_moves
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess import search as chess
from jaxgames.games.minichess import search_moves as chess_moves
from jaxgames.solvers.alphabeta.clock import MAX_NODES, NO_LIMIT
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer, plies_to_end
from jaxgames.solvers.alphabeta.search import GENERATION, PLIES_LEFT
from jaxgames.solvers.alphabeta.table import MINUS_INFINITY
from tests.games.checkers.reference import Reference
from tests.games.minichess.cases import KNIGHTS_HOME, make_reference
from tests.games.minichess.reference import Position, is_dead
from tests.solvers import slow_checkers, slow_minichess

STANDARD, KING_CAPTURE = Minichess(), Minichess(rules="king_capture")
LARGE_TABLE, NO_TABLE = 1 << 12, 0
LETTERS = "pnbrqk"  # kinds 1 to 6


def player(env: Any, depth: int, table: int = LARGE_TABLE, compiled: bool = False) -> HostSearchPlayer:
    game = checkers.SEARCHED_GAME if isinstance(env, Checkers) else chess.SEARCHED_GAME
    return HostSearchPlayer(game, env, depth, None, "material", table, compiled=compiled)


# -- moves -------------------------------------------------------------------------------------------------------------


def test_moves_of_checkers_follow_the_reference() -> None:
    """Also those that come next, which are often in the middle of captures."""
    reference, rng = Reference(), np.random.default_rng(1)
    num_jumps_on, room = 0, [0] * checkers_moves.MAX_MOVES
    for position in slow_checkers.positions(reference, 1, 120):
        for _ in range(4):
            moves, words = reference.moves(position), slow_checkers.words(position)
            assert checkers_moves.opponent_can_jump(*words[:3]) == slow_checkers.is_threatened(reference, position)
            number = checkers_moves.write_moves(checkers_moves.legal_sources(*words), room, 0)
            assert sorted(room[:number]) == sorted(moves)
            action = int(rng.choice(sorted(moves)))
            position = reference.after(position, moves[action])
            *found, _ = checkers_moves.moved(*words[:3], action)
            assert tuple(found) == slow_checkers.words(position), reference.to_string(position)
            num_jumps_on += position.jumper is not None
            if position.over:
                break
    assert num_jumps_on > 30


@pytest.mark.parametrize("number", [4, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "env",
    [
        STANDARD,
        KING_CAPTURE,
        Minichess(board="baby", double_step=True, promotion="queen"),
        Minichess(board="mallet", rules="king_capture", double_step=True),
    ],
    ids=str,
)
def test_moves_of_chess_follow_the_reference(env: Minichess, number: int) -> None:
    """And the positions after them, checks and dead positions."""
    reference, rng = make_reference(env), np.random.default_rng(number)
    game, room = chess_moves.make_chess(env, compiled=False), [0] * chess_moves.MAX_MOVES
    positions = [kind(reference, rng, number) for kind in (slow_minichess.endings, slow_minichess.placements)]
    for position in itertools.chain(*positions):
        pieces = chess_moves.pieces_of(slow_minichess.state_of(position, env, reference))
        moves = reference.moves(position)
        assert sorted(room[: chess_moves.write_legal_moves(game, pieces, room, 0)]) == sorted(moves), position
        if reference.king_capture:
            noisy = sorted(action for action, move in moves.items() if slow_minichess.is_noisy(position, move))
            assert sorted(room[: chess_moves.write_moves(game, pieces, 1, room, 0)]) == noisy
        in_check = reference.can_take_king(Position(board=position.board, seat=1 - position.seat))
        assert chess_moves.king_is_attacked(game, pieces) == in_check
        assert chess_moves.cannot_mate(pieces) == is_dead(position.board)
        action = int(rng.choice(sorted(moves)))
        after, is_irreversible = chess_moves.moved(game, pieces, action)
        following = reference.after(position, moves[action])
        assert chess_moves.turned(after) == chess_moves.pieces_of(env.from_string(following.fen))
        assert is_irreversible == (following.quiet == 0)


@settings(max_examples=200, deadline=None, database=None)
@given(
    cells=st.permutations(range(25)),
    kinds=st.lists(st.sampled_from("bbbbn"), max_size=4) | st.lists(st.sampled_from("pnbrq"), max_size=2),
)
def test_material_cannot_mate_if_the_reference_says_so(cells: list[int], kinds: list[str]) -> None:
    """Bishops stand on cells of one colour in about half of the boards that have two."""
    pieces = dict(zip(cells, ["k", "k", *kinds], strict=False))
    bits = (sum(1 << cell for cell, letter in pieces.items() if (LETTERS.index(letter) + 1) & bit) for bit in (1, 2, 4))
    dead = is_dead({divmod(cell, 5): letter for cell, letter in pieces.items()})
    assert chess_moves.cannot_mate(chess_moves.Pieces(0, *bits)) == dead


# -- ends of the game --------------------------------------------------------------------------------------------------

WCDF, OPENSPIEL, ADJUDICATED = (Checkers(draw_rule=rule) for rule in ("wcdf", "openspiel", "adjudicated"))
LIMITED = Minichess(max_plies=42)
TWO_ROOKS = "4k/5/1R3/R4/4K w - - {}"  # the king cannot leave the last rank; then the other rook mates there


@pytest.mark.parametrize(
    ("text", "turns", "value"),
    [
        ("W:WK29,30,31,32:BK1", 39, 999.99),  # four pieces against one win in turn 40
        ("B:WK29,30,31,32:BK1", 38, -999.98),
        ("W:WK31,32:BK1", 59, 999.99),  # and one piece more in turn 60
        ("W:WK32:BK1", 59, 0),
    ],
)
def test_lead_wins_in_the_turns_of_adjudication(text: str, turns: int, value: float) -> None:
    state = slow_checkers.state_of(replace(Reference().from_string(text), quiet=turns))
    assert player(ADJUDICATED, 2).move_values(state).value == value


@pytest.mark.parametrize(
    ("env", "text", "depth", "best", "plies"),
    [
        (STANDARD, "k4/5/K4/5/4R w - - 0 20", 1, {"e1e5"}, {1}),
        (STANDARD, "k4/5/K4/5/4R w - - 99 60", 1, {"e1e5"}, {1}),  # the mate comes before the draw
        (STANDARD, TWO_ROOKS.format("0 20"), 3, {"a2a4", "b3b4"}, {3}),
        (STANDARD, TWO_ROOKS.format("98 60"), 3, None, set()),  # too late
        (LIMITED, TWO_ROOKS.format("0 20"), 3, {"a2a4", "b3b4"}, {3}),
        (LIMITED, TWO_ROOKS.format("0 21"), 3, None, set()),
        (KING_CAPTURE, "5/kK3/5/5/4R b - - 0 20", 1, {"a4b4"}, {1, 2}),  # the king is captured
        (KING_CAPTURE, "k3R/5/5/5/4K b - - 0 20", 2, {"a5a4", "a5b4"}, {2}),  # or saved
    ],
)
def test_best_moves_of_chess_and_plies_to_the_end_are_the_known_ones(
    env: Minichess, text: str, depth: int, best: set[str] | None, plies: set[int]
) -> None:
    board, searched = env.from_string(text), player(env, depth)
    assert {plies_to_end(value) for value in searched.move_values(board).values} - {None} == plies
    found = {env.action_to_string(board, action) for action in searched.best_actions(board)}
    assert found == best if best else len(found) > 1


@pytest.mark.parametrize("env", [WCDF, OPENSPIEL, ADJUDICATED], ids=str)
def test_table_changes_no_value_near_the_ends_of_checkers(env: Checkers) -> None:
    """One table for all of them, as if they had come up in one search."""
    rules = checkers.rules_of(env)
    ends = [limit for limit in (rules.lead_from, rules.draw_at) if limit > 0]
    quiets = [0, *(quiet for limit in ends for quiet in range(limit - 5, limit))]
    limits = [(quiet, NO_LIMIT) for quiet in quiets] + [(0, left) for left in range(1, 6)]
    texts = ("B:WK29:BK22,K31", "B:W29:BK22,K31", "W:WK6,K9:BK1", "B:WK29:BK1,K2,K3,K4")
    boards = [slow_checkers.words(Reference().from_string(text)) for text in texts]
    weights = checkers.WEIGHTS["material"]
    searches = [checkers.make_search(rules, weights, size, compiled=False) for size in (LARGE_TABLE, NO_TABLE)]
    values: set[int] = set()
    for depth, board, (quiet, plies_left) in itertools.product((3, 2, 1, 2, 3, 4), boards, limits):
        value: list[int] = []
        for space in searches:
            space.counts[MAX_NODES], space.counts[PLIES_LEFT], space.counts[GENERATION] = NO_LIMIT, plies_left, 1
            position = checkers.Position(*board, quiet)
            value.append(checkers.alphabeta(space, position, 0, depth, MINUS_INFINITY, -MINUS_INFINITY, 0))
        assert value[0] == value[1]
        values.add(value[0])
    assert len(values) > 1


# -- repetitions of chess ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_repetitions_are_valued_as_by_minimax_in_a_deep_search() -> None:
    """Few pieces that go back and forth: third occurrences come within the depth, with and without a table."""
    reference, rng = make_reference(STANDARD), np.random.default_rng(5)
    minimax = slow_minichess.minimax(reference, "material")
    players = [player(STANDARD, 4, table, compiled=HAS_NUMBA) for table in (LARGE_TABLE, NO_TABLE)]
    for position in slow_minichess.shuffles(reference, rng, 12):
        if len(position.board) > 5:
            continue
        expected = list(minimax.values(position, 4).values())
        for each in players:
            values = each.move_values(slow_minichess.state_of(position, STANDARD, reference)).values
            assert [round(100 * value) for value in values] == expected, position


def test_table_is_left_out_where_a_third_occurrence_can_come_within_the_depth() -> None:
    """A position can occur again 4, 6, ... plies later: both sides leave and return."""
    for quiet, depth in itertools.product(range(9), range(1, 12)):
        last = quiet + depth + 1
        thirds = [
            (first, second)
            for first, second in itertools.product(range(quiet + 1), range(quiet + 1, last + 1))
            if second - first >= 4 and (second - first) % 2 == 0 and second + 4 <= last
        ]
        assert chess.can_occur_again(0, quiet, depth) == bool(thirds), (quiet, depth)
        assert chess.can_occur_again(1, quiet, depth)


def test_third_occurrence_is_a_draw_that_the_side_with_a_queen_less_seeks() -> None:
    reference = make_reference(STANDARD)
    position = reference.from_string("rnb1k/ppppp/5/PPPPP/RNBQK w - - 0 1")
    for text in (KNIGHTS_HOME * 2)[:-1]:
        moves = {reference.move_to_string(position, move): move for move in reference.moves(position).values()}
        position = reference.after(position, moves[text])
    state = slow_minichess.state_of(position, STANDARD, reference)
    values, back = player(STANDARD, 1).move_values(state), STANDARD.action_from_string(state, KNIGHTS_HOME[-1])
    assert values.value == values.values[values.actions.index(back)] == 0
    assert sorted(values.values)[-2] < -2


# -- returns of chess --------------------------------------------------------------------------------------------------


def test_expected_returns_are_in_the_unit_of_the_rewards() -> None:
    for rules, king in (("standard", 0.0), ("king_capture", 60.0)):
        for reward in ("win_loss", "material"):
            env = Minichess(rules=rules, reward=reward)
            board, scale = env.from_string("k4/5/5/5/KR3 w - - 0 20"), chess.SEARCHED_GAME.scale
            lead = math.tanh(479 / scale)
            expected = (lead, 1.0) if reward == "win_loss" else (king * lead, king)
            returned = player(env, 1, NO_TABLE).expected_return
            assert returned(board, 479) == pytest.approx(expected[0])
            assert (returned(board, 100_000 - 3), returned(board, 3 - 100_000)) == (expected[1], -expected[1])
            if reward == "material":  # a rook in the bank, and a queen that the search wins
                gained = king * math.tanh((479 + 929) / scale) + 0.929
                assert returned(board, 479 + 929) == pytest.approx(gained)
