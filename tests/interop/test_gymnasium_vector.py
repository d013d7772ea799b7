"""Many boards as one vector environment of Gymnasium: they play exactly as single environments do."""

from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from jaxgames.interop.gymnasium import SeatEnv, SeatVectorEnv
from tests.helpers.positions import random_actions
from tests.helpers.sticks import ShortSticks

BOARDS = 4


def vector_env(mode: AutoresetMode = AutoresetMode.SAME_STEP, **changes: Any) -> SeatVectorEnv:
    """Boards of the only game here, which is cut off at times, so its programs are compiled once."""
    arguments: Any = {"seat": "random", "autoreset_mode": mode} | changes
    return SeatVectorEnv(ShortSticks(), BOARDS, **arguments)


def assert_same(ours: Any, theirs: Any, name: str = "result") -> None:
    """Asserts equal values, types and shapes in nested tuples, dicts and arrays of objects."""
    assert type(ours) is type(theirs), name
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), name
        for key in ours:
            assert_same(ours[key], theirs[key], f"{name}[{key!r}]")
    elif isinstance(ours, tuple) or (isinstance(ours, np.ndarray) and ours.dtype.kind == "O"):
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{name}[{number}]")
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype, name
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    else:
        assert ours is theirs, name  # None


def compare(ours: SeatVectorEnv, theirs: Any, steps: int) -> np.ndarray:
    """Plays both with the same seeds and actions, some of them illegal.

    Returns int[2], the number of games that the rules ended, and of those that a limit cut off.
    """
    mode, rng, ended = ours.metadata["autoreset_mode"], np.random.default_rng(0), np.zeros(2, int)
    results = ours.reset(seed=5)
    assert_same(results, theirs.reset(seed=5))
    for step in range(steps):
        actions = random_actions(rng, ours.action_masks())
        actions[step % ours.num_envs] = rng.integers(ours.single_action_space.n)  # pyright: ignore[reportAttributeAccessIssue]  # Discrete
        results = ours.step(actions)
        assert_same(results, theirs.step(actions))
        over = results[2] | results[3]
        ended += results[2].sum(), results[3].sum()
        if mode is AutoresetMode.DISABLED and over.any():
            assert_same(ours.reset(options={"reset_mask": over}), theirs.reset(options={"reset_mask": over.copy()}))
    assert_same(ours.reset(), theirs.reset())  # without a seed, the random numbers continue
    return ended


@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[pytest.mark.slow] * (mode == AutoresetMode.SAME_STEP)) for mode in AutoresetMode]
)
def test_vector_equals_single_environments(mode: AutoresetMode) -> None:
    """In a game that is cut off at times."""
    theirs = SyncVectorEnv([lambda: SeatEnv(ShortSticks(), seat="random")] * BOARDS, autoreset_mode=mode)
    ended = compare(SeatVectorEnv(ShortSticks(), BOARDS, "random", autoreset_mode=mode), theirs, steps=15)
    assert ended.min() >= 4


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_vector_equals_single_environments_where_seats_move_again(seat: int) -> None:
    game, opponent = "dots_and_boxes(rows=2, cols=2)", "greedy(epsilon=0.5)"
    mode = AutoresetMode.NEXT_STEP
    theirs = SyncVectorEnv([lambda: SeatEnv(game, seat, opponent)] * 8, autoreset_mode=mode)
    assert compare(SeatVectorEnv(game, 8, seat, opponent, mode), theirs, steps=100).sum() >= 50


# -- as SyncVectorEnv does it, and how it looks ----------------------------------------------------------------------


def test_disabled_restarts_only_the_boards_of_the_mask() -> None:
    envs = vector_env(AutoresetMode.DISABLED, seat=0)
    envs.reset(seed=1)
    _, _, terminations, truncations, _ = envs.step(np.array([-1, 0, -1, 0]))
    assert terminations[[0, 2]].all()
    assert not truncations.any()
    with pytest.raises(gym.error.ResetNeeded, match=r"boards 0, .* are finished"):
        envs.step(np.zeros(BOARDS, int))
    before = envs.action_masks()
    _, infos = envs.reset(options={"reset_mask": terminations})
    np.testing.assert_array_equal(infos["_action_mask"], terminations)
    np.testing.assert_array_equal(envs.action_masks()[~terminations], before[~terminations])
    assert envs.action_masks().any(-1).all()
    envs.step(np.zeros(BOARDS, int))


