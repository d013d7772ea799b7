"""Alpha-beta in checkers and minichess: the values of minimax, seeds, time, texts. In plain Python unless slow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, arena
from jaxgames._checks import ParameterError
from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.search import SEARCHED_GAME as SEARCHED_CHECKERS
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess.search import SEARCHED_GAME as SEARCHED_MINICHESS
from jaxgames.solvers.alphabeta import clock as clocks
from jaxgames.solvers.alphabeta import deepening
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer, SearchedGame
from jaxgames.wrappers import auto_reset
from tests.games.checkers import cases as checkers_cases
from tests.games.minichess import cases as minichess_cases
from tests.helpers.analysis import analysis_of
from tests.helpers.minimax import Minimax
from tests.solvers.alphabeta.stepping_clock import SteppingClock
from tests.solvers.checkers import slow_checkers
from tests.solvers.minichess import slow_minichess

LARGE_TABLE, SMALL_TABLE, NO_TABLE = 1 << 12, 4, 0


@dataclass(frozen=True)
class Game:
    """The parts of a game that the tests use."""

    env_class: type[Any]
    searched: SearchedGame
    make_reference: Callable[[Any], Any]
    minimax: Callable[[Any, str], Minimax]
    positions: Callable[[Any, int, int], list[Any]]  # by a reference, a seed and a number
    state_of: Callable[[Any, Any, Any], Any]  # by an env, a reference and a position
    live: str
    over: str

    def __str__(self) -> str:
        return self.env_class.__name__.lower()

    def env(self, **parameters: Any) -> Any:
        return self.env_class(**parameters)

    def player(self, *arguments: Any, **named: Any) -> HostSearchPlayer:
        return HostSearchPlayer(self.searched, *arguments, **named)

    def make(self, *arguments: Any) -> HostSearchPlayer:
        return self.searched.make_player(self.env(), *arguments)

    def states(self, env: Any, seed: int, number: int) -> list[Any]:
        reference = self.make_reference(env)
        return [self.state_of(env, reference, position) for position in self.positions(reference, seed, number)]


CHECKERS = Game(
    Checkers,
    SEARCHED_CHECKERS,
    checkers_cases.make_reference,
    slow_checkers.minimax,
    slow_checkers.positions,
    lambda _env, _reference, position: slow_checkers.state_of(position),
    live="B:WK29:BK22,K31",
    over="B:W18:B",
)
MINICHESS = Game(
    Minichess,
    SEARCHED_MINICHESS,
    minichess_cases.make_reference,
    slow_minichess.minimax,
    slow_minichess.positions,
    slow_minichess.state_of,
    live="k4/5/5/5/R3K w - - 0 20",
    over="k3R/5/K4/5/5 b - - 5 9",
)
CHECKERS_RULES: list[dict[str, Any]] = [
    {},
    {"draw_rule": "openspiel"},
    {"draw_rule": "adjudicated"},
    {"max_plies": 100},
    {"draw_rule": "openspiel", "max_plies": 100},
]
MINICHESS_RULES: list[dict[str, Any]] = [
    {},
    {"rules": "king_capture"},
    {"board": "baby", "max_plies": 60, "double_step": True},
    {"board": "mallet", "rules": "king_capture", "max_plies": 60, "double_step": True, "promotion": "queen"},
]
both_games = pytest.mark.parametrize("game", [CHECKERS, MINICHESS], ids=str)


# -- values ------------------------------------------------------------------------------------------------------------


def check_values(
    game: Game, parameters: dict[str, Any], depth: int, seed: int, number: int, evaluation: str = "positional"
) -> None:
    """Compares the values of all moves and the set of best moves with those of minimax, for tables of all sizes."""
    env = game.env(**parameters)
    reference = game.make_reference(env)
    minimax = game.minimax(reference, evaluation)
    players = [game.player(env, depth, None, evaluation, table) for table in (LARGE_TABLE, SMALL_TABLE, NO_TABLE)]
    for position in game.positions(reference, seed, number):
        expected, state = minimax.values(position, depth), game.state_of(env, reference, position)
        highest = max(expected.values())
        best = [action for action, value in expected.items() if value == highest]
        for player in players:
            values = player.move_values(state)
            assert [round(100 * value) for value in values.values] == list(expected.values()), position
            assert (values.actions, round(100 * values.value)) == (list(expected), highest)
            assert player.best_actions(state) == best, position


@pytest.mark.parametrize(
    ("game", "parameters", "depth", "number", "evaluation"),
    [
        *[(CHECKERS, parameters, 1, 8, "material") for parameters in CHECKERS_RULES],
        *[(CHECKERS, parameters, 2, 8, "positional") for parameters in CHECKERS_RULES],
        (CHECKERS, {}, 4, 2, "positional"),
        *[(MINICHESS, parameters, 1, 1, "positional") for parameters in MINICHESS_RULES[:2]],
    ],
)
def test_values_are_those_of_minimax(
    game: Game, parameters: dict[str, Any], depth: int, number: int, evaluation: str
) -> None:
    check_values(game, parameters, depth, seed=depth, number=number, evaluation=evaluation)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "parameters", "depth", "number"),
    [
        *[(CHECKERS, rules, depth, max(40, 120 // depth)) for rules in CHECKERS_RULES for depth in range(1, 6)],
        *[(MINICHESS, rules, depth, {1: 40, 2: 8, 3: 2}[depth]) for rules in MINICHESS_RULES for depth in (1, 2, 3)],
    ],
)
def test_compiled_values_are_those_of_minimax(game: Game, parameters: dict[str, Any], depth: int, number: int) -> None:
    evaluation = "positional" if depth % 2 else "material"
    check_values(game, parameters, depth, seed=2 + depth, number=number, evaluation=evaluation)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="without numba both sides are the same plain functions")
@pytest.mark.parametrize("evaluation", ["positional", "material"])
@pytest.mark.parametrize(("game", "depth", "number"), [(CHECKERS, 4, 40), (MINICHESS, 3, 5)])
def test_compiled_and_plain_functions_find_the_same_values(
    game: Game, depth: int, number: int, evaluation: str
) -> None:
    env = game.env()
    compiled, plain = (game.player(env, depth, None, evaluation, compiled=compiled) for compiled in (True, False))
    for state in game.states(env, 10, number):
        assert compiled.move_values(state) == plain.move_values(state)
        assert compiled.best_actions(state) == plain.best_actions(state)


# -- the seed and the clock --------------------------------------------------------------------------------------------


@both_games
def test_seed_draws_one_of_all_best_moves(game: Game) -> None:
    player, start = game.make(1, None, "material"), jax.device_get(game.env().init())
    best = player.best_actions(start)
    assert len(best) > 1
    drawn = [player.choose(start, seed) for seed in range(20)]
    assert drawn == [player.choose(start, seed) for seed in range(20)]
    assert sorted(set(drawn)) == best


def test_moves_do_not_depend_on_moves_before_them() -> None:
    states = CHECKERS.states(Checkers(), 20, 4)
    used = CHECKERS.make(3, None, "positional")
    for state in reversed(states):
        used.best_actions(state)
    new = [CHECKERS.make(3, None, "positional").best_actions(state) for state in states[:3]]
    assert [used.best_actions(state) for state in states[:3]] == new


@both_games
def test_search_ends_with_the_time(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 50 ms for a move and 10 ms between two looks, at most five looks find time left."""
    env = game.env()
    player, reference = game.make(None, 50, "positional"), game.make_reference(env)
    for position in game.positions(reference, 21, 2):
        clock = SteppingClock(0.01)
        monkeypatch.setattr(clocks, "time", clock)
        assert player.choose(game.state_of(env, reference, position), 0) in reference.moves(position)
        assert clock.looks <= 7


