"""One seat as an environment of Gymnasium: Gymnasium's own checks, ids, seeds, pictures, wrong arguments."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import jaxgames
from jaxgames import agents
from jaxgames.host import host
from jaxgames.interop.gymnasium import SeatEnv, SeatVectorEnv, register_envs
from jaxgames.interop.seat_play import games_by_id
from tests.helpers.positions import random_actions
from tests.helpers.scripted_agents import TakerOnHost
from tests.helpers.sticks import Sticks

BOXES = "dots_and_boxes(rows=1, cols=2)"
STICKS = Sticks()


@pytest.fixture(scope="module")
def env() -> SeatEnv:
    return SeatEnv(BOXES, seat=1, render_mode="ansi")


@pytest.fixture
def ids() -> Iterator[None]:
    """Removes from Gymnasium's registry what a test adds."""
    before = set(gym.registry)
    yield
    for id in set(gym.registry) - before:
        del gym.registry[id]


def play_game(env: Any, seed: int) -> list[Any]:
    """Returns the results of the steps of a random game."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    steps: list[Any] = [(observation, info)]
    over = False
    while not over:
        (action,) = random_actions(rng, info["action_mask"][None])
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append((observation, reward, terminated, truncated, info))
        over = terminated or truncated
    return steps


# -- Gymnasium's checks ----------------------------------------------------------------------------------------------


def check_without_warning(env: gym.Env[Any, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_checks_of_gymnasium_pass_without_a_warning() -> None:
    check_without_warning(gym.make("jaxgames/DotsAndBoxes-v0", seat=1, rows=1, cols=2))


@pytest.mark.slow  # compiles a search; copies and pickles show below how an agent on the host plays
def test_checks_of_gymnasium_pass_against_an_agent_on_the_host() -> None:
    opponent = "openspiel(simulations=4)"
    check_without_warning(gym.make("jaxgames/DotsAndBoxes-v0", seat=1, opponent=opponent, rows=1, cols=2))


GAMES_AND_LAST_SEATS = {
    "jaxgames/Checkers-v0": 1,
    "jaxgames/ChineseCheckers-v0": 5,
    "jaxgames/ChineseCheckersDiamond-v0": 1,
    "jaxgames/DotsAndBoxes-v0": 1,
    "jaxgames/Minichess-v0": 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("id", GAMES_AND_LAST_SEATS)
def test_checks_of_gymnasium_pass_for_every_game(id: str) -> None:
    for seat in (0, GAMES_AND_LAST_SEATS[id]):
        check_without_warning(gym.make(id, seat=seat))


def test_every_game_has_an_id() -> None:
    assert set(GAMES_AND_LAST_SEATS) == set(games_by_id()) & set(gym.registry)
    for id, seat in GAMES_AND_LAST_SEATS.items():
        assert jaxgames.make(games_by_id()[id]).num_players == seat + 1


# -- spaces, rewards and flags ---------------------------------------------------------------------------------------


def test_values_are_in_the_spaces_and_can_be_written_to(env: SeatEnv) -> None:
    steps = play_game(env, seed=0)
    for step in steps:
        observation, info = step[0], step[-1]
        assert observation in env.observation_space
        assert (info["action_mask"].dtype, info["action_mask"].shape) == (np.int8, (env.game.num_actions,))
        assert info["seat"] == 1
        assert observation.flags.writeable
        assert info["action_mask"].flags.writeable
        assert [type(value) for value in step[1:-1]] in ([], [float, bool, bool])
    assert not steps[-1][-1]["action_mask"].any()


def test_action_masks_are_those_of_info(env: SeatEnv) -> None:
    _, info = env.reset(seed=0)
    masks = env.action_masks()
    assert masks.dtype == np.bool_
    np.testing.assert_array_equal(masks, info["action_mask"])
    masks[:] = False
    np.testing.assert_array_equal(env.action_masks(), info["action_mask"])  # a copy was returned


def test_resets_without_a_seed_give_other_games() -> None:
    env = SeatEnv(Sticks(), seat="random")
    _, info = env.reset(seed=0)
    seats = [info["seat"], *(env.reset()[1]["seat"] for _ in range(30))]
    assert set(seats) == {0, 1, 2}
    env.reset(seed=0)
    assert seats[1:] == [env.reset()[1]["seat"] for _ in range(30)]


def test_copies_and_pickles_play_on_alone(env: SeatEnv) -> None:
    env.reset(seed=0)
    action = int(env.action_masks().argmax())
    copies: list[SeatEnv] = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    before = env.render()
    expected = env.step(action)
    for each in copies:
        assert each.render() == before
        assert repr(each.step(action)) == repr(expected)
        assert each.render() == env.render() != before
        assert repr(each.reset(seed=2)) == repr(SeatEnv(BOXES, seat=1).reset(seed=2))
    assert pickle.loads(pickle.dumps(SeatEnv(BOXES))).reset(seed=0)[1]["seat"] == 0  # before the first reset


def test_copies_and_pickles_play_on_alone_against_an_agent_on_the_host() -> None:
    """The agent has an array, but it is no pytree of arrays."""
    opponent = agents.with_epsilon(STICKS, TakerOnHost(1), 0.5)
    env = SeatEnv(STICKS, seat="random", opponent=opponent)
    _, info = env.reset(seed=2)
    action = int(np.flatnonzero(info["action_mask"])[0])
    copies: list[SeatEnv] = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = env.step(action), env.reset(), play_game(env, seed=3)
    for each in copies:
        assert repr((each.step(action), each.reset(), play_game(each, seed=3))) == repr(expected)


@pytest.mark.parametrize("action", [0, -1, np.array(7)])
def test_illegal_action_ends_the_game(env: SeatEnv, action: Any) -> None:
    env.reset(seed=0)
    if env.action_masks()[0]:
        env.step(0)  # draws the edge 0
    _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert not info["action_mask"].any()


# -- pictures --------------------------------------------------------------------------------------------------------


def test_ansi_is_the_position_in_notation(env: SeatEnv) -> None:
    env.reset(seed=0)
    text: Any = env.render()
    assert env.game.to_string(env.game.from_string(text)) == text
    assert text.split()[0].count("1") == 1  # the opponent has drawn an edge


def test_rgb_array_is_a_picture() -> None:
    env = SeatEnv(BOXES, seat=1, render_mode="rgb_array")
    env.reset(seed=0)
    before: Any = env.render()
    env.step(np.flatnonzero(env.action_masks())[0])
    after: Any = env.render()
    assert (before.dtype, before.shape) == (np.uint8, (*before.shape[:2], 3))
    assert before.shape == after.shape
    assert (before != after).any()


def test_games_without_pictures_have_no_rgb_array() -> None:
    assert SeatEnv(Sticks()).metadata["render_modes"] == ["ansi"]
    with pytest.raises(ValueError, match="render_mode must be one of 'ansi', not 'rgb_array'"):
        SeatEnv(Sticks(), render_mode="rgb_array")


# -- wrong use -------------------------------------------------------------------------------------------------------


def test_wrong_use_is_refused() -> None:
    env = SeatEnv(BOXES)
    for call in (lambda: env.step(0), env.action_masks):
        with pytest.raises(gym.error.ResetNeeded, match="call reset"):
            call()
    with pytest.raises(ValueError, match="reset takes no options, not 'size'"):
        env.reset(options={"size": 2})
    env.reset(seed=0)
    for action in (1.0, None, np.array([1])):
        with pytest.raises(TypeError, match="action must be one integer"):
            env.step(action)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"env_or_id": BOXES, "seat": 2}, ValueError, "seat must be an integer from 0 to 1, or 'random'"),
        ({"env_or_id": BOXES, "opponent": 2}, TypeError, "opponent must be an agent"),
        ({"env_or_id": BOXES, "render_mode": "human"}, ValueError, "render_mode must be one of 'ansi'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SeatEnv(**arguments)


# -- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_forked_process_has_an_error_where_it_would_hang(env: SeatEnv) -> None:
    """JAX has started here. The process that forks plays on."""
    game, vector_env = jaxgames.make(BOXES), SeatVectorEnv(BOXES, num_envs=1)
    for each in (env, vector_env):
        each.reset()
    calls: list[Any] = [lambda: SeatEnv(BOXES), lambda: host(game).init(), env.reset, vector_env.reset]

    def attempt(connection: Any) -> None:
        for call in calls:
            try:
                call()
            except RuntimeError as error:
                connection.send(str(error))

    receiver, sender = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=attempt, args=(sender,), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of JAX and of Python, that a fork may hang
        process.start()
    try:
        for _ in calls:
            assert receiver.poll(30), "the forked process hangs"
            assert "which was forked when JAX had started" in (message := receiver.recv())
            assert 'AsyncVectorEnv(..., context="spawn")' in message
    finally:
        process.kill()
        process.join()
    assert env.reset(seed=0)[1]["seat"] == 1


@pytest.mark.slow  # starts JAX twice
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_process_that_is_forked_before_jax_has_started_plays() -> None:
    code = (
        "import os\nfrom jaxgames.interop.gymnasium import SeatEnv\n"
        f"if os.fork() == 0:\n    print(SeatEnv({BOXES!r}).reset(seed=0)[1]['seat'], flush=True)\nelse:\n    os.wait()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr


# -- by name ---------------------------------------------------------------------------------------------------------


def test_make_passes_seat_opponent_and_parameters() -> None:
    env: Any = gym.make(
        "jaxgames/DotsAndBoxes-v0", seat="random", opponent="greedy(epsilon=0.5)", rows=1, cols=2
    ).unwrapped
    assert str(env.game) == "dots_and_boxes(rows=1, cols=2, reward='win_loss')"
    envs: Any = gym.make_vec("jaxgames/DotsAndBoxes-v0", num_envs=3, rows=1, cols=2, autoreset_mode="NextStep")
    assert isinstance(envs, SeatVectorEnv)
    assert (envs.num_envs, envs.metadata["autoreset_mode"]) == (3, gym.vector.AutoresetMode.NEXT_STEP)


@pytest.mark.usefixtures("ids")
def test_game_of_a_user_gets_an_id() -> None:
    jaxgames.register("three_sticks", Sticks)
    register_envs()
    env: Any = gym.make("jaxgames/ThreeSticks-v0", sticks=5).unwrapped
    assert env.game == Sticks(sticks=5)
