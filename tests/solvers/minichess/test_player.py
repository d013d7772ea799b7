"""Alpha-beta in 5 x 5 chess: the values of minimax, ends, returns, time, texts. In plain Python unless slow."""

import itertools
import math
import re
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, arena
from jaxgames._checks import ParameterError
from jaxgames.games.minichess import Minichess
from jaxgames.solvers.alphabeta import clock as _clock
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, plain
from jaxgames.solvers.minichess import player as playing
from jaxgames.solvers.minichess.player import SCALE, MinichessPlayer, evaluate, make_player, plies_to_end
from jaxgames.solvers.minichess.search import can_occur_again
from jaxgames.wrappers import auto_reset
from tests.games.minichess.cases import KNIGHTS_HOME, START, make_reference
from tests.games.minichess.reference import Position, Reference
from tests.helpers.analysis import analysis_of
from tests.solvers.alphabeta.test_alphabeta import Clock
from tests.solvers.minichess.slow_minichess import Minimax, placements, random_games, shuffles, state_of

RULES: list[dict[str, Any]] = [
    {},
    {"rules": "king_capture"},
    {"board": "baby", "max_plies": 60, "double_step": True},
    {"board": "mallet", "rules": "king_capture", "max_plies": 60, "double_step": True, "promotion": "queen"},
]
STANDARD, KING_CAPTURE = Minichess(), Minichess(rules="king_capture")
LARGE_TABLE, SMALL_TABLE, NO_TABLE = 1 << 12, 4, 0


@pytest.fixture(autouse=True)
def plain_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles nothing in fast tests."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(playing, "HAS_NUMBA", False)
        playing._evaluator.cache_clear()  # pyright: ignore[reportPrivateUsage]  # players of slow tests are compiled


def make_game(parameters: dict[str, Any]) -> tuple[Minichess, Reference]:
    env = Minichess(**parameters)
    return env, make_reference(env)


