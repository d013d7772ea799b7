"""Positions of a game for OpenSpiel, computed when they are visited; what steps pay; observers."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxgames.env import Env
from jaxgames.host import BoardInfo, host

try:
    import pyspiel
except ImportError as error:
    raise ImportError('OpenSpiel is missing; install it with: pip install "jaxgames[openspiel]"') from error

# -- what a step pays ----------------------------------------------------------------------------------------------


def paid(info: BoardInfo) -> np.ndarray:
    """Returns float32[num_players], the rewards of the env's last step."""
    return info.rewards


def won(info: BoardInfo) -> np.ndarray:
    """Returns float64[num_players], the reward of the last step if only winning pays: see `returns`."""
    return returns(info.winners)


def returns(winners: np.ndarray) -> np.ndarray:
    """Returns float64[num_players], the returns of winning, for bool[num_players].

    A winner has 1 and each other seat -1 / (num_players - 1). Without a winner all have 0.
    """
    share = np.asarray(winners, np.float64)
    return share - (share.sum() - share) / (len(share) - 1)


class Node:
    """A node of the tree of positions. A position after an action is computed once and kept.

    Attributes:
      board: the state of the env, one board.
      legal: the legal actions in ascending order; none if the game is over.
      player: the seat to move, or `pyspiel.PlayerId.TERMINAL`.
      rewards: of the last step, one per seat.
      returns: the sum of the rewards so far, one per seat.
    """

    __slots__ = ("_after", "_earned", "_info", "_pays", "board", "env", "legal", "player", "returns", "rewards")

    def __init__(
        self,
        env: Env[Any],
        board: Any,
        info: BoardInfo,
        pays: Callable[[BoardInfo], np.ndarray],
        earned: tuple[float, ...] | None = None,
    ) -> None:
        """
        Args:
          env: the game.
          board: one board of it.
          info: the public values of the board.
          pays: returns the rewards of a step, one per seat, from the values of the board after it.
          earned: the returns before the last step, one per seat; None for zeros.
        """
        rewards = np.asarray(pays(info), np.float64)
        self.env = env
        self.board = board
        self.legal: list[int] = np.flatnonzero(info.mask).tolist()
        self.player = pyspiel.PlayerId.TERMINAL if info.over else info.player
        self.rewards: list[float] = rewards.tolist()
        self._earned = (0.0,) * env.num_players if earned is None else earned
        self.returns: list[float] = (self._earned + rewards).tolist()
        self._info = info
        self._pays = pays
        self._after: dict[int, Node] = {}

    def after(self, action: int) -> "Node":
        """Returns the position after an action. Raises ValueError for an illegal one."""
        if action not in self._after:
            if action not in self.legal:
                raise ValueError(f"expected a legal action, one of {self.legal}, not {action} in {self}")
            board, info = host(self.env).step(self.board, action)
            self._after[action] = Node(self.env, board, info, self._pays, tuple(self.returns))
        return self._after[action]

    def observation(self, player: int) -> np.ndarray:
        """Returns bool[*observation_shape], the board as a seat sees it."""
        return host(self.env).observe(self.board, player)

    def action_to_string(self, action: int) -> str:
        """Returns the action as people write it."""
        return self.env.action_to_string(jax.device_get(self.board), action)

    def __str__(self) -> str:
        return self.env.to_string(jax.device_get(self.board))

    def __deepcopy__(self, memo: Any) -> "Node":
        """Returns the position itself, which does not change. OpenSpiel calls this when it copies a state."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what pickle stores: the position without those after it."""
        return Node, (self.env, jax.device_get(self.board), self._info, self._pays, self._earned)


# -- observations --------------------------------------------------------------------------------------------------


class Observer:
    """Writes the observation of a seat. OpenSpiel calls it, from Python and from C++.

    Attributes:
      tensor: float32[size], the observation that was written last.
      dict: the same memory as float32[*observation_shape], under "observation".
    """

    def __init__(self, env: Env[Any]) -> None:
        self.tensor = np.zeros(int(np.prod(env.observation_shape)), np.float32)
        self.dict = {"observation": self.tensor.reshape(env.observation_shape)}

    def set_from(self, state: Any, player: int) -> None:
        """Writes the board as the seat `player` sees it."""
        self.dict["observation"][...] = state.position.observation(player)

    def string_from(self, state: Any, player: int) -> str:
        """Returns the position, which is the same for all seats."""
        return str(state)


class HistoryObserver:
    """Gives the history as a text, for observers with perfect recall; there is no tensor."""

    def __init__(self, iig_obs_type: Any) -> None:
        self.tensor = None
        self.dict: dict[str, np.ndarray] = {}
        self._public = iig_obs_type.public_info

    def set_from(self, state: Any, player: int) -> None:
        """Does nothing."""

    def string_from(self, state: Any, player: int) -> str:
        """Returns the position where the history begins, unless it is the start, and the actions since."""
        return f"{state.origin}{state.history_str()}" if self._public else ""  # a seat has no private information
