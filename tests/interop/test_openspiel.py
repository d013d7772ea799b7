"""Games of jaxgames in OpenSpiel: its own tests and algorithms play them; names, parameters, returns and copies."""

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
from open_spiel.python import policy, rl_environment
from open_spiel.python.algorithms import exploitability, minimax
from open_spiel.python.algorithms.generate_playthrough import playthrough
from open_spiel.python.observation import make_observation

import jaxgames
from jaxgames.interop.openspiel import OpenSpielGame, RegisteredGame, register, registered_game
from tests.helpers.sticks import LuckySticks, Sticks
from tests.interop.adapters import GAMES

ROOT = Path(__file__).parents[2]
KINDS = pyspiel.GameType
TINY = "dots_and_boxes(rows=1,cols=2)"
PAYING = "dots_and_boxes(rows=1,cols=2,reward=boxes)"
SMALL = [game.replace(" ", "") for game in GAMES]
SCHEMES = [  # whether they pay before the end
    ("chinese_checkers(size=1,reward=goal)", True),
    ("chinese_checkers(size=1,reward=sparse)", False),
    (PAYING, True),
    ("dots_and_boxes(rows=1,cols=2,reward=margin)", False),
    ("minichess(reward=material)", True),
    ("checkers(draw_rule=openspiel,max_plies=7)", False),
]


def load(text: str) -> RegisteredGame:
    """The registered game."""
    register()
    return pyspiel.load_game(f"jaxgames_{text}")


def random_state(game: RegisteredGame, actions: int) -> Any:
    rng, state = np.random.default_rng(0), game.new_initial_state()
    for _ in range(actions):
        state.apply_action(int(rng.choice(state.legal_actions())))
    return state


# -- OpenSpiel's own tests and algorithms, beside its own game of Dots and Boxes ------------------------------------


def theirs(rows: int, cols: int) -> Any:
    """OpenSpiel's game of the same board."""
    return pyspiel.load_game("dots_and_boxes", {"num_rows": rows, "num_cols": cols, "utility_margin": False})


@pytest.mark.parametrize("text", [TINY, *(pytest.param(text, marks=pytest.mark.slow) for text in SMALL)])
def test_random_simulations_of_openspiel_pass(text: str) -> None:
    """With states that are written and read after every action, and without."""
    for serialize in (True, False):
        pyspiel.random_sim_test(load(text), 2, serialize, False)


def test_alpha_beta_search_finds_the_value_of_the_own_game_of_openspiel() -> None:
    """Two boxes with one edge drawn: the same value and the same best edge."""
    states = [game.new_initial_state().child(0) for game in (load(TINY), theirs(1, 2))]
    found = [minimax.alpha_beta_search(state.get_game(), state, maximizing_player_id=1) for state in states]
    assert found[0] == found[1]


def test_exploitability_of_uniform_play_is_that_of_the_own_game_of_openspiel() -> None:
    games = [load("dots_and_boxes(rows=1,cols=1)"), theirs(1, 1)]
    ours, expected = (exploitability.exploitability(game, policy.UniformRandomPolicy(game)) for game in games)
    assert ours == pytest.approx(expected)


def test_rl_environment_pays_the_rewards_of_the_scheme() -> None:
    """Seat 0 draws the last edge of the first box, is paid at once, and moves again."""
    load(TINY)
    env = rl_environment.Environment("jaxgames_dots_and_boxes", rows=1, cols=2, reward="boxes")
    step = env.reset()
    assert len(step.observations["info_state"][0]) == env.observation_spec()["info_state"][0] == 3 * 5 * 3
    for edge in (0, 1, 2, 3, 4):  # h(0,0), h(0,1), h(1,0), h(1,1), v(0,0)
        step = env.step([edge])
    assert (step.current_player(), step.rewards) == (1, [0, 0])
    step = env.step([5])  # the edge between the boxes completes the left one
    assert (step.current_player(), step.rewards) == (1, [-1, 1])
    step = env.step([6])
    assert (step.last(), step.rewards) == (True, [-1, 1])


@pytest.mark.parametrize("text", [TINY, *(pytest.param(text, marks=pytest.mark.slow) for text in SMALL)])
def test_playthrough_is_written(text: str) -> None:
    register()
    assert "IsTerminal() = True" in playthrough(f"jaxgames_{text}", None, seed=1)


# -- names and parameters ------------------------------------------------------------------------------------------


