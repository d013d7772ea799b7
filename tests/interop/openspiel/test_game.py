"""Games of jaxgames in OpenSpiel: legal actions, players, positions and returns are those of the env."""

import pickle
from collections import Counter

import numpy as np
import pyspiel
import pytest

import jaxgames
from jaxgames.interop.openspiel import OpenSpielGame
from tests.helpers.positions import batched, board, legal, play, random_actions, repeated, start
from tests.helpers.sticks import Sticks


def play_in_both(id: str, games: int, seed: int) -> Counter[str]:
    """Plays random games in the env and in OpenSpiel, and compares every position; returns how they ended."""
    rng = np.random.default_rng(seed)
    env = jaxgames.make(id)
    step, mask, _ = batched(env)
    game = OpenSpielGame(env)
    theirs = [game.new_initial_state() for _ in range(games)]
    states = repeated(start(env), games)
    ends: Counter[str] = Counter()
    live = list(range(games))
    while live:
        masks = np.asarray(mask(states))
        for i in live:
            assert theirs[i].current_player() == states.current_player[i]
            assert theirs[i].legal_actions() == np.flatnonzero(masks[i]).tolist()
        text_of = live[ends.total() % len(live)]  # notation is slow: one board after each action
        assert str(theirs[text_of]) == env.to_string(board(states, text_of))
        if rng.random() < 0.2:  # a state made from the position continues like the one with a history
            theirs[text_of] = game.state_at(board(states, text_of))
        actions = random_actions(rng, masks)
        states = step(states, actions)
        for i in live:
            theirs[i].apply_action(int(actions[i]))
            assert theirs[i].is_terminal() == bool(states.terminated[i] | states.truncated[i])
            if theirs[i].is_terminal():
                won = np.asarray(env.winners(board(states, i)))
                assert theirs[i].legal_actions() == []
                loss = -1 / (env.num_players - 1) if won.any() else 0
                assert theirs[i].returns() == pytest.approx([1 if seat_won else loss for seat_won in won])
                ends["won" if won.any() else "not won"] += 1
        live = [i for i in live if not theirs[i].is_terminal()]
    return ends


@pytest.mark.parametrize(
    ("id", "games", "won"),
    [
        ("dots_and_boxes(rows=2, cols=3)", 6, 3),
        pytest.param("checkers(draw_rule=openspiel)", 50, 5, marks=pytest.mark.slow),
        pytest.param("chinese_checkers(size=1, num_players=6)", 50, 15, marks=pytest.mark.slow),
        pytest.param("chinese_checkers_diamond(size=3, pieces=3)", 50, 5, marks=pytest.mark.slow),
        pytest.param("minichess(max_plies=60)", 50, 0, marks=pytest.mark.slow),
    ],
)
def test_random_games_agree_with_the_env(id: str, games: int, won: int) -> None:
    """At least `won` of the games have a winner."""
    ends = play_in_both(id, games, seed=0)
    assert ends.total() == games
    assert ends["won"] >= won


def test_piece_that_must_jump_again_is_the_only_one_with_legal_actions() -> None:
    """Both Black men can jump; once 15x22 is played, only the piece on 22 may, over 26."""
    env = jaxgames.make("checkers")
    before = env.from_string("B:W6,18,26:B1,15")
    assert legal(env, before) == {"15x22", "1x10"}
    state = OpenSpielGame(env).state_at(before)
    state.apply_action(env.action_from_string(before, "15x22"))
    assert [state.action_to_string(state.current_player(), action) for action in state.legal_actions()] == ["22x31"]
    assert state.current_player() == 0
    again = OpenSpielGame(env).state_at(play(env, before, "15x22"))
    assert again.legal_actions() == state.legal_actions()


def test_clones_of_a_state_do_not_change_each_other() -> None:
    state = OpenSpielGame(Sticks()).new_initial_state()
    clone = state.clone()
    clone.apply_action(0)
    assert (clone.history(), state.history()) == ([0], [])
    assert str(clone) != str(state)


def test_game_states_its_size_and_returns() -> None:
    game = OpenSpielGame(jaxgames.make("chinese_checkers(size=1, num_players=3, max_rounds=5)"))
    assert (game.num_players(), game.num_distinct_actions(), game.max_game_length()) == (3, 79, game.env.max_steps)
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-1, 1, 0)
    assert game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM


def test_game_is_made_of_an_env_or_its_text() -> None:
    assert OpenSpielGame("dots_and_boxes(rows=1, cols=2)").env == jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    with pytest.raises(TypeError, match="expected an env or a text"):
        OpenSpielGame(3)  # pyright: ignore[reportArgumentType]  # the error is what is tested
    with pytest.raises(ValueError, match="without auto_reset"):
        OpenSpielGame(jaxgames.auto_reset(Sticks()))


def test_game_without_a_name_refuses_to_be_pickled() -> None:
    game = OpenSpielGame(Sticks())
    for unnamed in (game, game.new_initial_state()):
        with pytest.raises(TypeError, match=r"use register\(\) and pyspiel.load_game for sticks"):
            pickle.dumps(unnamed)