def test_episode_statistics_of_gymnasium_have_the_returns() -> None:
    envs: Any = RecordEpisodeStatistics(vector_env(AutoresetMode.NEXT_STEP))
    envs.reset(seed=0)
    rng, ended, lengths = np.random.default_rng(0), 0, np.zeros(BOARDS, int)
    for _ in range(15):
        restarts = lengths == -1  # the step that restarts a board
        _, rewards, terminations, truncations, infos = envs.step(random_actions(rng, envs.unwrapped.action_masks()))
        over = terminations | truncations
        lengths = np.where(restarts, 0, lengths + 1)
        if over.any():  # the only step that pays
            np.testing.assert_array_equal(infos["episode"]["r"], np.where(over, rewards, 0))
            np.testing.assert_array_equal(infos["episode"]["l"], np.where(over, lengths, 0))
            ended += over.sum()
            lengths[over] = -1
    assert ended == len(envs.return_queue) >= 8


def test_seeds_can_be_one_per_board() -> None:
    envs = vector_env()
    by_list = envs.reset(seed=[5, 6, 7, 8])
    assert_same(by_list, envs.reset(seed=5))
    restarted = envs.reset(seed=[5, None, None, 8])[1]["seat"]
    np.testing.assert_array_equal(restarted[[0, 3]], by_list[1]["seat"][[0, 3]])


# -- on the device ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", AutoresetMode)
def test_jax_output_has_the_same_values_and_stays_on_the_device(mode: AutoresetMode) -> None:
    ours, on_device = vector_env(mode), vector_env(mode, output="jax")
    ours.reset(seed=1)
    results: Any = on_device.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(6):
        actions = random_actions(rng, ours.action_masks())
        expected = ours.step(actions)
        with jax.transfer_guard("disallow"):
            results = on_device.step(jax.device_put(actions))
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(results))
        for mine, theirs in zip(results[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        for name in ("action_mask", "seat"):
            np.testing.assert_array_equal(results[4][name], expected[4][name])
        assert ("final_obs" in results[4]) == (mode is AutoresetMode.SAME_STEP)  # whether or not a game has ended
        if "final_obs" in expected[4]:
            filled = expected[4]["_final_obs"]
            np.testing.assert_array_equal(results[4]["_final_obs"], filled)
            np.testing.assert_array_equal(results[4]["final_obs"][filled], np.stack(expected[4]["final_obs"][filled]))
            np.testing.assert_array_equal(
                results[4]["final_info"]["action_mask"], expected[4]["final_info"]["action_mask"]
            )
        if mode is AutoresetMode.DISABLED and (expected[2] | expected[3]).any():
            over = {"reset_mask": expected[2] | expected[3]}
            np.testing.assert_array_equal(on_device.reset(options=over)[0], ours.reset(options=over)[0])


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


# -- wrong use -------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_envs": 0}, ValueError, "num_envs must be an integer from 1 to"),
    ({"autoreset_mode": "Never"}, ValueError, "autoreset_mode must be one of 'NextStep',.*not 'Never'"),
    ({"output": "torch"}, ValueError, "output must be one of 'numpy', 'jax', not 'torch'"),
    ({"seat": 2}, ValueError, "seat must be .* 0 to 1"),
    ({"opponent": "openspiel"}, ValueError, "gymnasium.SeatEnv, which takes any agent"),
]
REFUSED_BY_RESET: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"options": {"mask": 1}}, ValueError, "'reset_mask', not 'mask'"),
    ({"options": {"reset_mask": np.ones(BOARDS)}}, TypeError, "reset_mask .* bool"),
    ({"options": {"reset_mask": np.ones(3, bool)}}, ValueError, r"shape \(4,\), not \(3,\)"),
    ({"options": {"reset_mask": np.zeros(BOARDS, bool)}}, ValueError, "at least one board"),
    ({"options": {"reset_mask": np.ones(BOARDS, bool)}}, gym.error.ResetNeeded, "reset all boards first"),
    ({"seed": [1, 2]}, ValueError, "seed must be one integer or 4 of them, not 2"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED)
def test_wrong_arguments_are_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SeatVectorEnv(**({"env_or_id": "dots_and_boxes", "num_envs": 2} | arguments))


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED_BY_RESET)
def test_wrong_reset_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        vector_env(AutoresetMode.DISABLED).reset(**arguments)


def test_wrong_actions_are_refused_and_those_outside_of_int32_illegal() -> None:
    envs = vector_env(seat=0)
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        envs.step(np.zeros(BOARDS, int))
    envs.reset(seed=0)
    for dtype in (float, bool):
        with pytest.raises(TypeError, match=r"actions must be integers \[4\], not of dtype"):
            envs.step(np.zeros(BOARDS, dtype))
    for actions in (np.zeros(3, int), np.zeros((BOARDS, 1), int), 0, jnp.zeros(3, int)):
        with pytest.raises(ValueError, match=r"actions must have the shape \(4,\), not"):
            envs.step(actions)
    assert envs.step(np.array([2**32, -(2**40), 2**63 - 1, 2**31]))[1].tolist() == [-1.0] * BOARDS
