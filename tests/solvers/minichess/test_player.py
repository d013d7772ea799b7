"""Alpha-beta in 5 x 5 chess: ends of the game, repetitions, returns. In plain Python unless slow."""

import itertools
import math
from dataclasses import replace

import jax
import numpy as np
import pytest

from jaxgames import agents
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess.search import SEARCHED_GAME, can_occur_again
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer, plies_to_end
from jaxgames.wrappers import auto_reset
from tests.games.minichess.cases import KNIGHTS_HOME, make_reference
from tests.helpers.analysis import analysis_of
from tests.solvers.minichess.slow_minichess import minimax, shuffles, state_of

STANDARD, KING_CAPTURE = Minichess(), Minichess(rules="king_capture")
LARGE_TABLE, NO_TABLE = 1 << 12, 0


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
            values = player.move_values(state_of(STANDARD, reference, position)).values
            assert [round(100 * value) for value in values] == expected, position


def search(env: Minichess, text: str, depth: int) -> tuple[set[str], list[int | None]]:
    """The best moves in notation, and the plies until the end by the values of all moves."""
    board = env.from_string(text)
    player = HostSearchPlayer(SEARCHED_GAME, env, depth, None, "material", LARGE_TABLE, compiled=False)
    values = player.move_values(board).values
    best = {env.action_to_string(board, action) for action in player.best_actions(board)}
    return best, [plies_to_end(value) for value in values]


def test_mate_in_one_or_two_is_found() -> None:
    best, plies = search(STANDARD, "k4/5/K4/5/4R w - - 0 20", depth=1)
    assert best == {"e1e5"}
    assert plies.count(1) == 1
    best, plies = search(STANDARD, "4k/5/1R3/R4/4K w - - 0 20", depth=3)
    assert {plies for plies in plies if plies} == {3}
    assert best == {"a2a4", "b3b4"}  # the king cannot leave the last rank; then the other rook mates there


def test_mate_comes_before_the_draw_or_too_late() -> None:
    text = "k4/5/K4/5/4R w - - {} 60"
    assert search(STANDARD, text.format(99), depth=1)[0] == {"e1e5"}
    best, plies = search(STANDARD, "4k/5/1R3/R4/4K w - - 98 60", depth=3)
    assert not any(plies)
    assert len(best) > 1


def test_limit_of_plies_ends_the_search_without_a_winner() -> None:
    env = Minichess(max_plies=42)
    text = "4k/5/1R3/R4/4K w - - 0 {}"
    assert any(search(env, text.format(20), depth=3)[1])
    assert not any(search(env, text.format(21), depth=3)[1])


def test_king_is_captured_or_saved() -> None:
    best, plies = search(KING_CAPTURE, "5/kK3/5/5/4R b - - 0 20", depth=1)
    assert best == {"a4b4"}
    assert plies.count(1) == 1
    best, plies = search(KING_CAPTURE, "k3R/5/5/5/4K b - - 0 20", depth=2)
    assert best == {"a5a4", "a5b4"}
    assert plies.count(2) == 1


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
    state = state_of(env, reference, position)
    values = HostSearchPlayer(SEARCHED_GAME, env, 1, None, "material", LARGE_TABLE, compiled=False).move_values(state)
    back = env.action_from_string(state, KNIGHTS_HOME[-1])
    assert values.value == values.values[values.actions.index(back)] == 0
    assert sorted(values.values)[-2] < -2


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


def test_analysis_has_the_returns_of_both_seats() -> None:
    env = auto_reset(KING_CAPTURE)
    agent = agents.make("alphabeta(depth=1)", env)
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 2))
    boards = [KING_CAPTURE.from_string(text) for text in ("k4/5/5/5/R3K w - - 0 20", "k4/5/5/5/4K b - - 0 20")]
    states = replace(states, board=jax.tree.map(lambda *leaves: np.stack(leaves), *boards))
    probabilities, values = analysis_of(agent, states)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert np.flatnonzero(probabilities[0]).tolist() == [KING_CAPTURE.action_from_string(boards[0], "a1a5")]
    assert values is not None
    assert values[0].tolist() == [1, -1]
    np.testing.assert_array_equal(values[:, 0], -values[:, 1])