def test_every_game_is_registered_once_however_often_register_is_called() -> None:
    register()
    register()
    names = [name for name in pyspiel.registered_names() if name.startswith("jaxgames_")]
    assert sorted(set(names) - {"jaxgames_sticks"}) == [f"jaxgames_{id}" for id in jaxgames.list_games()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("id", jaxgames.list_games())
def test_defaults_are_those_of_the_env_except_for_the_reward(id: str) -> None:
    game, env = load(id), jaxgames.make(id)
    assert game.env == (jaxgames.make(id, reward="win_loss") if hasattr(env, "reward") else env)
    assert game.num_players() == env.num_players
    assert (game.num_distinct_actions(), game.max_game_length()) == (env.num_actions, env.max_steps)
    assert (game.get_type().utility, game.utility_sum()) == (KINDS.Utility.ZERO_SUM, 0)
    assert (game.min_utility(), game.max_utility()) == (-1, env.num_players - 1)
    assert game.observation_tensor_shape() == list(env.observation_shape)


@pytest.mark.parametrize(("text", "pays_before_the_end"), SCHEMES)
def test_parameters_and_kind_of_rewards_are_those_of_the_env(text: str, pays_before_the_end: bool) -> None:
    game, env = load(text), jaxgames.make(text)
    assert game.env == pyspiel.load_game(str(game)).env == registered_game(env).env == env
    model = KINDS.RewardModel.REWARDS if pays_before_the_end else KINDS.RewardModel.TERMINAL
    assert game.get_type().reward_model == model
    assert (game.utility_sum() == 0) == env.zero_sum


def test_game_of_a_user_is_registered_with_its_parameters() -> None:
    with pytest.raises(ValueError, match=r"no registered game is sticks\(.*; use OpenSpielGame\(env\)"):
        registered_game(Sticks())
    jaxgames.register("sticks", Sticks)
    game = load("sticks(num_players=4,sticks=5)")
    assert game.env == registered_game(Sticks(4, 5)).env == Sticks(4, 5)
    pyspiel.random_sim_test(game, 3, True, False)
    assert game.get_type().reward_model == KINDS.RewardModel.REWARDS  # the env does not state that it pays at the end


def test_games_of_chance_and_of_parameters_without_defaults_are_left_out() -> None:
    def make_matches(sticks: int) -> Sticks:
        return Sticks(3, sticks)

    jaxgames.register("matches", make_matches)
    jaxgames.register("lucky_sticks", LuckySticks)
    for id in ("matches", "lucky_sticks"):
        with pytest.raises(pyspiel.SpielError, match=f"Unknown game 'jaxgames_{id}'"):
            load(id)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: load("dots_and_boxes(rows=0)"), ValueError, "rows must be an integer from 1 to 16, not 0"),
        (lambda: load("dots_and_boxes(height=2)"), pyspiel.SpielError, "parameters are: cols, reward, rows"),
        (lambda: load("dots_and_boxes(rows=two)"), pyspiel.SpielError, "Expected type: kInt"),
        (lambda: load(TINY).new_initial_state("0010"), ValueError, "expected 'edges boxes seat'"),
        (lambda: load(TINY).new_initial_state(7), TypeError, "None or the text of a position"),  # pyright: ignore[reportArgumentType]
        (lambda: make_observation(load(TINY), params={"planes": 1}), ValueError, "have no parameters, not"),
        (lambda: OpenSpielGame(jaxgames.auto_reset(Sticks())), ValueError, "without auto_reset"),
        (lambda: pickle.dumps(OpenSpielGame(Sticks())), TypeError, r"use register\(\) .* for sticks"),
        (lambda: pickle.dumps(OpenSpielGame(Sticks()).new_initial_state()), TypeError, r"use register\(\)"),
    ],
)
def test_wrong_use_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# -- states --------------------------------------------------------------------------------------------------------


def test_texts_returns_and_observations_follow_the_env() -> None:
    game, env = load(PAYING), jaxgames.make(PAYING)
    state, board, earned = game.new_initial_state(), env.init(), np.zeros(2)
    observation: Any = make_observation(game)
    assert (observation.tensor.dtype, observation.tensor.shape) == (np.float32, (3 * 5 * 3,))
    assert game.observation_tensor_layout() == pyspiel.TensorLayout.HWC
    for action in (0, 1, 2, 3, 4, 5, 6):
        mover = state.current_player()
        assert state.action_to_string(mover, action) == env.action_to_string(board, action)
        state.apply_action(action)
        board = env.step(board, action)
        earned += np.asarray(board.rewards)
        assert state.returns() == earned.tolist()
        for seat in (0, 1):
            observation.set_from(state, seat)
            assert observation.tensor.tolist() == pyspiel.State.observation_tensor(state, seat)
            assert observation.dict["observation"].tolist() == env.observe(board, seat).tolist()
            assert observation.string_from(state, seat) == state.observation_string(seat) == env.to_string(board)
    assert state.is_terminal()


def test_game_without_a_name_pays_the_winner() -> None:
    """Each other seat loses its share, whatever the env pays; a state may begin at any board."""
    game = OpenSpielGame(Sticks())
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-1, 1, 0)
    state = game.state_at(Sticks().at(3, 1))
    clone = state.clone()
    state.apply_action(2)
    assert state.returns() == [-0.5, 1, -0.5]
    assert (state.history(), clone.history(), str(clone)) == ([2], [], "3 1")


def test_state_begins_at_the_position_of_a_text() -> None:
    game = load(TINY)
    state = game.new_initial_state("0010111 .. 0")
    assert state.legal_actions() == [0, 1, 3]
    state.apply_action(0)
    assert state.information_state_string(0) == "0010111 .. 0: 0"
    assert game.new_initial_state().child(0).information_state_string(0) == "0"


def test_observation_with_perfect_recall_is_the_history() -> None:
    game = load(TINY)
    state = random_state(game, 2)
    observation: Any = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    assert observation.tensor is None
    assert observation.string_from(state, 0) == state.history_str()
    private: Any = make_observation(game, pyspiel.IIGObservationType(public_info=False, perfect_recall=False))
    assert private.string_from(state, 0) == ""


# -- copies --------------------------------------------------------------------------------------------------------


def test_pickled_game_state_and_type_come_back() -> None:
    """The copy of a state keeps its history, its returns and the position that it began with."""
    game = load(PAYING)
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


@pytest.mark.slow
def test_pickled_state_is_read_by_a_process_that_has_registered_nothing() -> None:
    """The process also ends without an error, although OpenSpiel holds functions of Python until then."""
    state = random_state(load(TINY), 4)
    command = [sys.executable, "-c", "import pickle, sys; print(pickle.load(sys.stdin.buffer))"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, input=pickle.dumps(state), env=environment, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(state)
