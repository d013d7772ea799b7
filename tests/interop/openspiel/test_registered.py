"""Games of jaxgames by name in OpenSpiel: their parameters, returns, observations, copies and errors."""

import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.observation import make_observation

import jaxgames
from jaxgames.interop.openspiel import RegisteredGame, register, registered_game
from tests.helpers.positions import compiled, start
from tests.helpers.sticks import LuckySticks, ShortSticks, Sticks
from tests.interop.openspiel.openspiel_games import ALL_SMALL, SMALL, TINY, load

KINDS = pyspiel.GameType
PAY_BEFORE_THE_END = ("goal", "movement", "positive_sum", "boxes", "material")  # reward schemes


def random_state(game: RegisteredGame, actions: int, seed: int = 0) -> Any:
    """A state after random actions, or fewer if the game is over earlier."""
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    for _ in range(actions):
        if not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))
    return state


# -- names and parameters ------------------------------------------------------------------------------------------


def test_every_game_is_registered_once_however_often_register_is_called() -> None:
    register()
    register()
    names = [name for name in pyspiel.registered_names() if name.startswith("jaxgames_")]
    assert sorted(set(names) - {"jaxgames_sticks"}) == [f"jaxgames_{id}" for id in jaxgames.list_games()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("id", SMALL)
def test_defaults_are_those_of_the_env_except_for_the_reward(id: str) -> None:
    game, env = load(id), jaxgames.make(id)
    assert game.env == (jaxgames.make(id, reward="win_loss") if hasattr(env, "reward") else env)
    assert game.num_players() == env.num_players
    assert (game.num_distinct_actions(), game.max_game_length()) == (env.num_actions, env.max_steps)
    assert game.get_type().reward_model == KINDS.RewardModel.TERMINAL
    assert (game.get_type().utility, game.utility_sum()) == (KINDS.Utility.ZERO_SUM, 0)
    assert (game.min_utility(), game.max_utility()) == (-1, env.num_players - 1)
    assert game.observation_tensor_shape() == list(env.observation_shape)


@pytest.mark.parametrize("text", ALL_SMALL)
def test_parameters_are_those_of_the_env(text: str) -> None:
    game = load(text)
    assert game.env == jaxgames.make(text)
    assert pyspiel.load_game(str(game)).env == game.env
    pays_before_the_end = any(f"reward={scheme}" in text for scheme in PAY_BEFORE_THE_END)
    model = KINDS.RewardModel.REWARDS if pays_before_the_end else KINDS.RewardModel.TERMINAL
    assert game.get_type().reward_model == model
    assert (game.utility_sum() == 0) == game.env.zero_sum


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("dots_and_boxes(rows=0)", ValueError, "rows must be an integer from 1 to 16, not 0"),
        ("dots_and_boxes(reward=gold)", ValueError, "reward must be one of 'win_loss', 'margin', 'boxes'"),
        ("chinese_checkers(num_players=5)", ValueError, "num_players must be one of 2, 3, 4, 6, not 5"),
        ("dots_and_boxes(height=2)", pyspiel.SpielError, "Available parameters are: cols, reward, rows"),
        ("dots_and_boxes(rows=two)", pyspiel.SpielError, "Expected type: kInt"),
        ("go", pyspiel.SpielError, "Unknown game"),
    ],
)
def test_wrong_name_or_parameter_is_refused(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(text)


def test_game_of_a_user_is_registered_with_its_parameters() -> None:
    jaxgames.register("sticks", Sticks)
    game = load("sticks(num_players=4,sticks=5)")
    assert (game.env, game.num_players()) == (Sticks(4, 5), 4)
    state = game.new_initial_state()
    assert [state.action_to_string(0, action) for action in state.legal_actions()] == ["take 1", "take 2", "take 3"]
    pyspiel.random_sim_test(game, 3, True, False)
    assert game.get_type().reward_model == KINDS.RewardModel.REWARDS  # the env does not state that it pays at the end


def test_game_with_a_parameter_without_a_default_is_left_out() -> None:
    def make_matches(sticks: int) -> Sticks:
        return Sticks(3, sticks)

    jaxgames.register("matches", make_matches)
    with pytest.raises(pyspiel.SpielError, match="Unknown game 'jaxgames_matches'"):
        load("matches")


def test_game_of_chance_is_left_out() -> None:
    jaxgames.register("lucky_sticks", LuckySticks)
    with pytest.raises(pyspiel.SpielError, match="Unknown game 'jaxgames_lucky_sticks'"):
        load("lucky_sticks")


@pytest.mark.parametrize(
    "text", ["chinese_checkers(size=1, num_players=3)", "minichess", "checkers", "checkers(max_plies=7)"]
)
def test_game_of_an_env_has_all_its_parameters(text: str) -> None:
    assert registered_game(text).env == registered_game(jaxgames.make(text)).env == jaxgames.make(text)


def test_env_that_is_not_registered_has_no_game() -> None:
    with pytest.raises(ValueError, match=r"no registered game is sticks\(.*; use OpenSpielGame\(env\)"):
        registered_game(Sticks())
    jaxgames.register("sticks", Sticks)
    assert registered_game(Sticks(2, 4)).env == Sticks(2, 4)


# -- states --------------------------------------------------------------------------------------------------------


def play_beside_the_env(text: str, games: int) -> None:
    """Compares players, legal actions, rewards, returns, texts and all seats' observations of random games."""
    rng = np.random.default_rng(0)
    game, env = load(text), jaxgames.make(text)
    observer = game.make_py_observer()
    for _ in range(games):
        state, board = game.new_initial_state(), start(env)
        earned = np.zeros(env.num_players)
        while True:
            look = compiled(env).look(board)
            assert state.is_terminal() == bool(board.terminated | board.truncated)
            assert state.legal_actions() == np.flatnonzero(look.mask).tolist()
            assert state.rewards() == board.rewards.tolist()
            assert state.returns() == pytest.approx(earned.tolist(), abs=1e-9)
            assert state.observation_string(0) == str(state) == env.to_string(board)
            for seat in range(env.num_players):
                np.testing.assert_array_equal(state.observation_tensor(seat), np.ravel(look.seats[seat]))
            observer.set_from(state, env.num_players - 1)
            np.testing.assert_array_equal(observer.dict["observation"], look.seats[-1])
            if state.is_terminal():
                break
            assert state.current_player() == board.current_player
            if env.terminal_rewards:
                assert not np.any(state.rewards())
            action = int(rng.choice(state.legal_actions()))
            assert state.action_to_string(state.current_player(), action) == env.action_to_string(board, action)
            state.apply_action(action)
            board = compiled(env).step(board, np.int32(action))
            earned += np.asarray(board.rewards)
        assert game.min_utility() <= min(state.returns())
        assert max(state.returns()) <= game.max_utility()


def test_random_games_agree_with_the_env() -> None:
    play_beside_the_env("dots_and_boxes(rows=1,cols=2,reward=boxes)", games=3)


@pytest.mark.slow
@pytest.mark.parametrize("text", ALL_SMALL)
def test_random_games_of_every_game_and_scheme_agree_with_the_env(text: str) -> None:
    play_beside_the_env(text, games=4)


def test_truncated_game_is_over_with_the_returns_so_far() -> None:
    jaxgames.register("sticks", ShortSticks)
    state = load("sticks").new_initial_state()
    for action in (0, 1):
        assert not state.is_terminal()
        state.apply_action(action)
    assert state.is_terminal()
    assert state.position.board.truncated
    assert state.returns() == [0, 0, 0]


def test_illegal_action_is_refused_and_changes_nothing() -> None:
    state = load(TINY).new_initial_state()
    state.apply_action(3)
    with pytest.raises(ValueError, match=r"one of \[0, 1, 2, 4, 5, 6\], not 3 in 0001000 \.\. 1"):
        state.apply_action(3)
    assert (state.history(), str(state)) == ([3], "0001000 .. 1")


def test_state_begins_at_the_position_of_a_text() -> None:
    game = load(TINY)
    state = game.new_initial_state("0010111 .. 0")
    assert state.legal_actions() == [0, 1, 3]
    state.apply_action(0)
    assert state.information_state_string(0) == "0010111 .. 0: 0"
    assert game.new_initial_state().child(0).information_state_string(0) == "0"
    with pytest.raises(ValueError, match="expected 'edges boxes seat'"):
        game.new_initial_state("0010")
    with pytest.raises(TypeError, match="expected None or the text of a position"):
        game.new_initial_state(7)  # pyright: ignore[reportArgumentType]  # the error is what is tested


# -- observations --------------------------------------------------------------------------------------------------


def test_observation_is_a_float32_tensor_of_the_asked_seat() -> None:
    game = load(TINY)
    state = random_state(game, 6)
    observation: Any = make_observation(game)
    assert (observation.tensor.dtype, observation.tensor.shape) == (np.float32, (3 * 5 * 3,))
    assert game.observation_tensor_layout() == pyspiel.TensorLayout.HWC
    seen: list[Any] = []
    for seat in (0, 1):
        observation.set_from(state, seat)
        np.testing.assert_array_equal(observation.dict["observation"], game.env.observe(state.position.board, seat))
        seen.append(observation.tensor.copy())
        assert state.observation_tensor(seat) == pyspiel.State.observation_tensor(state, seat) == seen[seat].tolist()
    assert state.observation_tensor() == seen[state.current_player()].tolist()
    assert np.any(seen[0] != seen[1])
    assert observation.string_from(state, 0) == str(state)


def test_observation_with_perfect_recall_is_the_history() -> None:
    game = load(TINY)
    state = random_state(game, 2)
    observation: Any = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    assert observation.tensor is None
    assert observation.string_from(state, 0) == state.history_str()
    private: Any = make_observation(game, pyspiel.IIGObservationType(public_info=False, perfect_recall=False))
    assert private.string_from(state, 0) == ""
    with pytest.raises(ValueError, match="have no parameters, not"):
        make_observation(game, params={"planes": 1})


# -- copies --------------------------------------------------------------------------------------------------------


def test_pickled_game_state_and_type_come_back() -> None:
    """The copy of a state keeps its history, its returns and the position that it began with."""
    game = load("dots_and_boxes(rows=1,cols=2,reward=boxes)")
    again = pickle.loads(pickle.dumps(game))
    assert isinstance(again, RegisteredGame)
    assert (str(again), again.env) == (str(game), game.env)
    assert pickle.loads(pickle.dumps(game.get_type())) == game.get_type()
    for state in (random_state(game, 6), game.new_initial_state("0010111 .. 0").child(0)):
        copy = pickle.loads(pickle.dumps(state))
        assert (str(copy), copy.history(), copy.returns()) == (str(state), state.history(), state.returns())
        assert copy.information_state_string(0) == state.information_state_string(0)
        _, other = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))
        assert (str(other), other.legal_actions()) == (str(state), state.legal_actions())


def test_states_live_on_without_their_game_and_their_parents() -> None:
    state = load(TINY).new_initial_state()
    for action in (0, 1, 2, 3, 4):
        state = state.child(action)
    gc.collect(0)  # of the youngest objects, such as these states
    clones = [state.clone() for _ in range(3)]
    for clone, action in zip(clones, (5, 6, 5), strict=True):
        clone.apply_action(action)
    assert [str(clone) == str(clones[0]) for clone in clones] == [True, False, True]
    assert state.history() == [0, 1, 2, 3, 4]
    assert state.get_game().new_initial_state().legal_actions() == list(range(7))


PICKLED = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"


@pytest.mark.slow
def test_pickled_state_is_read_by_a_process_that_has_registered_nothing() -> None:
    """The process also ends without an error, although OpenSpiel holds functions of Python until then."""
    state = random_state(load(TINY), 4)
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", PICKLED], input=pickle.dumps(state), env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == str(state)
