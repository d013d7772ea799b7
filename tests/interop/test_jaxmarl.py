"""Games of jaxgames as environments of JaxMARL: its base API, wrappers and restarts, and each rule of the adapter."""

# pyright: reportMissingImports=false

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.blocks import needs
from tests.helpers.positions import start
from tests.helpers.sticks import Sticks
from tests.interop.adapters import GAMES

pytestmark = needs("jaxmarl")

NO_OP, KEY = 3, jax.random.key(0)


def new(*arguments: Any, **options: Any) -> Any:
    """A game as a JaxMARLEnv. Importing JaxMARL takes seconds, so it is not imported while tests are collected."""
    from jaxgames.interop.jaxmarl import JaxMARLEnv

    return JaxMARLEnv(*arguments, **options)


@functools.cache
def sticks() -> Any:
    """Three seats take 1 to 3 of 7 sticks; no-op is action 3."""
    return new(Sticks())


@functools.cache
def start_state() -> Any:
    return sticks().reset(KEY)[1]


# -- what JaxMARL asks of every environment --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "flat"), [(Sticks(), True), *(pytest.param(game, False, marks=pytest.mark.slow) for game in GAMES)]
)
def test_game_keeps_the_base_api(game: Any, flat: bool) -> None:
    """Spaces, names, observations and the results of a step, as JaxMARL's test of its own environments checks them."""
    from jaxmarl.environments import MultiAgentEnv
    from jaxmarl.environments.multi_agent_env import State

    env = new(game, flat=flat)
    assert isinstance(env, MultiAgentEnv)
    assert env.name == env.unwrapped.id
    assert set(env.observation_spaces) == set(env.action_spaces) == set(env.agents)
    observations, state = env.reset(KEY)
    assert isinstance(state, State)
    assert (state.done, state.step) == (False, 0)
    masks = env.get_avail_actions(state)
    joint: dict[str, Any] = {agent: env.action_space(agent).sample(KEY) for agent in env.agents}
    next_observations, next_state, rewards, dones, infos = env.step(KEY, state, joint)
    assert jax.tree.structure(next_state) == jax.tree.structure(state)
    assert next_state.step == 1
    assert set(rewards) == set(env.agents)
    assert set(dones) == {*env.agents, "__all__"}
    assert all(leaf.shape == (env.num_agents,) for leaf in jax.tree.leaves(infos))  # scripts reshape them so
    for agent in env.agents:
        box: Any = env.observation_space(agent)
        actions: Any = env.action_space(agent)
        for observation in (observations[agent], next_observations[agent]):
            assert box.contains(observation)
            assert (observation.shape, observation.dtype) == (box.shape, box.dtype)
        assert actions.contains(joint[agent])
        assert (masks[agent].shape, masks[agent].dtype) == ((actions.n,), np.bool_)
        assert rewards[agent].dtype == np.float32
        assert dones[agent].dtype == np.bool_


# -- actions ---------------------------------------------------------------------------------------------------------


def test_actions_may_have_a_last_axis_of_one() -> None:
    """Some of JaxMARL's scripts pass them so."""
    joint = {agent: jnp.array([2 if agent == "agent_0" else NO_OP]) for agent in sticks().agents}
    assert sticks().step_env(KEY, start_state(), joint)[1].board.left == 4


# -- rewards, ends and restarts --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rollout_manager_of_the_q_learning_baselines_plays_the_game() -> None:
    game = sticks()
    from jaxmarl.wrappers.baselines import CTRolloutManager  # after the adapter, which keeps the streams of the test

    manager = CTRolloutManager(game, batch_size=4)
    observations, states = manager.batch_reset(KEY)
    assert observations["agent_0"].shape == (4, 7 * 4 + 3)
    manager.get_valid_actions = jax.vmap(sticks().get_avail_actions)  # pyright: ignore  # as docs/interop/jaxmarl.md says
    masks: Any = manager.get_valid_actions(states)
    joint = {agent: mask.argmax(-1) for agent, mask in masks.items()}
    _, states, rewards, dones, _ = manager.batch_step(KEY, states, joint)
    left: Any = states
    assert left.board.left.tolist() == [6] * 4
    assert rewards["__all__"].tolist() == [0] * 4
    assert not dones["__all__"].any()


# -- equality and errors ---------------------------------------------------------------------------------------------


def test_envs_with_the_same_arguments_are_equal() -> None:
    board = new(Sticks(), flat=False)
    assert len({sticks(), new(Sticks()), board}) == 2
    assert (sticks().observation_shape, board.observation_shape) == ((7 * 4,), Sticks().observation_shape)
    assert sticks().max_steps == 7
    assert repr(new("dots_and_boxes(rows=1, cols=1)")).startswith('JaxMARLEnv("dots_and_boxes(rows=1, cols=1')


def joint(*actions: Any) -> dict[str, Any]:
    return {f"agent_{seat}": action for seat, action in enumerate(actions)}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: new(Sticks(), flat=2), TypeError, "flat must be one of False, True, not 2"),
        (lambda: sticks().step_env(KEY, start_state(), joint(0)), KeyError, "agent_1"),
        (lambda: sticks().step_env(KEY, start_state(), joint(np.zeros(2, int), 0, 0)), ValueError, r"agent_0, not int"),
        (lambda: sticks().step_env(KEY, start_state(), joint(0.0, 0, 0)), TypeError, "agent_0, not float"),
        (lambda: sticks().step_env(KEY, start_state(), joint(True, 0, 0)), TypeError, "agent_0, not bool"),
        (lambda: sticks().get_obs(start(Sticks())), TypeError, "expected a JaxMARLState, not SticksState"),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.slow  # a process of its own
def test_import_leaves_the_streams_as_they_are() -> None:
    """JaxMARL replaces them, which would end what a notebook or a test captures."""
    code = "import io, sys; sys.stdout = out = io.StringIO(); import jaxgames.interop.jaxmarl; assert sys.stdout is out"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
