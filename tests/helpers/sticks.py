"""Small games to test with: `Sticks`, `ShortSticks`, which is cut off at times, and `LuckySticks`, which has chance.

Seats take 1, 2 or 3 sticks in turn; the seat that takes the last one wins.

There are three seats and 7 sticks, unless it is made with other numbers. The winner is paid 1 by each other seat.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxgames import Env, State


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class SticksState(State):
    left: jax.Array  # int8[], sticks


@dataclass(frozen=True)
class Sticks(Env[Any]):
    """Action a takes a + 1 sticks. Observation bool[sticks, num_players + 1]: a row for each stick.

    The first column shows those left, the others the seat to move, counted from the viewer.
    """

    id: ClassVar[str] = "sticks"
    num_players: int = 3
    sticks: int = 7

    @property
    def num_actions(self) -> int:
        return 3

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (self.sticks, self.num_players + 1)

    @property
    def max_steps(self) -> int | None:
        return self.sticks

    @property
    def reward_range(self) -> tuple[float, float]:
        return -1.0, self.num_players - 1.0

    @property
    def zero_sum(self) -> bool:
        return True

    def _init(self, key: jax.Array | None) -> Any:
        return self.at(self.sticks, 0)

    def at(self, left: int | jax.Array, seat: int | jax.Array) -> Any:
        return SticksState(
            current_player=jnp.int32(seat),
            rewards=jnp.zeros(self.num_players, jnp.float32),
            terminated=jnp.bool_(left == 0),
            truncated=jnp.bool_(False),
            left=jnp.int8(left),
        )

    def _legal_action_mask(self, state: Any) -> jax.Array:
        return jnp.arange(3) < state.left

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        left = (state.left - action - 1).astype(jnp.int8)
        won = left == 0
        paid = jnp.where(jnp.arange(self.num_players) == state.current_player, self.num_players - 1.0, -1.0)
        return SticksState(
            current_player=(state.current_player + 1) % self.num_players,
            rewards=jnp.where(won, paid, 0.0).astype(jnp.float32),
            terminated=won,
            truncated=jnp.bool_(False),
            left=left,
        )

    def _observe(self, state: Any, player: jax.Array) -> jax.Array:
        sticks = jnp.arange(self.sticks) < state.left
        ahead = jnp.arange(self.num_players) == (state.current_player - player) % self.num_players
        return jnp.concatenate([sticks[:, None], jnp.broadcast_to(ahead, (self.sticks, self.num_players))], axis=-1)

    def _winners(self, state: Any) -> jax.Array:
        last_mover = (state.current_player - 1) % self.num_players
        return (state.left == 0) & (jnp.arange(self.num_players) == last_mover)

    def _reason(self, state: Any) -> str:
        return "no sticks left" if int(state.left) == 0 else ""

    def _action_to_string(self, state: Any, action: int) -> str:
        return f"take {action + 1}"

    def _action_from_string(self, state: Any, text: str) -> int:
        if text not in ("take 1", "take 2", "take 3"):
            raise ValueError(f"expected 'take 1', 'take 2' or 'take 3', not {text!r}")
        return int(text[-1]) - 1

    def _to_string(self, state: Any) -> str:
        return f"{int(state.left)} {int(state.current_player)}"

    def _from_string(self, text: str) -> Any:
        left, _, seat = text.partition(" ")
        if left not in map(str, range(self.sticks + 1)) or seat not in map(str, range(self.num_players)):
            raise ValueError(f"expected 'sticks seat', not {text!r}")
        return self.at(int(left), int(seat))


@dataclass(frozen=True)
class ShortSticks(Sticks):
    """The game is cut off when 4 sticks are left."""

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        after = super()._step(state, action, key)
        return dataclasses.replace(after, truncated=after.left == 4)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class LuckyState(SticksState):
    luck: jax.Array  # a PRNG key


@dataclass(frozen=True)
class LuckySticks(Sticks):
    """A game of chance, which keeps a key in its state: at times a stick more is lost."""

    needs_key = True

    def _init(self, key: jax.Array | None) -> Any:
        assert key is not None
        return LuckyState(**vars(self.at(7, 0)), luck=key)

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        assert key is not None
        lost = jax.random.bernoulli(state.luck) & (state.left - action > 2)
        after = super()._step(state, action + lost, key)
        return LuckyState(**vars(after), luck=key)

    def _from_string(self, text: str) -> Any:
        return LuckyState(**vars(super()._from_string(text)), luck=jax.random.key(0))
