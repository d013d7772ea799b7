"""Agents of players on the host, which choose moves on one board at a time."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env
from jaxgames.wrappers import live_boards


class Chooser(Protocol):
    """Chooses moves in one game."""

    def choose(self, state: Any, seed: int) -> int:
        """Returns the action on one live board, with leaves on the host; `seed` is from 0 to 2**32 - 1."""
        ...


@dataclass(frozen=True)
class HostPlayerAgent:
    """Plays the moves of a player, board by board."""

    on_device: ClassVar[bool] = False
    env: Env[Any]
    player: Chooser
    text: str  # the agent's name, as in tables of results

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns int32[B], the action on every board; 0 on finished boards."""
        boards, live = self._boards(states)
        actions = np.zeros(boards.current_player.shape, np.int32)
        seeds = seeds_of(key, len(actions))
        for i in live:
            actions[i] = self.player.choose(board_of(boards, i), seeds[i])
        return jnp.asarray(actions)

    def _boards(self, states: Any) -> tuple[Any, list[int]]:
        """Returns the boards of the game on the host, and the numbers of those that are live."""
        boards = jax.device_get(live_boards(states))
        return boards, np.flatnonzero(~(boards.terminated | boards.truncated)).tolist()

    def __str__(self) -> str:
        return self.text


def board_of(boards: Any, i: int) -> Any:
    """Returns the board with a number of a batch."""
    return jax.tree.map(lambda leaf: leaf[i], boards)


def seeds_of(key: jax.Array, number: int) -> list[int]:
    """Returns a number of seeds, from 0 to 2**32 - 1. One compiled program serves all numbers."""
    seed = int(jax.random.bits(key, (), jnp.uint32))
    return np.random.SeedSequence(seed).generate_state(number).tolist()
