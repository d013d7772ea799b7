"""Seats as environments of Gymnasium, one or many: its own checks and vectors, ids, pictures, processes, wrong use."""

import multiprocessing
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import jaxgames
from jaxgames.host import host
from jaxgames.interop.gymnasium import SeatEnv, SeatVectorEnv, register_envs
from jaxgames.interop.seat_play import games_by_id
from tests.helpers.positions import random_actions
from tests.helpers.sticks import ShortSticks, Sticks

BOXES = "dots_and_boxes(rows=1, cols=2)"
BOARDS = 4


@pytest.fixture(scope="module")
def env() -> SeatEnv:
    return SeatEnv(BOXES, seat=1, render_mode="ansi")


def vector_env(mode: AutoresetMode = AutoresetMode.SAME_STEP, **changes: Any) -> SeatVectorEnv:
    """Boards of a game that is cut off at times. Vectors share its programs, which are compiled once."""
    arguments: Any = {"seat": "random", "autoreset_mode": mode} | changes
    return SeatVectorEnv(ShortSticks(), BOARDS, **arguments)


# -- Gymnasium's checks, and names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("jaxgames/DotsAndBoxes-v0", {"seat": 1, "rows": 1, "cols": 2}),
        pytest.param(
            *("jaxgames/DotsAndBoxes-v0", {"seat": 1, "rows": 1, "cols": 2, "opponent": "openspiel(simulations=4)"}),
            marks=pytest.mark.slow,  # compiles a search on the host
            id="host",
        ),
        *(
            pytest.param(id, {"seat": jaxgames.make(game).num_players - 1}, marks=pytest.mark.slow)
            for id, game in games_by_id().items()
        ),
    ],
)
def test_checks_of_gymnasium_pass_without_a_warning(id: str, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(id, **options).unwrapped)


def test_make_passes_seat_opponent_and_parameters() -> None:
    id, opponent = "jaxgames/DotsAndBoxes-v0", "greedy(epsilon=0.5)"
    env: Any = gym.make(id, seat="random", opponent=opponent, rows=1, cols=2).unwrapped
    assert str(env.game) == "dots_and_boxes(rows=1, cols=2, reward='win_loss')"
    envs: Any = gym.make_vec(id, num_envs=3, rows=1, cols=2, autoreset_mode="NextStep")
    assert isinstance(envs, SeatVectorEnv)
    assert (envs.num_envs, envs.metadata["autoreset_mode"]) == (3, gym.vector.AutoresetMode.NEXT_STEP)


def test_every_game_has_an_id_and_a_game_of_a_user_gets_one() -> None:
    assert set(games_by_id()) <= set(gym.registry)
    jaxgames.register("three_sticks", Sticks)
    register_envs()
    env: Any = gym.make("jaxgames/ThreeSticks-v0", sticks=5).unwrapped
    assert env.game == Sticks(sticks=5)


# -- values and pictures of one seat ---------------------------------------------------------------------------------


def test_values_have_the_types_of_gymnasium_and_arrays_are_the_callers(env: SeatEnv) -> None:
    _, info = env.reset(seed=0)
    masks = env.action_masks()
    assert (info["action_mask"].dtype, masks.dtype) == (np.int8, np.bool_)
    masks[:] = False
    np.testing.assert_array_equal(env.action_masks(), info["action_mask"])
    observation, *results, info = env.step(env.action_masks().argmax())
    assert [type(value) for value in results] == [float, bool, bool]
    assert observation.flags.writeable
    assert info["action_mask"].flags.writeable


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_picture_is_the_position_in_notation_or_pixels(mode: str) -> None:
    env = SeatEnv(BOXES, seat=1, render_mode=mode)
    env.reset(seed=0)
    before: Any = env.render()
    env.step(np.flatnonzero(env.action_masks())[0])
    after: Any = env.render()
    if mode == "ansi":
        assert [env.game.to_string(env.game.from_string(text)) for text in (before, after)] == [before, after]
        assert before.split()[0].count("1") == 1  # the opponent has drawn an edge
    else:
        assert (before.dtype, before.shape) == (np.uint8, (*before.shape[:2], 3))
        assert before.shape == after.shape
        assert (before != after).any()


# -- many boards play as single ones in Gymnasium's vector -------------------------------------------------------------


def text_of(value: Any) -> Any:
    """The text of an array or number, with its type; of those in dicts and tuples, whatever the order of the keys."""
    if isinstance(value, dict):
        return {name: text_of(each) for name, each in value.items()}
    return [*map(text_of, value)] if isinstance(value, tuple) else repr(value)


def compare(ours: SeatVectorEnv, theirs: Any, steps: int) -> np.ndarray:
    """Plays both with the same seeds and actions, some of them illegal.

    Returns int[2], the number of games that the rules ended, and of those that a limit cut off.
    """
    mode, rng, ended = ours.metadata["autoreset_mode"], np.random.default_rng(0), np.zeros(2, int)
    assert text_of(ours.reset(seed=5)) == text_of(theirs.reset(seed=5))
    for step in range(steps):
        actions = random_actions(rng, ours.action_masks())
        actions[step % ours.num_envs] = rng.integers(ours.single_action_space.n)  # pyright: ignore[reportAttributeAccessIssue]  # Discrete
        results = ours.step(actions)
        assert text_of(results) == text_of(theirs.step(actions))
        over = results[2] | results[3]
        ended += results[2].sum(), results[3].sum()
        if mode is AutoresetMode.DISABLED and over.any():
            assert text_of(ours.reset(options={"reset_mask": over})) == text_of(
                theirs.reset(options={"reset_mask": over.copy()})
            )
    for seed in (None, [5, None, *range(ours.num_envs - 2)]):  # without a seed, the random numbers continue
        assert text_of(ours.reset(seed=seed)) == text_of(theirs.reset(seed=seed))
    return ended


