"""The star with the rewards that the published code of Adhikari and Gu 2024 pays: running sums.

The code never resets an agent's sum of rewards. So every decision is paid with the sum of all rewards of the game so
far, instead of those since the last decision. A peg in the goal is then paid again at each later decision.

    python -m train.ppo --env "examples.papers.parameter_sharing.running_sums:running_sums(max_rounds=150)"

The rules, the observations and the actions are as in `chinese_checkers`.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, cast

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.games.chinese_checkers import GAME, ChineseCheckers, ChineseCheckersState

LOSS = -1.0  # of every other seat when one wins; the text of the study has 0


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class RunningSumsState(ChineseCheckersState):
    """A board and what its seats have been paid by the text's rules."""

    totals: jax.Array  # float32[num_players], the sums of the rewards so far


@dataclass(frozen=True)
class RunningSums(ChineseCheckers):
    """`chinese_checkers` in which every decision of a seat is paid with its sum of rewards so far.

    The parameters are those of `ChineseCheckers`; `reward` has the rewards that are summed.
    """

    id: ClassVar[str] = "running_sums"
    size: int = 2

    @property
    def reward_range(self) -> tuple[float, float]:
        """The bounds of a sum: a seat has at most `max_steps / num_players` submoves in a game."""
        goal, movement = self._bonuses
        lose, win = self._loss_and_win
        moved = movement * self.max_steps / self.num_players
        return min(lose, LOSS) - moved, win + goal * self.num_pegs + moved

    @property
    def return_range(self) -> tuple[float, float]:
        low, high = self.reward_range
        return low * self.max_steps, high * self.max_steps

    @property
    def terminal_rewards(self) -> bool:
        return False

    def _init(self, key: jax.Array | None) -> RunningSumsState:
        return self._with_totals(super()._init(key), jnp.zeros(self.num_players, jnp.float32))

    def _step(self, state: ChineseCheckersState, action: jax.Array, key: jax.Array | None) -> RunningSumsState:
        mover = np.arange(self.num_players) == state.current_player
        after = super()._step(state, action, key)
        totals = cast(RunningSumsState, state).totals + after.rewards
        paid = jnp.where(mover, totals, jnp.where(after.terminated, LOSS, 0.0))
        return self._with_totals(dataclasses.replace(after, rewards=paid.astype(jnp.float32)), totals)

    def from_string(self, text: str) -> RunningSumsState:
        """Returns the position of a text, with sums of 0."""
        return self._with_totals(super().from_string(text), jnp.zeros(self.num_players, jnp.float32))

    def _with_totals(self, state: ChineseCheckersState, totals: jax.Array) -> RunningSumsState:
        fields = {each.name: getattr(state, each.name) for each in dataclasses.fields(ChineseCheckersState)}
        return RunningSumsState(**fields, totals=totals)


jaxgames.register(jaxgames.Game(RunningSums.id, RunningSums, drawing=GAME.drawing, scores=GAME.scores))
