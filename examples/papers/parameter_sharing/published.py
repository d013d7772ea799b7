"""Observations, masks and actions of the Chinese Checkers environment of Gu and Adhikari, in both directions.

    env = aec_env("chinese_checkers(size=2, num_players=6)")   # an environment of PettingZoo in their numbers
    layout = PublishedLayout(env.unwrapped.game)               # the index maps

Their environment (github.com/noahadhikari/pettingzoo-chinese-checkers) is for PettingZoo and for 6 seats. Both
environments give the directions the same numbers, and both rotate the board to the seat's frame. Only the numbers of
cells and actions differ, so everything here is an index map. For a board of size N, let M = 4N + 1:

    cell (q, r)          axial coordinates in the seat's frame, each from -2N to 2N
    observation          int8[8 M^2]; plane p of the cell is at ((q mod M) M + (r mod M)) 8 + p
    action               12 ((q + 2N) M + (r + 2N)) + 2 direction + is_jump; the end of the turn is 12 M^2
    mask                 int8[12 M^2 + 1]

`is_jump` is 1 for a hop over a peg on the neighbour, 0 for a step to it. An action with the wrong `is_jump` is illegal.
So is an action from a place outside of the star.
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from pettingzoo import AECEnv

from jaxgames._checks import host_int32
from jaxgames.env import Env
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers.rules import ChineseCheckers
from jaxgames.interop.pettingzoo import BoardGameEnv, checked_env
from jaxgames.registry import as_env

ILLEGAL = -1  # an action of the env that is never legal
NUM_SEATS = 6  # of the published environment


class PublishedLayout:
    """The published numbers of `chinese_checkers` with 6 seats.

    Attributes:
      observation_shape: (8 M^2,).
      num_actions: 12 M^2 + 1.

    Raises ValueError for another game or number of seats.
    """

    def __init__(self, env: Env[Any]) -> None:
        game = env.unwrapped
        if not isinstance(game, ChineseCheckers) or game.num_players != NUM_SEATS:
            expected = "'chinese_checkers(num_players=6)' of any size and reward"
            raise ValueError(f"the published environment needs {expected}, not {env}")
        side, t = 4 * game.size + 1, tables(game.size)
        self.observation_shape: tuple[int, ...] = (8 * side**2,)
        self.num_actions: int = 12 * side**2 + 1
        self._env, self._num_cells, self._neighbour = env, game.num_cells, t.neighbour[:-1]
        entries = np.arange(side * side * 8).reshape(side, side, 8)
        shift = -2 * game.size
        self._flat = np.roll(entries, (shift, shift), (0, 1)).reshape(-1)  # of the flattened observation, by entry
        q, r = (t.axial - shift).T
        self._first = 12 * (side * q + r)[:, None] + 2 * np.arange(6)  # [cells, 6], of a step; add 1 for a hop
        self._cell = t.grid.reshape(-1)  # at q + 2N, r + 2N; the number of cells outside of the star

    def observation(self, observation: Any) -> np.ndarray:
        """Returns the published observation, int8[8 M^2], for bool or int8[M, M, 8] of numpy or JAX."""
        return np.asarray(observation).reshape(-1)[self._flat].view(np.int8)

    def own_observation(self, published: Any) -> np.ndarray:
        """Returns the observation of the env, bool[M, M, 8], for the published one."""
        own = np.empty(self.observation_shape, np.bool_)
        own[self._flat] = published
        return own.reshape(self._env.observation_shape)

    def mask(self, state: Any, mask: Any) -> np.ndarray:
        """Returns the published mask, int8[12 M^2 + 1], for bool[num_actions] of the mover, of numpy or JAX."""
        mask = np.asarray(mask, np.bool_)
        published = np.zeros(self.num_actions, np.int8)
        published[self._numbers(state)[mask[:-1]]] = 1
        published[-1] = mask[-1]
        return published

    def action(self, state: Any, action: Any) -> int:
        """Returns the action of the env for a published one.

        It is -1, which is illegal, for a place outside of the star and for a wrong `is_jump`.

        Raises TypeError for an action that is not one integer of Python, numpy or JAX.
        """
        number = int(host_int32("action", action))
        if not 0 <= number < self.num_actions:
            return ILLEGAL
        if number == self.num_actions - 1:
            return 6 * self._num_cells
        place, move = divmod(number, 12)
        cell, direction = int(self._cell[place]), move // 2
        fits = cell < self._num_cells and self._hops(state)[cell, direction] == move % 2
        return 6 * cell + direction if fits else ILLEGAL

    def published_action(self, state: Any, action: int) -> int:
        """Returns the published action for one of the env, from 0 to num_actions - 1, in the position `state`."""
        if action == 6 * self._num_cells:
            return self.num_actions - 1
        return int(self._numbers(state)[action])

    def _numbers(self, state: Any) -> np.ndarray:
        """Returns int[6 cells], the published action for each action of the env but the last."""
        return (self._first + self._hops(state)).reshape(-1)

    def _hops(self, state: Any) -> np.ndarray:
        """Returns bool[cells, 6], whether a peg on the neighbour makes a move a hop; in the mover's frame."""
        pegs = np.asarray(state.board) >= 0  # of int8[cells], negative where no peg stands
        return np.append(pegs, False)[self._neighbour]


class PublishedEnv(BoardGameEnv):
    """The star as an environment of PettingZoo, with the observations and actions of a `PublishedLayout`."""

    def __init__(self, env: Env[Any], render_mode: str | None = None) -> None:
        super().__init__(env, render_mode)
        self.layout = PublishedLayout(env)
        self.set_spaces(Box(0, 1, self.layout.observation_shape, np.int8), self.layout.num_actions)

    def step(self, action: int | None) -> None:
        super().step(action if self.board_info.over else self.layout.action(self.board, action))

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        own = super().observe(agent)
        mask = self.layout.mask(self.board, own["action_mask"])
        return {"observation": self.layout.observation(own["observation"]), "action_mask": mask}

    def state(self) -> np.ndarray:
        return self.layout.observation(super().state())


def aec_env(env_or_id: Env[Any] | str, render_mode: str | None = None) -> AECEnv[str, dict[str, np.ndarray], int]:
    """Returns a star of 6 seats in the published numbers; as `jaxgames.interop.pettingzoo.aec_env`.

    Raises ValueError for another game or number of seats too.
    """
    return checked_env(PublishedEnv(as_env(env_or_id), render_mode))