@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[pytest.mark.slow] * (mode == AutoresetMode.SAME_STEP)) for mode in AutoresetMode]
)
def test_vector_equals_single_environments(mode: AutoresetMode) -> None:
    """In a game that is cut off at times."""
    theirs = SyncVectorEnv([lambda: SeatEnv(ShortSticks(), seat="random")] * BOARDS, autoreset_mode=mode)
    assert compare(vector_env(mode), theirs, steps=15).min() >= 4


# -- on the device ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", AutoresetMode)
def test_jax_output_has_the_same_values_and_stays_on_the_device(mode: AutoresetMode) -> None:
    ours, on_device = vector_env(mode), vector_env(mode, output="jax")
    ours.reset(seed=1)
    on_device.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(6):
        actions = random_actions(rng, ours.action_masks())
        *expected, infos = ours.step(actions)
        with jax.transfer_guard("disallow"):
            results: Any = on_device.step(jax.device_put(actions))
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(results))
        *found, found_infos = results
        jax.tree.map(np.testing.assert_array_equal, found, expected)
        for name in ("action_mask", "seat"):
            np.testing.assert_array_equal(found_infos[name], infos[name])
        assert ("final_obs" in found_infos) == (mode is AutoresetMode.SAME_STEP)  # whether or not a game has ended
        if "final_obs" in infos:
            filled, masks = infos["_final_obs"], (each["final_info"]["action_mask"] for each in (found_infos, infos))
            np.testing.assert_array_equal(found_infos["_final_obs"], filled)
            np.testing.assert_array_equal(found_infos["final_obs"][filled], np.stack(infos["final_obs"][filled]))
            np.testing.assert_array_equal(*masks)
        over = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and over.any():
            options = {"reset_mask": over}
            np.testing.assert_array_equal(on_device.reset(options=options)[0], ours.reset(options=options)[0])


def test_jax_output_does_not_look_for_finished_boards() -> None:
    """With AutoresetMode.DISABLED they do not change and pay 0, where numpy output raises an error."""
    envs = vector_env(AutoresetMode.DISABLED, seat=0, output="jax")
    envs.reset(seed=1)
    first = envs.step(np.array([-1, 0, -1, 0]))
    assert not first[3].any()
    over = np.asarray(first[2])
    assert over.any()
    assert not over.all()
    second = envs.step(np.full(BOARDS, -1))
    assert second[2].all()
    np.testing.assert_array_equal(second[1], np.where(over, 0, -1))
    np.testing.assert_array_equal(second[0][over], first[0][over])


def test_actions_outside_of_int32_are_illegal() -> None:
    envs = vector_env(seat=0)
    envs.reset(seed=0)
    assert envs.step(np.array([2**32, -(2**40), 2**63 - 1, 2**31]))[1].tolist() == [-1.0] * BOARDS


# -- wrong use -------------------------------------------------------------------------------------------------------


def begun(envs: Any) -> Any:
    """The same env, after `reset`."""
    envs.reset(seed=0)
    return envs


def reset(mask: Any) -> Any:
    return vector_env(AutoresetMode.DISABLED).reset(options={"reset_mask": mask})


def step_finished_boards() -> None:
    envs = begun(vector_env(AutoresetMode.DISABLED, seat=0))
    envs.step(np.array([-1, 0, -1, 0]))
    envs.step(np.zeros(BOARDS, int))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SeatEnv(BOXES, render_mode="human"), ValueError, "render_mode .* 'ansi', .*not 'human'"),
        (lambda: SeatEnv(Sticks(), render_mode="rgb_array"), ValueError, "'ansi', not 'rgb_array'"),
        (lambda: SeatEnv(BOXES).step(0), gym.error.ResetNeeded, "call reset"),
        (lambda: SeatEnv(BOXES).reset(options={"size": 2}), ValueError, "reset takes no options, not 'size'"),
        (lambda: begun(SeatEnv(BOXES)).step(np.array([1])), TypeError, "action must be one integer"),
        (lambda: SeatVectorEnv(BOXES, 0), ValueError, "num_envs must be an integer from 1 to"),
        (lambda: vector_env(opponent="openspiel"), ValueError, "gymnasium.SeatEnv, which takes any agent"),
        (lambda: vector_env().reset(options={"mask": 1}), ValueError, "'reset_mask', not 'mask'"),
        (lambda: vector_env().reset(seed=[1, 2]), ValueError, "seed must be one integer or 4 of them, not 2"),
        (lambda: reset(np.ones(BOARDS)), TypeError, "reset_mask .* bool"),
        (lambda: reset(np.ones(3, bool)), ValueError, r"shape \(4,\), not \(3,\)"),
        (lambda: reset(np.zeros(BOARDS, bool)), ValueError, "at least one board"),
        (lambda: reset(np.ones(BOARDS, bool)), gym.error.ResetNeeded, "reset all boards first"),
        (lambda: vector_env().step(np.zeros(BOARDS, int)), gym.error.ResetNeeded, "call reset"),
        (step_finished_boards, gym.error.ResetNeeded, r"boards 0, .* are finished"),
        (lambda: begun(vector_env()).step(np.zeros(BOARDS, bool)), TypeError, r"integers \[4\], not"),
        (lambda: begun(vector_env()).step(0), ValueError, r"the shape \(4,\), not"),
        (lambda: begun(vector_env()).step(jnp.zeros((BOARDS, 1), int)), ValueError, r"the shape \(4,\), not"),
    ],
)
def test_wrong_use_is_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


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