def test_work_of_a_move_is_limited_where_the_time_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still. So the nodes end the search, always at the same place."""
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    monkeypatch.setattr(deepening, "NODES_PER_MILLISECOND", 100)
    short, long = (CHECKERS.make(None, milliseconds, "positional") for milliseconds in (1, 10))
    states = CHECKERS.states(Checkers(), 22, 6)
    first = [short.best_actions(state) for state in states]
    assert first == [short.best_actions(state) for state in states]
    assert first != [long.best_actions(state) for state in states]


def test_only_move_is_played_without_a_search() -> None:
    player = CHECKERS.make(64, None, "positional")
    assert player.choose(jax.device_get(Checkers().from_string("B:W14:B3,9")), 0) == 4 * (32 - 9) + 3


# -- games and texts ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "depths", "games"),
    [("checkers", (6, 2), 60), ("minichess", (4, 1), 40), ("minichess(rules='king_capture')", (4, 1), 40)],
)
def test_deeper_search_beats_a_shallower_one(text: str, depths: tuple[int, int], games: int) -> None:
    env = jaxgames.make(text)
    players = [agents.make(f"alphabeta(depth={depth})", env) for depth in depths]
    agent_of_seat = arena.seating((1, 1), "alternating", games)
    openings = arena.random_openings(env, jax.random.key(1), games // 2, 4).for_games(games, games_each=2)
    played = arena.play(env, players, agent_of_seat, jax.random.key(0), openings=openings)
    wins = [arena.results(env, played, agent_of_seat, number)["wins"] for number in (0, 1)]
    assert wins[0] > 4 * wins[1]


@pytest.mark.parametrize(
    ("game", "text", "expected"),
    [
        ("checkers", "alphabeta", "alphabeta(depth=6)"),
        ("checkers", "alphabeta(milliseconds=5)", "alphabeta(depth=64, milliseconds=5)"),
        ("checkers", "alphabeta(depth=2, epsilon=0.5)", "alphabeta(depth=2, epsilon=0.5)"),
        ("minichess", "alphabeta", "alphabeta(depth=4)"),
        ("minichess", "alphabeta(evaluation=material)", "alphabeta(depth=4, evaluation='material')"),
    ],
)
def test_text_names_the_settings(game: str, text: str, expected: str) -> None:
    env = jaxgames.make(game)
    assert str(agents.make(text, env)) == expected == str(agents.make(expected, env))


@both_games
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("alphabeta(depth=0)", ("depth", "1 to 64", "not 0")),
        ("alphabeta(depth=65)", ("depth", "1 to 64", "not 65")),
        ("alphabeta(milliseconds=0)", ("milliseconds", "1 to 3600000", "not 0")),
        ("alphabeta(evaluation=all)", ("evaluation", "'material', 'positional'", "'all'")),
        ("alphabeta(leaves=boxes)", ("'leaves'", "depth, milliseconds, evaluation")),
    ],
)
def test_wrong_parameter_is_refused(game: Game, text: str, names: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as error:
        agents.make(text, game.env())
    assert all(name in str(error.value) for name in names)


@pytest.mark.parametrize(
    ("position", "lowest", "highest"),
    [
        ("B:W32:BK1,K2,K3", 0.5, 0.999),  # three kings against one man that is not caught yet
        ("B:W18:B14,15", 1.0, 1.0),  # Black jumps over the last man
        ("B:W17,18,32:B14", -1.0, 0.0),
    ],
)
def test_values_in_checkers_are_the_expected_result_of_the_mover(position: str, lowest: float, highest: float) -> None:
    env = jaxgames.make("checkers")
    state = jax.tree.map(lambda leaf: leaf[None], env.from_string(position))
    _, values = analysis_of(agents.make("alphabeta(depth=6)", env), state)
    assert values is not None
    assert lowest <= float(values[0, 0]) <= highest
    assert float(values[0, 1]) == -float(values[0, 0])


def test_agent_analyses_the_moves_from_which_it_draws() -> None:
    env = auto_reset(jaxgames.make("checkers"))
    agent = agents.make("alphabeta(depth=2)", env)
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 20))
    probabilities, values = analysis_of(agent, states)
    assert values is not None
    np.testing.assert_allclose(values.sum(1), 0, atol=1e-6)
    drawn = set(agent.act(jax.random.key(1), states).tolist())
    assert drawn == set(np.flatnonzero(probabilities[0]).tolist())
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert set(np.unique(probabilities[0]).tolist()) == {0, np.float32(1 / len(drawn))}
