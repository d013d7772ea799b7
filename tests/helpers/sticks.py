"""Small games to test with: `Sticks`, `ShortSticks`, which is cut off at times, `LuckySticks` and `Payoffs`.

In sticks, seats take 1, 2 or 3 sticks in turn; the seat that takes the last one wins. There are three seats and 7
sticks, unless it is made with other numbers. The winner is paid 1 by each other seat.

`Payoffs` is for searches: seats choose 0 or 1 in a given order, for payments from random tables. A seat can choose
twice in a row. `solve` computes the best play by backward induction.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

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


# -- payoffs -----------------------------------------------------------------------------------------------------------

TABLES = 48
MIN_GAP = 0.2  # between the two choices of the mover on every board, by each criterion


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class PayoffsState(State):
    table: jax.Array  # int32[], which of the tables pays
    made: jax.Array  # int32[], choices made
    node: jax.Array  # int32[], the binary number of the choices


@dataclass(frozen=True)
class Payoffs(Env[Any]):
    """Action a is a choice. There is nothing to observe. Two seats pay each other."""

    id: ClassVar[str] = "payoffs"
    num_players: int = 3
    order: tuple[int, ...] = (0, 1, 2)  # the seat of each choice
    limit: int = 100  # choices after which the game is truncated

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (1,)

    @property
    def max_steps(self) -> int | None:
        return len(self.order)

    @property
    def reward_range(self) -> tuple[float, float]:
        return -1.0, 1.0

    @property
    def zero_sum(self) -> bool:
        return self.num_players == 2

    def _init(self, key: jax.Array | None) -> Any:
        return self.at(0)

    def at(self, table: int | jax.Array) -> Any:
        return PayoffsState(
            current_player=jnp.int32(self.order[0]),
            rewards=jnp.zeros(self.num_players, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            table=jnp.int32(table),
            made=jnp.int32(0),
            node=jnp.int32(0),
        )

    def _legal_action_mask(self, state: Any) -> jax.Array:
        return jnp.ones(2, jnp.bool_)

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        made, node = state.made + 1, 2 * state.node + action
        rewards = [
            jnp.asarray(paid)[state.table, jnp.minimum(node, paid.shape[1] - 1)]
            for paid in payments(self.num_players, self.order)
        ]
        over = made >= len(self.order)
        return PayoffsState(
            current_player=jnp.asarray((*self.order, self.order[-1]))[made],
            rewards=jnp.stack(rewards)[made - 1],
            terminated=over,
            truncated=~over & (made >= self.limit),
            table=state.table,
            made=made,
            node=node,
        )

    def _observe(self, state: Any, player: jax.Array) -> jax.Array:
        return jnp.zeros(1, jnp.bool_)

    def _winners(self, state: Any) -> jax.Array:
        return jnp.zeros(self.num_players, jnp.bool_)

    def _reason(self, state: Any) -> str:
        return "all choices made" if int(state.made) == len(self.order) else ""

    def _action_to_string(self, state: Any, action: int) -> str:
        return str(action)

    def _action_from_string(self, state: Any, text: str) -> int:
        return int(text)

    def _to_string(self, state: Any) -> str:
        return f"{int(state.table)} {int(state.made)} {int(state.node)}"

    def _from_string(self, text: str) -> Any:
        raise ValueError(f"positions of this game are not read, not {text!r}")


@functools.cache
def payments(num_players: int, order: tuple[int, ...]) -> list[np.ndarray]:
    """For each choice float32[TABLES, 2 ** choices, num_players], what it pays each seat.

    Of random tables those are taken on which no mover is nearly indifferent.
    """
    rng, drawn = np.random.default_rng(0), 100_000
    paid = [rng.uniform(-0.5, 0.5, (drawn, 2 ** (i + 1), num_players)).astype(np.float32) for i in range(len(order))]
    if num_players == 2:
        paid = [np.stack([of_choice[..., 0], -of_choice[..., 0]], -1) for of_choice in paid]
    gaps = np.minimum(*(_best_play(paid, order, seats)[1] for seats in ("max_n", "paranoid")))
    return [of_choice[gaps > MIN_GAP][:TABLES] for of_choice in paid]


def solve(env: Payoffs, seats: str) -> np.ndarray:
    """int[TABLES], the best first choice. By "max_n" each seat prefers its own return.

    By "paranoid" seat 0 does, and all others prefer that the return of seat 0 is low.
    """
    return _best_play(payments(env.num_players, env.order), env.order, seats)[0]


def _best_play(paid: list[np.ndarray], order: tuple[int, ...], seats: str) -> tuple[np.ndarray, np.ndarray]:
    """The best first choice on each table, and the smallest gap between the choices of a mover."""
    returns, best = np.zeros_like(paid[-1]), np.zeros(0)
    smallest = np.full(len(paid[0]), np.inf)
    for mover, of_choice in zip(reversed(order), reversed(paid), strict=True):
        tables, nodes, players = of_choice.shape
        returns = (of_choice + returns).reshape(tables, nodes // 2, 2, players)
        value = returns[..., mover] if seats == "max_n" else returns[..., 0] * (1 if mover == 0 else -1)
        smallest = np.minimum(smallest, abs(value[..., 0] - value[..., 1]).min(-1))
        best = value.argmax(-1)
        returns = np.take_along_axis(returns, best[..., None, None], 2)[:, :, 0]
    return best[:, 0], smallest