def positions(env: Minichess, reference: Reference, seed: int, number: int) -> list[Position]:
    """Random games, placements, and games that go back and forth; with a limit of plies, all just before it."""
    rng = np.random.default_rng(seed)
    found = random_games(replace(reference, max_plies=256), rng, number) + placements(reference, rng, number)
    if not reference.king_capture:
        found += shuffles(reference, rng, number)
    if reference.max_plies < 100:
        left = rng.integers(2, 8, len(found)).tolist()
        found = [
            replace(position, ply=2 * ((reference.max_plies - plies) // 2) + position.seat)
            for position, plies in zip(found, left, strict=True)
        ]
    return found


def check_values(parameters: dict[str, Any], depth: int, seed: int, number: int, evaluation: str) -> None:
    """Compares the values of all moves and the set of best moves with those of minimax, for tables of all sizes."""
    env, reference = make_game(parameters)
    minimax = Minimax(reference, evaluation)
    players = [MinichessPlayer(env, depth, None, evaluation, table) for table in (LARGE_TABLE, SMALL_TABLE, NO_TABLE)]
    for position in positions(env, reference, seed, number):
        expected, state = minimax.values(position, depth), state_of(env, reference, position)
        highest = max(expected.values())
        for player in players:
            found = player.evaluate(state)
            assert [round(100 * value) for value in found.values] == list(expected.values()), position
            assert (found.actions, round(100 * found.value)) == (list(expected), highest)
            best = [action for action, value in expected.items() if value == highest]
            assert player.best_actions(state) == best, position


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", RULES[:2])
def test_values_are_those_of_minimax(parameters: dict[str, Any]) -> None:
    check_values(parameters, depth=1, seed=0, number=1, evaluation="positional")


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("parameters", RULES)
def test_compiled_values_are_those_of_minimax(parameters: dict[str, Any], depth: int) -> None:
    number = {1: 40, 2: 8, 3: 2}[depth]
    check_values(parameters, depth, seed=depth, number=number, evaluation="positional" if depth % 2 else "material")


@pytest.mark.slow
def test_repetitions_are_valued_as_by_minimax_in_a_deep_search() -> None:
    """Few pieces that go back and forth: third occurrences come within the levels, with and without a table."""
    env, reference = make_game({})
    minimax, rng = Minimax(reference, "material"), np.random.default_rng(5)
    players = [MinichessPlayer(env, 4, None, "material", table) for table in (LARGE_TABLE, NO_TABLE)]
    for position in shuffles(reference, rng, 12):
        if len(position.board) > 5:
            continue
        expected = list(minimax.values(position, 4).values())
        for player in players:
            found = player.evaluate(state_of(env, reference, position))
            assert [round(100 * value) for value in found.values] == expected, position


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="compares compiled functions with plain ones")
@pytest.mark.parametrize("evaluation", ["positional", "material"])
def test_compiled_and_plain_functions_find_the_same_values(evaluation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env, reference = make_game({})
    compiled = MinichessPlayer(env, 3, None, evaluation)
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    plain = MinichessPlayer(env, 3, None, evaluation)
    for position in positions(env, reference, seed=10, number=5):
        state = state_of(env, reference, position)
        assert compiled.evaluate(state) == plain.evaluate(state)


def found(env: Minichess, text: str, depth: int, **leaves: Any) -> tuple[set[str], list[int | None]]:
    """The best moves in notation, and the plies until the end by the values of all moves."""
    board = replace(env.from_string(text), **leaves)
    player = MinichessPlayer(env, depth, None, "material", LARGE_TABLE)
    values = player.evaluate(board).values
    best = {env.action_to_string(board, action) for action in player.best_actions(board)}
    return best, [plies_to_end(value) for value in values]


def test_mate_in_one_and_in_two_is_found() -> None:
    best, plies = found(STANDARD, "k4/5/K4/5/4R w - - 0 20", depth=1)
    assert best == {"e1e5"}
    assert plies.count(1) == 1
    best, plies = found(STANDARD, "4k/5/1R3/R4/4K w - - 0 20", depth=3)
    assert {plies for plies in plies if plies} == {3}
    assert best == {"a2a4", "b3b4"}  # the king cannot leave the last rank; then the other rook mates there


def test_mate_comes_before_the_draw_or_too_late() -> None:
    text = "k4/5/K4/5/4R w - - {} 60"
    assert found(STANDARD, text.format(99), depth=1)[0] == {"e1e5"}
    best, plies = found(STANDARD, "4k/5/1R3/R4/4K w - - 98 60", depth=3)
    assert not any(plies)
    assert len(best) > 1


def test_limit_of_plies_ends_the_search_without_a_winner() -> None:
    env = Minichess(max_plies=42)
    text = "4k/5/1R3/R4/4K w - - 0 {}"
    assert any(found(env, text.format(20), depth=3)[1])
    assert not any(found(env, text.format(21), depth=3)[1])


def test_king_is_captured_or_saved() -> None:
    best, plies = found(KING_CAPTURE, "5/kK3/5/5/4R b - - 0 20", depth=1)
    assert best == {"a4b4"}
    assert plies.count(1) == 1
    best, plies = found(KING_CAPTURE, "k3R/5/5/5/4K b - - 0 20", depth=2)
    assert best == {"a5a4", "a5b4"}
    assert plies.count(2) == 1


def test_table_is_left_out_exactly_where_a_third_occurrence_can_come_within_the_levels() -> None:
    """A position can occur again 4, 6, ... plies later: both sides leave and return."""
    for quiet, depth in itertools.product(range(9), range(1, 12)):
        last = quiet + depth + 1
        thirds = [
            (first, second)
            for first, second in itertools.product(range(quiet + 1), range(quiet + 1, last + 1))
            if second - first >= 4 and (second - first) % 2 == 0 and second + 4 <= last
        ]
        assert plain(can_occur_again)(0, quiet, depth) == bool(thirds), (quiet, depth)
        assert plain(can_occur_again)(1, quiet, depth)


def test_third_occurrence_is_a_draw_that_the_side_with_a_queen_less_seeks() -> None:
    env, reference = make_game({})
    position = reference.from_string("rnb1k/ppppp/5/PPPPP/RNBQK w - - 0 1")
    for text in (KNIGHTS_HOME * 2)[:-1]:
        moves = {reference.move_to_string(position, move): move for move in reference.moves(position).values()}
        position = reference.after(position, moves[text])
    state = state_of(env, reference, position)
    values = MinichessPlayer(env, 1, None, "material", LARGE_TABLE).evaluate(state)
    back = env.action_from_string(state, KNIGHTS_HOME[-1])
    assert values.value == values.values[values.actions.index(back)] == 0
    assert sorted(values.values)[-2] < -2


# -- returns -----------------------------------------------------------------------------------------------------------


def test_expected_returns_are_in_the_unit_of_the_rewards() -> None:
    for rules, king in (("standard", 0.0), ("king_capture", 60.0)):
        for reward in ("win_loss", "material"):
            env, _ = make_game({"rules": rules, "reward": reward})
            player = MinichessPlayer(env, 1, None, "material", NO_TABLE)
            board = env.from_string("k4/5/5/5/KR3 w - - 0 20")
            lead = math.tanh(479 / SCALE)
            expected = (lead, 1.0) if reward == "win_loss" else (king * lead, king)
            assert player.expected_return(board, 479) == pytest.approx(expected[0])
            assert player.expected_return(board, 100_000 - 3) == expected[1]
            assert player.expected_return(board, 3 - 100_000) == -expected[1]
            if reward == "material":  # a rook in the bank, and a queen that the search wins
                gained = king * math.tanh((479 + 929) / SCALE) + 0.929
                assert player.expected_return(board, 479 + 929) == pytest.approx(gained)


def test_analysis_has_the_best_moves_and_the_returns_of_both_seats() -> None:
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


# -- the key and the clock ---------------------------------------------------------------------------------------------


def test_same_seed_draws_the_same_of_the_best_moves_and_other_seeds_all_of_them() -> None:
    player, board = make_player(STANDARD, depth=1, evaluation="material"), STANDARD.from_string(START)
    best = player.best_actions(board)
    assert len(best) > 1
    chosen = [player.choose(board, seed) for seed in range(20)]
    assert chosen == [player.choose(board, seed) for seed in range(20)]
    assert sorted(set(chosen)) == best


def test_search_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 50 ms for a move and 10 ms between two looks, at most five looks find time left."""
    env, reference = make_game({})
    player = make_player(env, milliseconds=50)
    for position in positions(env, reference, seed=21, number=2):
        clock = Clock(0.01)
        monkeypatch.setattr(_clock, "time", clock)
        assert player.choose(state_of(env, reference, position), 0) in reference.moves(position)
        assert clock.looks <= 7


# -- games and texts ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["standard", "king_capture"])
def test_deeper_search_beats_a_shallower_one(rules: str) -> None:
    env, _ = make_game({"rules": rules})
    players = [agents.make(text, env) for text in ("alphabeta(depth=4)", "alphabeta(depth=1)")]
    agent_of_seat = arena.seating((1, 1), "alternating", 40)
    openings = arena.load_openings(env, "placements").for_games(40, games_each=2)
    games = arena.play(env, players, agent_of_seat, jax.random.key(0), openings=openings)
    wins = [arena.results(env, games, agent_of_seat, number)["wins"] for number in (0, 1)]
    assert wins[0] > 2 * wins[1]


def test_texts_name_the_agent_and_its_settings() -> None:
    for text, expected in (
        ("alphabeta", "alphabeta(depth=4)"),
        (
            "alphabeta(milliseconds=5, evaluation=material)",
            "alphabeta(depth=64, milliseconds=5, evaluation='material')",
        ),
    ):
        agent = agents.make(text, KING_CAPTURE)
        assert str(agent) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alphabeta(depth=0)", "depth must be an integer from 1 to 64 or None, not 0"),
        ("alphabeta(milliseconds=0)", "milliseconds must be an integer from 1 to 3600000 or None, not 0"),
        ("alphabeta(evaluation=all)", "evaluation must be one of 'material', 'positional', not 'all'"),
    ],
)
def test_wrong_parameter_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        agents.make(text, STANDARD)


def test_values_of_a_wrapped_board_are_those_of_the_board_and_other_boards_are_refused() -> None:
    board = KING_CAPTURE.from_string("k4/5/5/5/R3K w - - 0 20")
    env = auto_reset(KING_CAPTURE)
    start = env.init(jax.random.key(0))
    assert evaluate(env, replace(start, board=board), depth=1) == evaluate(KING_CAPTURE, board, depth=1)
    with pytest.raises(ValueError, match="expected a live board"):
        evaluate(STANDARD, STANDARD.from_string("k3R/5/K4/5/5 b - - 5 9"), depth=1)
    other = jaxgames.make("dots_and_boxes", rows=1, cols=1)
    with pytest.raises(ParameterError, match="env must be minichess, not dots_and_boxes"):
        evaluate(other, other.init())
