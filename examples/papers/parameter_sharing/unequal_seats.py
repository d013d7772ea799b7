"""The star with two kinds of seats: those with odd numbers only step, the others step and hop.

    python -m train.ppo --env "examples.papers.parameter_sharing.unequal_seats:unequal_seats"

Its other rules, its observations and its actions are those of `chinese_checkers`. `sweeps` trains on it.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

import jaxgames
from jaxgames.games.chinese_checkers import GAME, ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers.board import tables


@dataclass(frozen=True)
class UnequalSeats(ChineseCheckers):
    """`ChineseCheckers`, with its parameters, in which seats with odd numbers hop only if they have no other action."""

    id: ClassVar[str] = "unequal_seats"
    size: int = 2

    def _legal_action_mask(self, state: ChineseCheckersState) -> jax.Array:
        mask = super()._legal_action_mask(state)
        near = tables(self.size).neighbour[: self.num_cells]
        cells = jnp.append(state.board, jnp.int8(-1))  # the last one is beside the board
        is_hop = jnp.append((cells[near] >= 0).ravel(), False)  # the last action ends a turn
        others = mask & ~is_hop
        return jnp.where((state.current_player % 2 == 1) & others.any(), others, mask)

    def _is_legal(self, state: ChineseCheckersState, action: jax.Array) -> jax.Array:
        return super()._is_legal(state, action) & self._legal_action_mask(state)[action]


jaxgames.register(jaxgames.Game(UnequalSeats.id, UnequalSeats, drawing=GAME.drawing, scores=GAME.scores))
