"""Alpha-beta in 5 x 5 chess: moves as words, repetitions, ends of the game, returns. In plain Python unless slow.

Moves: known counts, and the slow reference. `test_host_player.py` compares values with those of minimax.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess.search import SEARCHED_GAME, can_occur_again
from jaxgames.games.minichess.search_moves import (
    MAX_MOVES,
    Chess,
    Pieces,
    cannot_mate,
    king_is_attacked,
    make_chess,
    moved,
    pieces_of,
    turned,
    write_legal_moves,
    write_moves,
)
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, compiled, function_for, ints
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer, plies_to_end
from tests.games.minichess.cases import KNIGHTS_HOME, make_reference
from tests.games.minichess.reference import Position, is_dead
from tests.games.test_perft import PERFT
from tests.solvers.slow_minichess import endings, is_noisy, minimax, placements, shuffles, state_of

STANDARD, KING_CAPTURE = Minichess(), Minichess(rules="king_capture")
LARGE_TABLE, NO_TABLE = 1 << 12, 0
LETTERS = "pnbrqk"  # kinds 1 to 6


# -- moves -------------------------------------------------------------------------------------------------------------


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
def test_moves_follow_the_reference(env: Minichess, number: int) -> None:
    """And the positions after them, checks and dead positions."""
    reference, rng, chess = make_reference(env), np.random.default_rng(number), make_chess(env, compiled=False)
    for position in endings(reference, rng, number) + placements(reference, rng, number):
        pieces, moves = pieces_of(state_of(position, env, reference)), reference.moves(position)
        legal = [0] * MAX_MOVES
        assert sorted(legal[: write_legal_moves(chess, pieces, legal, 0)]) == sorted(moves), position
        if reference.king_capture:
            noisy = [0] * MAX_MOVES
            expected = sorted(action for action, move in moves.items() if is_noisy(position, move))
            assert sorted(noisy[: write_moves(chess, pieces, 1, noisy, 0)]) == expected
        in_check = reference.can_take_king(Position(board=position.board, seat=1 - position.seat))
        assert king_is_attacked(chess, pieces) == in_check
        assert cannot_mate(pieces) == is_dead(position.board)
        action = int(rng.choice(sorted(moves)))
        after, is_irreversible = moved(chess, pieces, action)
        following = reference.after(position, moves[action])
        assert turned(after) == pieces_of(env.from_string(following.fen))
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
    assert cannot_mate(Pieces(0, *bits)) == is_dead({divmod(cell, 5): letter for cell, letter in pieces.items()})


@compiled
def num_sequences(chess: Chess, pieces: Pieces, plies: int, moves: Any, begin: int) -> int:
    """The number of sequences of a number of moves, draws left out. `moves` has room for all plies."""
    if plies == 0:
        return 1
    number = write_legal_moves(chess, pieces, moves, begin)
    total = 0
    for place in range(begin, begin + number):
        after, _ = moved(chess, pieces, moves[place])
        total += num_sequences(chess, turned(after), plies - 1, moves, begin + number)
    return total


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="takes minutes in plain Python")
@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_sequences_is_the_known_one(text: str, parameters: dict[str, Any], leaves: list[int]) -> None:
    env: Any = jaxgames.make("minichess", **parameters)
    chess, pieces, moves = make_chess(env, compiled=True), pieces_of(env.from_string(text)), [0] * 8 * MAX_MOVES
    count, space = function_for(True)(num_sequences), ints(moves, compiled=True)
    assert [count(chess, pieces, plies, space, 0) for plies in range(1, len(leaves) + 1)] == leaves


# -- repetitions -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_repetitions_are_valued_as_by_minimax_in_a_deep_search() -> None:
    """Few pieces that go back and forth: third occurrences come within the depth, with and without a table."""
    reference, rng = make_reference(STANDARD), np.random.default_rng(5)
    slow = minimax(reference, "material")
    players = [
        HostSearchPlayer(SEARCHED_GAME, STANDARD, 4, None, "material", table) for table in (LARGE_TABLE, NO_TABLE)
    ]
    for position in shuffles(reference, rng, 12):
        if len(position.board) > 5:
            continue
        expected = list(slow.values(position, 4).values())
        for player in players:
            values = player.move_values(state_of(position, STANDARD, reference)).values
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
        assert can_occur_again(0, quiet, depth) == bool(thirds), (quiet, depth)
        assert can_occur_again(1, quiet, depth)


def test_third_occurrence_is_a_draw_that_the_side_with_a_queen_less_seeks() -> None:
    env, reference = STANDARD, make_reference(STANDARD)
    position = reference.from_string("rnb1k/ppppp/5/PPPPP/RNBQK w - - 0 1")
    for text in (KNIGHTS_HOME * 2)[:-1]:
        moves = {reference.move_to_string(position, move): move for move in reference.moves(position).values()}
        position = reference.after(position, moves[text])
    state = state_of(position, env, reference)
    values = HostSearchPlayer(SEARCHED_GAME, env, 1, None, "material", LARGE_TABLE, compiled=False).move_values(state)
    back = env.action_from_string(state, KNIGHTS_HOME[-1])
    assert values.value == values.values[values.actions.index(back)] == 0
    assert sorted(values.values)[-2] < -2


# -- ends of the game --------------------------------------------------------------------------------------------------

LIMITED = Minichess(max_plies=42)
TWO_ROOKS = "4k/5/1R3/R4/4K w - - {}"  # the king cannot leave the last rank; then the other rook mates there


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
def test_best_moves_and_plies_to_the_end_are_the_known_ones(
    env: Minichess, text: str, depth: int, best: set[str] | None, plies: set[int]
) -> None:
    board = env.from_string(text)
    player = HostSearchPlayer(SEARCHED_GAME, env, depth, None, "material", LARGE_TABLE, compiled=False)
    ends = {plies_to_end(value) for value in player.move_values(board).values}
    assert ends - {None} == plies
    found = {env.action_to_string(board, action) for action in player.best_actions(board)}
    assert found == best if best else len(found) > 1


# -- returns -----------------------------------------------------------------------------------------------------------


def test_expected_returns_are_in_the_unit_of_the_rewards() -> None:
    for rules, king in (("standard", 0.0), ("king_capture", 60.0)):
        for reward in ("win_loss", "material"):
            env = Minichess(rules=rules, reward=reward)
            player = HostSearchPlayer(SEARCHED_GAME, env, 1, None, "material", NO_TABLE, compiled=False)
            board = env.from_string("k4/5/5/5/KR3 w - - 0 20")
            lead = math.tanh(479 / SEARCHED_GAME.scale)
            expected = (lead, 1.0) if reward == "win_loss" else (king * lead, king)
            assert player.expected_return(board, 479) == pytest.approx(expected[0])
            assert player.expected_return(board, 100_000 - 3) == expected[1]
            assert player.expected_return(board, 3 - 100_000) == -expected[1]
            if reward == "material":  # a rook in the bank, and a queen that the search wins
                gained = king * math.tanh((479 + 929) / SEARCHED_GAME.scale) + 0.929
                assert player.expected_return(board, 479 + 929) == pytest.approx(gained)
