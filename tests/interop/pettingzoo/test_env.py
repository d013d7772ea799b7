"""Games of jaxgames in PettingZoo: they pass its own tests, and show what the env itself shows."""

import copy
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo.test import api_test, seed_test

import jaxgames
from jaxgames.interop.pettingzoo import BoardGameEnv, aec_env, raw_env
from tests.helpers.positions import compiled, start
from tests.helpers.sticks import LuckySticks, ShortSticks, Sticks

BOXES = "dots_and_boxes(rows=1, cols=2)"
STAR = "chinese_checkers(size=1, num_players=6, max_rounds=3)"  # ends by truncation in most random games
GAMES = [
    "checkers(max_plies=60)",
    "checkers",
    *[f"chinese_checkers(size=1, num_players={seats})" for seats in (2, 3, 4, 6)],
    "chinese_checkers(size=2, num_players=6, max_rounds=9)",
    "chinese_checkers_diamond(size=4, pieces=3)",
    "dots_and_boxes(rows=2, cols=2, reward=boxes)",
    "minichess(max_plies=40)",
    "minichess(rules=king_capture)",
]
HARMLESS = (  # PettingZoo's own games of this kind are spared by their names
    "Observation is not a NumPy array",  # but a dict of two
    "Observation space for each agent probably should be gymnasium.spaces.box",
    "all zeros",  # an empty board of Dots and Boxes, the mask of an agent whose game is over
)


@pytest.fixture
def only_harmless_warnings() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert [str(each.message) for each in caught if not any(part in str(each.message) for part in HARMLESS)] == []


def legal_action(rng: np.random.Generator, observation: dict[str, np.ndarray]) -> int:
    return int(rng.choice(np.flatnonzero(observation["action_mask"])))


# -- PettingZoo's own tests ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("only_harmless_warnings")
@pytest.mark.parametrize("game", [BOXES, *[pytest.param(game, marks=pytest.mark.slow) for game in GAMES]])
def test_game_passes_the_tests_of_pettingzoo(game: str) -> None:
    api_test(aec_env(game), num_cycles=10 if game == BOXES else 200)
    seed_test(lambda: aec_env(game), num_cycles=50)


# -- the env behind it -----------------------------------------------------------------------------------------------


def play_beside(game: str, seed: int) -> BoardGameEnv:
    """Plays a random game in PettingZoo and in the env, and compares all that each agent is shown."""
    rng = np.random.default_rng(seed)
    env = jaxgames.make(game)
    zoo = raw_env(env)
    zoo.reset(seed=seed)
    state = start(env)
    while not (state.terminated or state.truncated):
        assert zoo.agent_selection == f"player_{state.current_player}"
        look = compiled(env).look(state)
        for seat, agent in enumerate(zoo.agents):
            shown = zoo.observe(agent)
            assert zoo.observation_space(agent).contains(shown)
            np.testing.assert_array_equal(shown["observation"], look.seats[seat])
            to_move = seat == state.current_player
            np.testing.assert_array_equal(shown["action_mask"], look.mask if to_move else np.zeros(env.num_actions))
        np.testing.assert_array_equal(zoo.state(), look.seats[0])
        assert zoo.state_space.contains(zoo.state())
        action = legal_action(rng, zoo.observe(zoo.agent_selection))
        zoo.step(action)
        state = compiled(env).step(state, np.int32(action))
        assert zoo.rewards == dict(zip(zoo.agents, np.asarray(state.rewards).tolist(), strict=True))
        assert set(zoo.terminations.values()) == {bool(state.terminated)}
        assert set(zoo.truncations.values()) == {bool(state.truncated)}
    return zoo


@pytest.mark.parametrize("game", [BOXES, *[pytest.param(game, marks=pytest.mark.slow) for game in [STAR, *GAMES]]])
def test_agents_are_shown_what_the_env_shows(game: str) -> None:
    for seed in range(3):
        zoo = play_beside(game, seed)
        for agent in zoo.agents:
            assert not zoo.observe(agent)["action_mask"].any()


def test_spaces_state_shapes_and_types() -> None:
    zoo = aec_env(STAR)
    assert zoo.possible_agents == [f"player_{seat}" for seat in range(6)]
    for agent in zoo.possible_agents:
        space = zoo.observation_space(agent)
        assert space == Dict({"observation": Box(0, 1, (5, 5, 8), np.int8), "action_mask": Box(0, 1, (79,), np.int8)})
        assert zoo.action_space(agent) == Discrete(79)
        assert zoo.observation_space(agent) is space
        assert zoo.action_space(agent) is zoo.action_space(agent)
    assert zoo.metadata["name"] == "jaxgames_chinese_checkers_v0"
    assert zoo.metadata["is_parallelizable"] is False


