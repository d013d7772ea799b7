"""How adapters write a board: with the shapes and the numbers of the env, or with those of a published environment.

layout = layout_of(env, "published")
layout.observation(observation, seat), layout.mask(state, mask), layout.action(state, number)
"""

from typing import Any, Literal, Protocol

import numpy as np

from jaxgames._checks import check_choice
from jaxgames.env import Env
from jaxgames.games.chinese_checkers.rules import ChineseCheckers
from jaxgames.games.minichess.rules import Minichess
from jaxgames.interop.published.chinese_checkers import NUM_SEATS, PublishedLayout
from jaxgames.interop.published.minichess import AlphaMiniLayout
from jaxgames.wrappers import game_of

Spaces = Literal["dict", "published"]
SPACES = ("dict", "published")


class Layout(Protocol):
    """How observations, masks and actions of a board are written."""

    observation_shape: tuple[int, ...]
    limits: tuple[int, int]  # of the entries of an observation
    dtype: type[np.integer[Any]]  # of an observation
    num_actions: int

    def observation(self, observation: np.ndarray, seat: int) -> np.ndarray:
        """Returns dtype[*self.observation_shape] for bool[*env.observation_shape], the board as a seat sees it."""
        ...

    def mask(self, state: Any, mask: np.ndarray) -> np.ndarray:
        """Returns int8[self.num_actions] for bool[env.num_actions], the legal actions of the mover."""
        ...

    def action(self, state: Any, action: Any) -> Any:
        """Returns the action of the env. For an illegal action it is any illegal one."""
        ...


class DictLayout:
    """The layout `spaces="dict"`: shapes and numbers of the env."""

    limits: tuple[int, int] = (0, 1)
    dtype: type[np.integer[Any]] = np.int8

    def __init__(self, env: Env[Any]) -> None:
        self.observation_shape: tuple[int, ...] = env.observation_shape
        self.num_actions: int = env.num_actions

    def observation(self, observation: np.ndarray, seat: int) -> np.ndarray:
        return observation.astype(np.int8)

    def mask(self, state: Any, mask: np.ndarray) -> np.ndarray:
        return mask.astype(np.int8)

    def action(self, state: Any, action: Any) -> Any:
        return action


def layout_of(env: Env[Any], spaces: Spaces) -> Layout:
    """Returns the layout of a game.

    "dict" has the shapes and actions of the env. "published" has those of the environment of a study: in
    `chinese_checkers` with 6 seats, of Gu and Adhikari; in `minichess`, of Alpha-Mini by Sun and Tan.

    Raises ParameterError (a ValueError) for another kind of spaces, and for a game without a published environment.
    """
    check_choice("spaces", spaces, SPACES)
    if spaces == "dict":
        return DictLayout(env)
    game = game_of(env)
    if isinstance(game, Minichess):
        return AlphaMiniLayout(env)
    if isinstance(game, ChineseCheckers) and game.num_players == NUM_SEATS:
        return PublishedLayout(env)
    expected = "'chinese_checkers(num_players=6)' or 'minichess', with any other parameters"
    raise ValueError(f'spaces="published" needs {expected}, not {env}: use spaces="dict"')
