"""One seat as an environment of Gymnasium: Gymnasium's own checks, ids, seeds, pictures, processes, wrong use."""

import multiprocessing
import os
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
from jaxgames.host import host
from jaxgames.interop.gymnasium import SeatEnv, SeatVectorEnv, register_envs
from jaxgames.interop.seat_play import games_by_id
from tests.helpers.sticks import Sticks

BOXES = "dots_and_boxes(rows=1, cols=2)"


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


# -- Gymnasium's checks, and names -----------------------------------------------------------------------------------


def check_without_warning(env: gym.Env[Any, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_checks_of_gymnasium_pass_without_a_warning() -> None:
    check_without_warning(gym.make("jaxgames/DotsAndBoxes-v0", seat=1, rows=1, cols=2))


@pytest.mark.slow
@pytest.mark.parametrize("id", games_by_id())
def test_checks_of_gymnasium_pass_for_the_last_seat_of_every_game(id: str) -> None:
    check_without_warning(gym.make(id, seat=jaxgames.make(games_by_id()[id]).num_players - 1))


@pytest.mark.slow  # compiles a search
def test_checks_of_gymnasium_pass_against_an_agent_on_the_host() -> None:
    opponent = "openspiel(simulations=4)"
    check_without_warning(gym.make("jaxgames/DotsAndBoxes-v0", seat=1, opponent=opponent, rows=1, cols=2))


def test_make_passes_seat_opponent_and_parameters() -> None:
    id, opponent = "jaxgames/DotsAndBoxes-v0", "greedy(epsilon=0.5)"
    env: Any = gym.make(id, seat="random", opponent=opponent, rows=1, cols=2).unwrapped
    assert str(env.game) == "dots_and_boxes(rows=1, cols=2, reward='win_loss')"
    envs: Any = gym.make_vec(id, num_envs=3, rows=1, cols=2, autoreset_mode="NextStep")
    assert isinstance(envs, SeatVectorEnv)
    assert (envs.num_envs, envs.metadata["autoreset_mode"]) == (3, gym.vector.AutoresetMode.NEXT_STEP)


@pytest.mark.usefixtures("ids")
def test_every_game_has_an_id_and_a_game_of_a_user_gets_one() -> None:
    assert set(games_by_id()) <= set(gym.registry)
    jaxgames.register("three_sticks", Sticks)
    register_envs()
    env: Any = gym.make("jaxgames/ThreeSticks-v0", sticks=5).unwrapped
    assert env.game == Sticks(sticks=5)


# -- values ----------------------------------------------------------------------------------------------------------


def test_values_have_the_types_of_gymnasium_and_can_be_written_to(env: SeatEnv) -> None:
    observation, info = env.reset(seed=0)
    for _ in range(2):
        assert observation in env.observation_space
        assert (info["action_mask"].dtype, info["action_mask"].shape) == (np.int8, (env.game.num_actions,))
        assert observation.flags.writeable
        assert info["action_mask"].flags.writeable
        observation, *results, info = env.step(env.action_masks().argmax())
        assert [type(value) for value in results] == [float, bool, bool]


def test_action_masks_are_copies_of_that_of_info(env: SeatEnv) -> None:
    _, info = env.reset(seed=0)
    masks = env.action_masks()
    assert masks.dtype == np.bool_
    np.testing.assert_array_equal(masks, info["action_mask"])
    masks[:] = False
    np.testing.assert_array_equal(env.action_masks(), info["action_mask"])


def test_resets_without_a_seed_give_other_games() -> None:
    env = SeatEnv(Sticks(), seat="random")
    _, info = env.reset(seed=0)
    seats = [info["seat"], *(env.reset()[1]["seat"] for _ in range(30))]
    assert set(seats) == {0, 1, 2}
    env.reset(seed=0)
    assert seats[1:] == [env.reset()[1]["seat"] for _ in range(30)]


@pytest.mark.parametrize("action", [-1, np.array(7)])
def test_action_outside_of_the_space_ends_the_game(env: SeatEnv, action: Any) -> None:
    env.reset(seed=0)
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
        ({"env_or_id": BOXES, "seat": 2}, ValueError, "seat must be .* 0 to 1, or 'random'"),
        ({"env_or_id": BOXES, "opponent": 2}, TypeError, "opponent must be an agent"),
        ({"env_or_id": BOXES, "render_mode": "human"}, ValueError, "render_mode .* 'ansi', .*not 'human'"),
        ({"env_or_id": Sticks(), "render_mode": "rgb_array"}, ValueError, "render_mode .* 'ansi', not 'rgb_array'"),
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
            assert 'AsyncVectorEnv(..., context="spawn")' in receiver.recv()
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
