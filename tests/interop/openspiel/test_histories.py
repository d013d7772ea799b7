"""Games of jaxgames beside OpenSpiel's own games, history by history, both played through OpenSpiel."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest

from jaxgames import agents
from tests.games.checkers.test_engines import OPEN_SPIEL_ACTION
from tests.games.chinese_checkers.test_engines import THEIR_PASS, their_actions
from tests.interop.openspiel.openspiel_games import load

# Returns OpenSpiel's numbers of our actions: (their state, our actions) -> theirs.
Translation = Callable[[Any, np.ndarray], np.ndarray]


def replay(game: Any, theirs: Any, history: list[int], translated: Translation) -> Any:
    """Plays a history of ours in OpenSpiel's game, and compares players, legal actions and returns; the last state."""
    ours, other = game.new_initial_state(), theirs.new_initial_state()
    for action in history:
        assert ours.current_player() == other.current_player()
        assert sorted(translated(other, np.array(ours.legal_actions()))) == other.legal_actions()
        other.apply_action(int(translated(other, np.array([action]))[0]))
        ours.apply_action(action)
        assert ours.is_terminal() == other.is_terminal()
    assert ours.returns() == other.returns()
    return ours


def random_histories(game: Any, games: int, seed: int) -> list[list[int]]:
    """The histories of random games."""
    rng = np.random.default_rng(seed)
    found: list[list[int]] = []
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))
        found.append(state.history())
    return found


def play_beside_dots_and_boxes(rows: int, cols: int, margin: bool, games: int) -> Counter[float]:
    """Returns the number of games with each return of seat 0."""
    ours = load(f"dots_and_boxes(rows={rows},cols={cols},reward={'margin' if margin else 'win_loss'})")
    theirs = pyspiel.load_game("dots_and_boxes", {"num_rows": rows, "num_cols": cols, "utility_margin": margin})
    histories = random_histories(ours, games, seed=rows)
    return Counter(replay(ours, theirs, history, lambda _, edges: edges).returns()[0] for history in histories)


def test_dots_and_boxes_is_that_of_openspiel() -> None:
    assert play_beside_dots_and_boxes(1, 2, margin=True, games=10).total() == 10


@pytest.mark.slow
@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize(("rows", "cols"), [(2, 2), (3, 2), (4, 5)])
def test_many_games_of_dots_and_boxes_are_those_of_openspiel(rows: int, cols: int, margin: bool) -> None:
    assert len(play_beside_dots_and_boxes(rows, cols, margin, games=60)) >= 2


def checkers_numbers(theirs: Any, actions: np.ndarray) -> np.ndarray:
    """OpenSpiel's numbers of the steps, or of the jumps if the legal actions are jumps."""
    return OPEN_SPIEL_ACTION[theirs.current_player(), actions, theirs.legal_actions()[0] % 2]


@pytest.mark.slow
def test_checkers_is_that_of_openspiel() -> None:
    ours, theirs = load("checkers(draw_rule=openspiel)"), pyspiel.load_game("checkers")
    ends = Counter(
        replay(ours, theirs, history, checkers_numbers).returns()[0] for history in random_histories(ours, 40, seed=0)
    )
    assert set(ends) == {-1.0, 0.0, 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("num_players", [2, 3, 4, 6])
def test_chinese_checkers_is_that_of_openspiel(num_players: int) -> None:
    """Two games of greedy players to the win.

    OpenSpiel ends a chain by itself when no hop is left, where we wait for `end`; and it looks for a win when the turn
    ends, where we do after each hop.
    """
    ours = load(f"chinese_checkers(size=4,num_players={num_players})")
    theirs = pyspiel.load_game("chinese_checkers", {"players": num_players, "max_moves": 1_000_000})
    numbers, agent = their_actions(num_players), agents.make("greedy(epsilon=0.1)", ours.env)
    act = jax.jit(agent.act)
    for seed in range(2):
        state, other, key = ours.new_initial_state(), theirs.new_initial_state(), jax.random.key(seed)
        while not state.is_terminal():
            key, subkey = jax.random.split(key)
            action = int(act(subkey, jax.tree.map(lambda leaf: leaf[None], jax.device_get(state.position.board)))[0])
            seat = state.current_player()
            if state.legal_actions() != [ours.num_distinct_actions() - 1] or other.current_player() == seat:
                assert other.current_player() == seat
                assert sorted(numbers[seat, state.legal_actions()]) == other.legal_actions()
                other.apply_action(int(numbers[seat, action]))
            state.apply_action(action)
            in_chain = int(state.position.board.peg) >= 0
            if state.is_terminal() and in_chain and not other.is_terminal():
                other.apply_action(THEIR_PASS)
            assert other.is_terminal() == state.is_terminal()
        assert other.returns() == state.returns()
        assert max(state.returns()) == num_players - 1
