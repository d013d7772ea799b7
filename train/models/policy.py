"""Policies for n seats: a network, and the sharing of its parameters between seats.

    shared          one encoder, one policy head, one value head for all seats
    shared_encoder  one encoder; a policy head and a value head per seat
    independent     an encoder and both heads per seat

A batch has boards with different movers. The parameters of the seats are stacked along a leading axis.
`apply_by_seat` runs every row once, with the parameters of its seat, instead of once per seat.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from train.models.networks import Encoder, Heads
from train.ops.sharding import REPLICATED, SHARDED, on_each_device

Params = Any
MIN_ROWS_FOR_TILES = 128  # measured by benchmarks/parameter_sharing.py
Sharing = Literal["shared", "shared_encoder", "independent"]


@dataclass(frozen=True)
class Policy:
    """The network of a game and its sharing. It is static under jit; the parameters are a separate pytree."""

    observation_shape: tuple[int, ...]
    support: tuple[int, ...]  # where a flattened observation can be True
    num_actions: int
    num_players: int
    sharing: Sharing
    hidden_sizes: tuple[int, ...]
    channels: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, env: Env[Any], sharing: Sharing, hidden_sizes: tuple[int, ...], channels: tuple[int, ...] = ()
    ) -> "Policy":
        """Returns the policy for a game.

        Raises ValueError for `channels` if observations are not [height, width, planes].
        """
        if channels and len(env.observation_shape) != 3:
            raise ValueError(
                f"channels need observations of shape [height, width, planes], and those of {env} have shape "
                f"{list(env.observation_shape)}: leave them empty"
            )
        support = tuple(np.flatnonzero(env.observation_support).tolist())
        return cls(env.observation_shape, support, env.num_actions, env.num_players, sharing, hidden_sizes, channels)

    def init(self, key: jax.Array) -> Params:
        """Returns parameters {"encoder", "heads"}; those that are not shared have a leading axis of num_players."""
        encoder_key, heads_key = jax.random.split(key)

        # One matrix at a time, also under vmap: a batch of thirty QR factorisations hangs jaxlib 0.10 on a CPU.
        @jax.custom_batching.sequential_vmap
        def encoder(key: jax.Array) -> Params:
            return self._encoder.init(key, jnp.zeros((1, *self.observation_shape), jnp.bool_))

        @jax.custom_batching.sequential_vmap
        def heads(key: jax.Array) -> Params:
            return self._heads.init(key, jnp.zeros((1, self.hidden_sizes[-1]), jnp.float32))

        def per_seat(init: Callable[[jax.Array], Params], key: jax.Array) -> Params:
            return jax.vmap(init)(jax.random.split(key, self.num_players))

        return {
            "encoder": per_seat(encoder, encoder_key) if self.sharing == "independent" else encoder(encoder_key),
            "heads": heads(heads_key) if self.sharing == "shared" else per_seat(heads, heads_key),
        }

    def apply(self, params: Params, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns logits float32[B, num_actions] and values float32[B].


        Args:
          observation: bool[B, *observation_shape].
          seat: int32[B], the player of each row.
        """

        def whole(params: Params, x: jax.Array) -> Any:
            return self._heads.apply(params["heads"], self._encoder.apply(params["encoder"], x))

        def by_seat(apply: Callable[..., Any]) -> Callable[..., Any]:
            return on_each_device(functools.partial(apply_by_seat, apply), REPLICATED, SHARDED, SHARDED, out=SHARDED)

        if self.sharing == "shared":
            return whole(params, observation)
        if self.sharing == "independent":
            return by_seat(whole)(params, observation, seat)
        features = cast(jax.Array, self._encoder.apply(params["encoder"], observation))
        return by_seat(self._heads.apply)(params["heads"], features, seat)

    @property
    def _encoder(self) -> Encoder:
        return Encoder(self.hidden_sizes, self.channels, self.support)

    @property
    def _heads(self) -> Heads:
        return Heads(self.num_actions)


def apply_by_seat(apply: Callable[..., Any], params: Params, rows: Any, seat: jax.Array) -> Any:
    """Returns `apply(params of seat[i], rows[i])` for every row i; each row is computed once.

    Rows are sorted into tiles with rows of a single seat, so everything is one batched product over tiles. At most one
    tile per seat is not full, so B / tile + num_players tiles are always enough. For fewer than MIN_ROWS_FOR_TILES
    rows, every network runs on every row: this costs less than to copy parameters to each tile.

    Args:
      apply: (params of one seat, [tile, ...]) -> pytree of [tile, ...].
      params: pytree whose leaves have a leading axis of num_players.
      rows: pytree of [B, ...].
      seat: int32[B].

    Returns:
      Pytree of [B, ...].
    """
    num_rows, num_seats = seat.shape[0], jax.tree.leaves(params)[0].shape[0]
    if num_rows < MIN_ROWS_FOR_TILES:
        of_all = jax.vmap(apply, in_axes=(0, None))(params, rows)
        return jax.tree.map(lambda leaf: leaf[seat, jnp.arange(num_rows)], of_all)
    tile = int(np.clip(num_rows // 16, 16, 128))
    num_tiles = num_rows // tile + num_seats

    of_seat = seat[:, None] == jnp.arange(num_seats)  # bool[B, num_seats]
    rank = jnp.cumsum(of_seat, axis=0)[jnp.arange(num_rows), seat] - 1  # among the rows of the same seat
    tiles = -(-of_seat.sum(0) // tile)  # of each seat
    first_tile = jnp.cumsum(tiles) - tiles
    slot = first_tile[seat] * tile + rank
    seat_of_tile = (jnp.arange(num_tiles)[:, None] >= jnp.cumsum(tiles)).sum(1).clip(max=num_seats - 1)

    row_of_slot = jnp.zeros(num_tiles * tile, jnp.int32).at[slot].set(jnp.arange(num_rows), unique_indices=True)
    tiled = jax.tree.map(lambda x: x[row_of_slot].reshape(num_tiles, tile, *x.shape[1:]), rows)
    out = jax.vmap(apply)(jax.tree.map(lambda leaf: leaf[seat_of_tile], params), tiled)
    return jax.tree.map(lambda leaf: leaf.reshape(num_tiles * tile, *leaf.shape[2:])[slot], out)
