"""Games of jaxgames in PettingZoo: they pass its own tests, pay and leave as its API says, and are drawn."""

import importlib.util
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from jaxgames.interop.pettingzoo import aec_env, raw_env
from tests.helpers.sticks import Sticks
from tests.interop.adapters import GAMES

BOXES = "dots_and_boxes(rows=1, cols=2)"
STAR = "chinese_checkers(size=1, num_players=6, max_rounds=3)"  # ends by truncation in most random games
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


@pytest.mark.usefixtures("only_harmless_warnings")
@pytest.mark.parametrize("game", [BOXES, *[pytest.param(game, marks=pytest.mark.slow) for game in GAMES]])
def test_game_passes_the_tests_of_pettingzoo(game: str) -> None:
    api_test(aec_env(game), num_cycles=10 if game == BOXES else 200)
    seed_test(lambda: aec_env(game), num_cycles=50)


def test_spaces_state_and_names() -> None:
    zoo = aec_env(STAR)
    zoo.reset()
    assert zoo.possible_agents == [f"player_{seat}" for seat in range(6)]
    assert vars(zoo.unwrapped)["state_space"].contains(zoo.state())
    np.testing.assert_array_equal(zoo.state(), zoo.observe("player_0")["observation"])  # pyright: ignore[reportOptionalSubscript]
    assert zoo.metadata["name"] == "jaxgames_chinese_checkers_v0"
    assert zoo.metadata["is_parallelizable"] is False


def test_rewards_of_a_seat_add_up_to_what_the_steps_paid_it() -> None:
    """`last()` returns what an agent was paid since its last action, and, at the end, all that is left."""
    zoo = aec_env("dots_and_boxes(rows=1, cols=2, reward=boxes)")
    agents = zoo.possible_agents
    taken, paid = dict.fromkeys(agents, 0.0), dict.fromkeys(agents, 0.0)
    zoo.reset()
    for agent in zoo.agent_iter():
        observation, reward, terminated, _, _ = zoo.last()
        assert observation is not None
        taken[agent] += reward
        zoo.step(None if terminated else int(observation["action_mask"].argmax()))  # pyright: ignore[reportArgumentType]  # PettingZoo's type lacks None
        for paid_agent, now in zoo.rewards.items() if not terminated else ():
            paid[paid_agent] += now
    assert taken == paid
    assert any(taken.values())


def test_observations_are_new_arrays_that_may_be_changed() -> None:
    zoo = raw_env(BOXES)
    zoo.reset()
    first, second = zoo.observe("player_0"), zoo.observe("player_0")
    for array in first.values():
        array[:] = 1
    assert not second["observation"].any()
    assert zoo.last(observe=False)[0] is None


# -- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [BOXES, pytest.param("minichess", marks=pytest.mark.slow)])
def test_every_render_mode_passes_the_test_of_pettingzoo(game: str) -> None:
    pytest.importorskip("resvg_py")
    assert aec_env(game).metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    render_test(lambda render_mode: aec_env(game, render_mode=render_mode))  # pyright: ignore[reportArgumentType]  # it asks for an Env of Gymnasium
    zoo = raw_env(game, render_mode="rgb_array")
    zoo.reset()
    empty = zoo.render()
    zoo.step(int(zoo.observe("player_0")["action_mask"].argmax()))
    assert (zoo.render() != empty).any()


def test_text_has_the_position_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    ansi, human = raw_env(Sticks(), render_mode="ansi"), raw_env(Sticks(), render_mode="human")
    texts: list[str] = []
    for zoo in (ansi, human):
        zoo.reset()
        texts.append(zoo.render())
        for action in (2, 2, 0):
            zoo.step(action)
            texts.append(zoo.render())
    assert texts[0] == "7 0\nplayer_0 to move"
    assert texts[3] == "0 0\nplayer_2 won: no sticks left"
    assert texts[4:] == [None] * 4
    assert capsys.readouterr().out == "\n".join(texts[:4]) + "\n"
    ansi.reset()
    ansi.step(-1)
    assert ansi.render() == "7 0\nforfeit: illegal action by seat 0"
    ansi.close()


def test_images_need_packages_and_a_game_with_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="one of 'ansi', 'human', not 'rgb_array'"):
        raw_env(Sticks(), render_mode="rgb_array")
    with pytest.raises(ValueError, match="one of 'ansi', 'rgb_array', 'human', not 'pixels'"):
        aec_env(BOXES, "pixels")
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    with pytest.raises(ValueError, match="one of 'ansi', 'human', not 'rgb_array'"):
        raw_env(BOXES, render_mode="rgb_array")


def test_render_without_a_mode_warns_and_names_the_modes() -> None:
    zoo = raw_env(Sticks())
    zoo.reset()
    with pytest.warns(UserWarning, match="one of ansi, human"):
        assert zoo.render() is None


def test_action_outside_of_the_space_is_refused() -> None:
    zoo = aec_env(Sticks())
    zoo.reset()
    for action in (3, -1, None, 0.5):
        with pytest.raises(AssertionError, match="action is not in action space"):
            zoo.step(action)  # pyright: ignore[reportArgumentType]  # wrong on purpose