def test_rewards_of_a_seat_add_up_to_what_the_env_paid_it() -> None:
    """`last()` returns what an agent was paid since its last action, and, at the end, all that is left."""
    rng = np.random.default_rng(1)
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2, reward=boxes)")
    zoo, paid = aec_env(env), dict.fromkeys(["player_0", "player_1"], 0.0)
    zoo.reset()
    actions: list[int] = []
    for agent in zoo.agent_iter():
        observation, reward, terminated, _, _ = zoo.last()
        assert type(reward) is float
        paid[agent] += reward
        assert observation is not None
        action = None if terminated else legal_action(rng, observation)
        if action is not None:
            actions.append(action)
        zoo.step(action)  # pyright: ignore[reportArgumentType]  # PettingZoo's type lacks None
    state, returns = start(env), np.zeros(2)
    for action in actions:
        state = compiled(env).step(state, np.int32(action))
        returns += state.rewards
    assert list(paid.values()) == returns.tolist()
    assert returns.any()


def test_agents_leave_one_by_one_after_the_end() -> None:
    zoo = aec_env(Sticks())
    zoo.reset()
    for action in (2, 2, 0):
        zoo.step(action)
    assert zoo.agents == zoo.possible_agents
    assert zoo.rewards == {"player_0": -1.0, "player_1": -1.0, "player_2": 2.0}
    left: list[tuple[str, float]] = []
    for agent in zoo.agent_iter():
        _, reward, terminated, truncated, _ = zoo.last()
        assert (terminated, truncated) == (True, False)
        left.append((agent, reward))
        with pytest.raises(ValueError, match="the only valid action is None"):
            zoo.unwrapped.step(0)
        zoo.step(None)  # pyright: ignore[reportArgumentType]  # PettingZoo's type lacks None
    assert left == [("player_0", -1.0), ("player_1", -1.0), ("player_2", 2.0)]
    assert zoo.agents == []
    zoo.reset()
    assert zoo.agents == zoo.possible_agents
    assert not any(zoo.terminations.values())


def test_truncated_game_is_truncated_and_not_terminated() -> None:
    zoo = raw_env(ShortSticks())
    zoo.reset()
    for action in (0, 1):
        zoo.step(action)
    assert set(zoo.truncations.values()) == {True}
    assert set(zoo.terminations.values()) == {False}


def test_observations_are_new_arrays_that_may_be_changed() -> None:
    zoo = aec_env(BOXES)
    zoo.reset()
    first, second = zoo.observe("player_0"), zoo.observe("player_0")
    assert first is not None
    assert second is not None
    for array in first.values():
        array[:] = 1
    assert not second["observation"].any()
    assert zoo.last(observe=False)[0] is None


# -- illegal actions -----------------------------------------------------------------------------------------------


def test_illegal_action_ends_the_game_as_in_the_env() -> None:
    zoo = aec_env(Sticks())
    zoo.reset()
    for action in (2, 2, 2):  # of the one stick that is left
        zoo.step(action)
    assert zoo.rewards == {"player_0": 0.5, "player_1": 0.5, "player_2": -1.0}
    assert set(zoo.terminations.values()) == {True}
    assert set(zoo.truncations.values()) == {False}


def test_action_outside_of_the_space_is_refused() -> None:
    zoo = aec_env(Sticks())
    zoo.reset()
    for action in (3, -1, None, 0.5):
        with pytest.raises(AssertionError, match="action is not in action space"):
            zoo.step(action)  # pyright: ignore[reportArgumentType]  # wrong on purpose


# -- seeds, copies -------------------------------------------------------------------------------------------------


def play_single_sticks(zoo: Any, seed: int | None) -> list[str]:
    """Takes single sticks until the end. Returns the positions, which depend on chance."""
    zoo.reset(seed=seed)
    texts: list[str] = []
    while not any(zoo.terminations.values()):
        zoo.step(0)
        texts.append(zoo.unwrapped.game.to_string(zoo.unwrapped.board))
    return texts


def test_seed_makes_a_game_of_chance_repeatable() -> None:
    zoo, other = aec_env(LuckySticks()), aec_env(LuckySticks())
    games = [play_single_sticks(zoo, seed) for seed in range(8)]
    assert games == [play_single_sticks(other, seed) for seed in range(8)]
    assert len({tuple(game) for game in games}) > 1
    following = [play_single_sticks(zoo, None) for _ in range(8)]  # goes on from the last seed
    assert following == [play_single_sticks(other, None) for _ in range(8)]
    assert len({tuple(game) for game in following}) > 1


def test_copies_and_pickles_play_on_alone() -> None:
    zoo = aec_env(BOXES)
    zoo.reset()
    zoo.step(0)
    copies: list[Any] = [copy.deepcopy(zoo), pickle.loads(pickle.dumps(zoo))]
    zoo.step(1)
    for each in copies:
        assert each.agent_selection == "player_1"
        each.step(2)
        assert each.unwrapped.game.to_string(each.unwrapped.board) == "1010000 .. 0"
    assert zoo.unwrapped.game.to_string(zoo.unwrapped.board) == "1100000 .. 0"  # pyright: ignore[reportAttributeAccessIssue]  # of BoardGameEnv


# -- wrong arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("chess",), ValueError, "the games are"),
        ((3,), TypeError, "expected an env or a text"),
        ((jaxgames.auto_reset(Sticks()),), ValueError, "without auto_reset"),
        ((BOXES, "pixels"), ValueError, "render_mode must be one of 'ansi', 'rgb_array', 'human', not 'pixels'"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(arguments: Any, error: type[Exception], message: str) -> None:
    for make in (aec_env, raw_env):
        with pytest.raises(error, match=message):
            make(*arguments)
