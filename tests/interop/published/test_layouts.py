"""The published spaces in adapters: whole games of minichess in the numbers of Alpha-Mini, and what is refused."""

import warnings
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test

import jaxgames
from jaxgames.interop.gymnasium import SeatEnv
from jaxgames.interop.layouts import layout_of
from jaxgames.interop.pettingzoo import aec_env, raw_env
from jaxgames.interop.published.minichess import ACTION, MOVES, NUM_ACTIONS, action_mask, values

GAME = "minichess(rules=king_capture, reward=material, double_step=True, promotion=queen)"
ENV = jaxgames.make(GAME)
STAR = "chinese_checkers(size=1, num_players=6)"


@jax.jit
def study(state: Any) -> tuple[jax.Array, jax.Array]:
    return values(state), action_mask(ENV, state)


@pytest.mark.slow  # plays for seconds
def test_agents_of_pettingzoo_see_values_and_play_by_the_numbers_of_the_study() -> None:
    zoo, rng = raw_env(GAME, spaces="published"), np.random.default_rng(0)
    for agent in zoo.possible_agents:
        assert zoo.observation_space(agent)["observation"] == Box(-60_000, 60_000, (5, 5), np.int32)
        assert zoo.action_space(agent) == Discrete(NUM_ACTIONS) == Discrete(942)
    zoo.reset()
    seen = 0
    while zoo.agents and not any(zoo.terminations.values()):
        mover = zoo.agent_selection
        shown, other = zoo.observe(mover), zoo.observe(next(agent for agent in zoo.agents if agent != mover))
        board, mask = jax.device_get(study(zoo.board))
        np.testing.assert_array_equal(shown["observation"], board)
        np.testing.assert_array_equal(other["observation"], board[::-1], "seen from the other side")
        np.testing.assert_array_equal(shown["action_mask"], mask)
        assert not other["action_mask"].any()
        before, number = zoo.board, int(rng.choice(np.flatnonzero(mask)))
        zoo.step(number)
        expected = ENV.step(before, int(ACTION[number]))
        assert ENV.to_string(zoo.board) == ENV.to_string(jax.device_get(expected))
        seen += 1
    assert seen > 10


def test_pettingzoo_accepts_the_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(aec_env(GAME, spaces="published"), num_cycles=40)


@pytest.mark.slow  # the next test plays one of them
@pytest.mark.parametrize("game", [GAME, STAR])
def test_gymnasium_accepts_the_environment(game: str) -> None:
    env = SeatEnv(game, spaces="published", opponent="random")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)


def test_seat_of_gymnasium_plays_black_by_the_numbers_of_the_study() -> None:
    env, rng = SeatEnv(GAME, seat=1, opponent="first", spaces="published"), np.random.default_rng(1)
    assert env.action_space == Discrete(942)
    observation, info = env.reset(seed=0)
    over, steps = False, 0
    while not over:
        board, mask = jax.device_get(study(env._started().state.board))  # pyright: ignore[reportPrivateUsage]
        np.testing.assert_array_equal(observation, board)
        np.testing.assert_array_equal(info["action_mask"], mask)
        np.testing.assert_array_equal(env.action_masks(), mask)
        assert observation in env.observation_space
        observation, _, terminated, truncated, info = env.step(rng.choice(np.flatnonzero(mask)))
        over, steps = terminated or truncated, steps + 1
    assert steps > 3
    assert not info["action_mask"].any()


@pytest.mark.parametrize("number", [-1, NUM_ACTIONS, 0])
def test_number_of_a_piece_that_is_elsewhere_is_illegal(number: int) -> None:
    """Number 0 is a rook that leaves a5, where Black's rook stands and not White's."""
    assert MOVES[0].origin == 0
    env = SeatEnv(GAME, spaces="published")
    env.reset(seed=0)
    _, reward, terminated, _, _ = env.step(number)
    assert (reward, terminated) == (-1.0, True)


def test_wrapped_game_has_the_same_layout() -> None:
    zoo = raw_env(jaxgames.make("minichess"), spaces="published")
    zoo.reset()
    assert zoo.observe("player_0")["action_mask"].sum() == jaxgames.make("minichess").legal_action_mask(zoo.board).sum()


@pytest.mark.parametrize("game", ["checkers", "chinese_checkers(num_players=3)"])
def test_games_without_a_published_environment_are_refused(game: str) -> None:
    message = r'spaces="published" needs \'chinese_checkers\(num_players=6\)\' or \'minichess\', .* use spaces="dict"'
    with pytest.raises(ValueError, match=message):
        layout_of(jaxgames.make(game), "published")
    with pytest.raises(ValueError, match=message):
        SeatEnv(game, spaces="published")
    with pytest.raises(ValueError, match="spaces must be one of 'dict', 'published', not 'own'"):
        layout_of(jaxgames.make(game), "own")  # pyright: ignore[reportArgumentType]
