"""The star with chance: a random legal action takes the place of a share of the actions, for every seat alike.

    python -m train.ppo --env "examples.papers.parameter_sharing.chance_moves:chance_moves(chance=0.25)"

Its other rules, its observations and its actions are those of `chinese_checkers`. `sweeps` trains on it.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

import jaxgames
from jaxgames.games.chinese_checkers import GAME, ChineseCheckers, ChineseCheckersState
from jaxgames.sampling import random_action


@dataclass(frozen=True)
class ChanceMoves(ChineseCheckers):
    """`chinese_checkers` in which a random legal action takes the place of some actions.

    `chance` is the probability that an action is replaced; the other parameters are those of `ChineseCheckers`.
    """

    id: ClassVar[str] = "chance_moves"
    needs_key: ClassVar[bool] = True
    size: int = 2
    chance: float = 0.25

    def _step(self, state: ChineseCheckersState, action: jax.Array, key: jax.Array | None) -> ChineseCheckersState:
        assert key is not None  # `step` has checked it
        chance_key, action_key = jax.random.split(key)
        other = random_action(action_key, self.legal_action_mask(state))
        is_replaced = jax.random.uniform(chance_key) < self.chance
        return super()._step(state, jnp.where(is_replaced, other, action), key)


jaxgames.register(jaxgames.Game(ChanceMoves.id, ChanceMoves, drawing=GAME.drawing, scores=GAME.scores))
