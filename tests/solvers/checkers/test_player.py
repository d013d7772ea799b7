"""Alpha-beta in checkers: the values of minimax, ends, keys, time, texts. In plain Python unless slow."""

import itertools
import re
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, arena
from jaxgames._checks import ParameterError
from jaxgames.games.checkers import Checkers
from jaxgames.solvers.alphabeta import clock as _clock
from jaxgames.solvers.alphabeta import deepening as _deepening
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, plain
from jaxgames.solvers.alphabeta.table import LOWEST, NO_LIMIT, NUMBERS
from jaxgames.solvers.checkers import player as playing
from jaxgames.solvers.checkers.evaluation import WEIGHTS
from jaxgames.solvers.checkers.player import CheckersPlayer, Evaluation, evaluate, make_player, plies_to_end
from jaxgames.solvers.checkers.search import MOVE_NUMBER, make_search, value_of
from jaxgames.wrappers import auto_reset
from tests.games.checkers.cases import START
from tests.games.checkers.random_positions import crowds, endgames, hunts
from tests.games.checkers.reference import Position, Reference
from tests.helpers.analysis import analysis_of
from tests.solvers.alphabeta.test_alphabeta import Clock
from tests.solvers.checkers.slow_checkers import Minimax, near_limits, random_games, state_of

QUIET_LIMIT = {"wcdf": 80, "openspiel": 40}
RULES = [("wcdf", None), ("openspiel", None), ("wcdf", 100), ("openspiel", 100)]  # draw_rule, max_plies
LARGE_TABLE, SMALL_TABLE, NO_TABLE = 1 << 12, 4, 0


@pytest.fixture(autouse=True)
def plain_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles nothing in fast tests."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(playing, "HAS_NUMBA", False)
        playing._evaluator.cache_clear()  # pyright: ignore[reportPrivateUsage]  # players of slow tests are compiled


def positions(draw_rule: str, max_plies: int | None, seed: int, number: int) -> list[Position]:
    """Random games, endgames, long captures and crowds, and all of them once more just before the limits."""
    rng, reference = np.random.default_rng(seed), Reference(draw_rule, max_plies)
    texts = [text for kind in (endgames, hunts, crowds) for text in kind(rng, number // 4)]
    found = random_games(Reference(draw_rule), rng, number // 2) + [reference.from_string(text) for text in texts]
    found = [position for position in found if not position.over and position.ply < (max_plies or 1000)]
    return found + list(near_limits(found, rng, QUIET_LIMIT[draw_rule], max_plies))


def check_values(
    draw_rule: str, max_plies: int | None, depth: int, seed: int, number: int, evaluation: str = "material"
) -> None:
    """Compares the values of all moves and the set of best moves with those of minimax, for tables of all sizes."""
    env = Checkers(draw_rule=draw_rule, max_plies=max_plies)
    minimax = Minimax(Reference(draw_rule, max_plies), evaluation)
    players = [CheckersPlayer(env, depth, None, evaluation, table) for table in (LARGE_TABLE, SMALL_TABLE, NO_TABLE)]
    for position in positions(draw_rule, max_plies, seed, number):
        expected = minimax.values(position, depth)
        highest = max(expected.values())
        for player in players:
            found = player.evaluate(state_of(position))
            assert [round(100 * value) for value in found.values] == list(expected.values()), position
            assert (found.actions, round(100 * found.value)) == (list(expected), highest)
            best = [action for action, value in expected.items() if value == highest]
            assert player.best_actions(state_of(position)) == best, position


def state(text: str, **leaves: int) -> Any:
    return state_of(replace(Reference().from_string(text), **leaves))


def found(text: str, depth: int, draw_rule: str = "wcdf", **leaves: int) -> tuple[set[str], Evaluation]:
    """The best moves in notation, and the values, with the material alone at the leaves."""
    env, board = Checkers(draw_rule=draw_rule), state(text, **leaves)
    best = make_player(env, depth=depth, evaluation="material").best_actions(board)
    return {env.action_to_string(board, action) for action in best}, evaluate(env, board, depth, "material")


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("draw_rule", "max_plies"), RULES)
def test_values_are_those_of_minimax(draw_rule: str, max_plies: int | None) -> None:
    check_values(draw_rule, max_plies, depth=1, seed=0, number=12)
    check_values(draw_rule, max_plies, depth=2, seed=1, number=8, evaluation="positional")


def test_values_of_a_deeper_search_are_those_of_minimax() -> None:
    check_values("wcdf", None, depth=4, seed=2, number=4, evaluation="positional")


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("draw_rule", "max_plies"), RULES)
def test_compiled_values_are_those_of_minimax(draw_rule: str, max_plies: int | None, depth: int) -> None:
    evaluation = "positional" if depth % 2 else "material"
    check_values(draw_rule, max_plies, depth, seed=2 + depth, number=max(40, 120 // depth), evaluation=evaluation)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="compares compiled functions with plain ones")
@pytest.mark.parametrize("evaluation", ["positional", "material"])
def test_compiled_and_plain_functions_find_the_same_values(evaluation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = CheckersPlayer(Checkers(), 4, None, evaluation)
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    plain = CheckersPlayer(Checkers(), 4, None, evaluation)
    for position in positions("wcdf", None, seed=10, number=40):
        assert compiled.evaluate(state_of(position)) == plain.evaluate(state_of(position))
        assert compiled.best_actions(state_of(position)) == plain.best_actions(state_of(position))


def test_jump_keeps_the_mover_and_the_level_while_it_goes_on() -> None:
    """Two jumps are one turn, so one level sees that they win. The piece that must jump again moves alone."""
    best, values = found("B:W10,18:B6,12", depth=1)
    assert (best, values.value) == ({"6x15"}, 999.98)
    best, values = found("B:W9,18,28:B1,5,15:J15", depth=1)
    assert (best, len(values.values)) == ({"15x22"}, 1)


def test_captures_are_followed_to_their_end_without_a_level_left() -> None:
    """One level ends after 14-18 or 14-17. White must capture then, and only after 14-18 Black captures back."""
    env, board = Checkers(), state("B:W22,26:B8,11,14")
    values = evaluate(env, board, 1, "material")
    by_move = {env.action_to_string(board, action): value for action, value in zip(*values[1:], strict=True)}
    assert by_move["14-18"] > 0.5
    assert by_move["14-17"] < 0.5


def test_sooner_win_and_later_loss_are_preferred() -> None:
    best, values = found("B:WK29:BK22,K31", depth=7)
    assert best == {"31-26", "31-27"}
    assert {plies_to_end(value) for value in values.values} == {None, 3, 7}
    best, values = found("W:WK1:BK10,K11,K7", depth=8)
    assert best == {"1-5"}
    assert (values.values, [plies_to_end(value) for value in values.values]) == ([-999.98, -999.91], [2, 9])


@pytest.mark.parametrize("draw_rule", QUIET_LIMIT)
def test_win_comes_before_the_draw_or_too_late(draw_rule: str) -> None:
    """The king is caught in the third ply, by a capture."""
    limit = QUIET_LIMIT[draw_rule]
    assert plies_to_end(found("B:WK29:BK22,K31", 3, draw_rule, quiet=limit - 3)[1].value) == 3
    best, values = found("B:WK29:BK22,K31", 4, draw_rule, quiet=limit - 2)
    assert (len(best), values.value, plies_to_end(values.value)) == (6, 0, None)


def test_blocking_move_at_the_limit_wins_only_where_a_win_comes_first() -> None:
    text = "W:WK27:B28"  # 27-32 blocks Black
    assert found(text, 1, "wcdf", quiet=79)[1].value == 999.99
    assert found(text, 1, "openspiel", quiet=38)[1].value == 999.99
    assert found(text, 1, "openspiel", quiet=39)[1].value == 0


@pytest.mark.parametrize("draw_rule", QUIET_LIMIT)
def test_table_is_used_for_the_same_pieces_and_levels_to_go_to_the_draw_and_to_the_limit_of_plies(
    draw_rule: str,
) -> None:
    """One table for all of them, as if they had come up in one search."""
    limit = QUIET_LIMIT[draw_rule]
    boards = [state(text) for text in ("B:WK29:BK22,K31", "B:W29:BK22,K31", "W:WK6,K9:BK1")]
    with_table, without = (make_search(WEIGHTS["material"], size, compiled=False) for size in (LARGE_TABLE, NO_TABLE))
    values: set[int] = set()
    for depth in (4, 3, 2, 1, 2, 3, 4):
        limits = [(quiet, NO_LIMIT) for quiet in (0, *range(limit - 5, limit))] + [(0, left) for left in range(1, 6)]
        for board, (quiet, plies_left) in itertools.product(boards, limits):
            words = int(board.own), int(board.opponents), int(board.kings), 0
            value: list[int] = []
            for search in (with_table, without):
                wcdf = int(draw_rule == "wcdf")
                for place, count in enumerate((0, NO_LIMIT, limit, wcdf, 1 - wcdf, plies_left, 1)):
                    search.counts[place] = count
                value.append(plain(value_of)(search, *words, quiet, 0, depth, LOWEST, -LOWEST, 0))
            assert value[0] == value[1]
            values.add(value[0])
    assert len(values) > 1


def test_numbers_of_moves_start_again_with_an_empty_table() -> None:
    """The last of them would not fit beside the other parts of an entry."""
    player, board = CheckersPlayer(Checkers(), 4, None, "material", LARGE_TABLE), state(START)
    expected = player.evaluate(board)
    counts = player._search.counts  # pyright: ignore[reportPrivateUsage]  # 67 million moves are too many
    counts[MOVE_NUMBER] = NUMBERS - 2
    assert [player.evaluate(board) for _ in range(3)] == [expected] * 3
    assert counts[MOVE_NUMBER] == 2


# -- the key and the clock ---------------------------------------------------------------------------------------------


def test_same_seed_draws_the_same_of_the_best_moves_and_other_seeds_all_of_them() -> None:
    player, board = make_player(Checkers(), depth=2, evaluation="material"), state(START)
    best = player.best_actions(board)
    assert len(best) > 1
    chosen = [player.choose(board, seed) for seed in range(100)]
    assert chosen == [player.choose(board, seed) for seed in range(100)]
    assert sorted(set(chosen)) == best


def test_moves_do_not_depend_on_moves_before_them() -> None:
    boards = [state_of(position) for position in positions("wcdf", None, seed=20, number=4)]
    used = make_player(Checkers(), depth=3)
    for board in reversed(boards):
        used.best_actions(board)
    new = [make_player(Checkers(), depth=3).best_actions(board) for board in boards]
    assert [used.best_actions(board) for board in boards] == new


def test_search_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 100 ms for a move and 10 ms between two looks, at most ten looks find time left."""
    player = make_player(Checkers(), milliseconds=100)
    for position in positions("wcdf", None, seed=21, number=8):
        clock, board = Clock(0.01), state_of(position)
        monkeypatch.setattr(_clock, "time", clock)
        assert player.choose(board, 0) in Reference().moves(position)
        assert clock.looks <= 12


def test_work_of_a_move_is_limited_where_the_time_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still. So the nodes end the search, always at the same place."""
    monkeypatch.setattr(_clock, "time", Clock(0.0))
    monkeypatch.setattr(_deepening, "NODES_PER_MILLISECOND", 100)
    short, long = (make_player(Checkers(), milliseconds=milliseconds) for milliseconds in (1, 20))
    boards = [state_of(position) for position in positions("wcdf", None, seed=22, number=8)]
    first = [short.best_actions(board) for board in boards]
    assert first == [short.best_actions(board) for board in boards]
    assert first != [long.best_actions(board) for board in boards]


def test_only_move_is_played_without_a_search() -> None:
    player = make_player(Checkers(), depth=64)
    assert player.choose(state("B:W14:B3,9"), 0) == 4 * (32 - 9) + 3


# -- games and texts ---------------------------------------------------------------------------------------------------


def test_player_beats_random_play_from_both_seats() -> None:
    player, reference, rng = make_player(Checkers(), depth=3), Reference(), np.random.default_rng(0)
    for seat in (0, 1, 0, 1):
        position = reference.start()
        while not position.over:
            moves = reference.moves(position)
            mine = position.seat == seat
            action = player.choose(state_of(position), position.ply) if mine else int(rng.choice(list(moves)))
            position = reference.after(position, moves[action])
        assert position.rewards[seat] == 1


@pytest.mark.slow
def test_deeper_search_beats_a_shallower_one() -> None:
    env = jaxgames.make("checkers")
    players = [agents.make(text, env) for text in ("alphabeta(depth=6)", "alphabeta(depth=2)")]
    agent_of_seat = arena.seating((1, 1), "alternating", 60)
    openings = arena.random_openings(env, jax.random.key(1), 30, 4).for_games(60, games_each=2)
    games = arena.play(env, players, agent_of_seat, jax.random.key(0), openings=openings)
    wins = [arena.results(env, games, agent_of_seat, number)["wins"] for number in (0, 1)]
    assert wins[0] > 4 * wins[1]


def test_agent_analyses_the_moves_from_which_it_draws() -> None:
    env = auto_reset(jaxgames.make("checkers"))
    agent = agents.make("alphabeta(depth=2)", env)
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 20))
    probabilities, values = analysis_of(agent, states)
    assert values is None
    drawn = set(agent.act(jax.random.key(1), states).tolist())
    assert drawn == set(np.flatnonzero(probabilities[0]).tolist())
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert set(np.unique(probabilities[0]).tolist()) == {0, np.float32(1 / len(drawn))}


def test_texts_name_the_agent_and_its_settings() -> None:
    for text, expected in (
        ("alphabeta", "alphabeta(depth=6)"),
        ("alphabeta(depth=2)", "alphabeta(depth=2)"),
        ("alphabeta(milliseconds=5)", "alphabeta(depth=64, milliseconds=5)"),
        ("alphabeta(evaluation=material, epsilon=0.5)", "alphabeta(depth=6, evaluation='material', epsilon=0.5)"),
    ):
        agent = agents.make(text, jaxgames.make("checkers"))
        assert str(agent) == expected == str(agents.make(str(agent), jaxgames.make("checkers")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alphabeta(depth=0)", "depth must be an integer from 1 to 64 or None, not 0"),
        ("alphabeta(depth=65)", "depth must be an integer from 1 to 64 or None, not 65"),
        ("alphabeta(milliseconds=0)", "milliseconds must be an integer from 1 to 3600000 or None, not 0"),
        ("alphabeta(evaluation=all)", "evaluation must be one of 'material', 'positional', not 'all'"),
        ("alphabeta(leaves=boxes)", "no parameter 'leaves' in checkers; its parameters are depth, milliseconds, eval"),
    ],
)
def test_wrong_parameter_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        agents.make(text, jaxgames.make("checkers"))


def test_values_of_a_wrapped_board_are_those_of_the_board_and_other_boards_are_refused() -> None:
    env = jaxgames.make("checkers")
    board = env.from_string("B:WK29:BK22,K31")
    wrapped = auto_reset(env)
    start = wrapped.init(jax.random.key(0))
    assert evaluate(wrapped, replace(start, board=board), depth=3) == evaluate(env, board, depth=3)
    with pytest.raises(ValueError, match="expected a live board"):
        evaluate(env, env.from_string("B:W18:B"), depth=3)
    other = jaxgames.make("minichess")
    with pytest.raises(ParameterError, match="env must be checkers, not minichess"):
        evaluate(other, other.init(jax.random.key(0)))
