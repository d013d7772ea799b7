"""Policies for n seats: a network, and the sharing of its parameters between seats.

    shared          one encoder, one policy head, one value head for all seats
    shared_encoder  one encoder; a policy head and a value head per seat
    independent     an encoder and both heads per seat

A batch has boards with different movers. The parameters of the seats are stacked along a leading axis.
`apply_by_seat` runs every row once, with the parameters of its seat, instead of once per seat.

A search needs a value for every seat from one observation. In a zero-sum game of two seats, the mover's value v is
enough: the other seat has -v. For all other games, `with_seat_values` adds n - 1 outputs to the heads of any network.
The values are then a vector: the mover's own, then the other seats' in clockwise order.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters.partial_eval import dce_jaxpr

from jaxgames import Env
from jaxgames.policies.policy import in_turn_order, is_symmetric
from train.models import networks
from train.models.layers import Network, small
from train.ops.sharding import REPLICATED, SHARDED, on_each_device

Params = Any
MIN_ROWS_FOR_TILES = 128  # from where tiles were faster on a CPU
Sharing = Literal["shared", "shared_encoder", "independent"]


def network_of(settings: Mapping[str, Any]) -> str:
    """Returns the text of the network that settings name: `network`, else conv if there are `channels`, else mlp."""
    return settings.get("network") or ("conv" if settings.get("channels") else "mlp")


@dataclass(frozen=True)
class Policy:
    """The network of a game and its sharing. It is static under jit; the parameters are a separate pytree."""

    observation_shape: tuple[int, ...]
    num_players: int
    sharing: Sharing
    network: Network

    @classmethod
    def of(cls, env: Env[Any], sharing: Sharing, network: str | None = None, **settings: Any) -> "Policy":
        """Returns the policy for a game.

        Args:
          sharing: the networks that the seats share.
          network: a text for `train.models.networks.make`. None: `conv` if `channels` are given, else `mlp`.
          **settings: `hidden_sizes`, `channels`, `activation` and `compute_dtype` of the network. None or () leaves a
            setting to the network.

        Raises ParameterError for a network that is unknown or cannot play the game, and for a setting that it does not
        have, or that is in the brackets of `network` too.
        """
        given = {name: value for name, value in settings.items() if value not in (None, ())}
        text = network_of({"network": network, **given})
        return cls(env.observation_shape, env.num_players, sharing, networks.make(text, env, **given))

    def init(self, key: jax.Array) -> Params:
        """Returns parameters {"encoder", "heads"}; those that are not shared have a leading axis of num_players.

        Each part holds the collections of its module: "params", and others, such as "batch_stats".
        """
        encoder_key, heads_key = jax.random.split(key)
        observation = jax.ShapeDtypeStruct((1, *self.observation_shape), jnp.bool_)
        features, _ = jax.eval_shape(self.network.encoder.init_with_output, encoder_key, observation)

        def init(module: nn.Module, rows: Any, key: jax.Array, per_seat: bool) -> Params:
            # One matrix at a time, also under vmap: a batch of thirty QR factorisations hangs jaxlib 0.10 on a CPU.
            @jax.custom_batching.sequential_vmap
            def of_one(key: jax.Array) -> Params:
                return module.init(key, jnp.zeros(rows.shape, rows.dtype))

            return jax.vmap(of_one)(jax.random.split(key, self.num_players)) if per_seat else of_one(key)

        return {
            "encoder": init(self.network.encoder, observation, encoder_key, per_seat=self.sharing == "independent"),
            "heads": init(self.network.heads, features, heads_key, per_seat=self.sharing != "shared"),
        }

    def apply(self, params: Params, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns logits float32[B, num_actions] and values float32[B], as in play.

        Args:
          params: from `init`.
          observation: bool[B, *observation_shape].
          seat: int32[B], the player of each row.
        """
        encoder, heads = self.network.encoder, self.network.heads

        def whole(params: Params, x: jax.Array) -> Any:
            return heads.apply(params["heads"], encoder.apply(params["encoder"], x))

        def by_seat(apply: Callable[..., Any]) -> Callable[..., Any]:
            return on_each_device(functools.partial(apply_by_seat, apply), REPLICATED, SHARDED, SHARDED, out=SHARDED)

        if self.sharing == "shared":
            return whole(params, observation)
        if self.sharing == "independent":
            return by_seat(whole)(params, observation, seat)
        features = cast(jax.Array, encoder.apply(params["encoder"], observation))
        return by_seat(heads.apply)(params["heads"], features, seat)

    def apply_in_training(
        self,
        params: Params,
        observation: jax.Array,
        seat: jax.Array,
        key: jax.Array | None,
        counted: jax.Array | None = None,
    ) -> tuple[jax.Array, jax.Array, Params]:
        """Returns logits float32[B, num_actions], values float32[B] and new statistics, as in the update.

        `params`, `observation` and `seat` are as in `apply`, and so is the result without a training mode.

        Args:
          key: of the units that are dropped; None for a network without a training mode.
          counted: bool[B], the rows that count in statistics; None for all.
        """
        if not self.network.training_mode:
            return *self.apply(params, observation, seat), split_statistics(params)[1]
        assert key is not None
        counted = jnp.ones(seat.shape, jnp.bool_) if counted is None else counted
        own = seat == jnp.arange(self.num_players)[:, None]  # bool[num_players, B]

        def run(part: Literal["encoder", "heads"], key: jax.Array, rows: jax.Array) -> tuple[Any, Params]:
            """Returns the outputs of a part of the network and its new statistics, the old ones if no row counts.

            If each seat has its own part, it runs on all rows, and only the seat's own rows count.
            """
            module: Any = getattr(self.network, part)

            def apply(variables: Params, counted: jax.Array) -> tuple[Any, Params]:
                before = {name: values for name, values in variables.items() if name != "params"}
                if part not in self.network.training_mode:
                    return module.apply(variables, rows), before
                some, collections, rngs = counted.any(), list(before), {"dropout": key}
                outputs, after = module.apply(variables, rows, counted | ~some, mutable=collections, rngs=rngs)
                return outputs, jax.tree.map(lambda new, old: jnp.where(some, new, old), after, before)

            def of_own_rows(leaf: jax.Array) -> jax.Array:  # by a sum, which needs no rows of other devices
                return jnp.where(own.reshape(own.shape + (1,) * (leaf.ndim - 2)), leaf, 0).sum(0)

            if self.sharing == "shared" or (self.sharing == "shared_encoder" and part == "encoder"):
                return apply(params[part], counted)
            outputs, statistics = jax.vmap(apply)(params[part], own & counted)
            return jax.tree.map(of_own_rows, outputs), statistics

        encoder_key, heads_key = jax.random.split(key)
        features, of_encoder = run("encoder", encoder_key, observation)
        (logits, values), of_heads = run("heads", heads_key, features)
        return logits, values, {"encoder": of_encoder, "heads": of_heads}


def split_statistics(params: Params) -> tuple[Params, Params]:
    """Returns the weights, which an optimizer changes, and all other variables, such as batch statistics."""
    weights = {part: {"params": variables["params"]} for part, variables in params.items()}
    statistics = {
        part: {name: values for name, values in variables.items() if name != "params"}
        for part, variables in params.items()
    }
    return weights, statistics


def merge_statistics(weights: Params, statistics: Params) -> Params:
    """Returns the parameters of which `split_statistics` returns the two parts."""
    return {part: weights[part] | statistics[part] for part in weights}


def critic_only(policy: Policy) -> Params:
    """Returns a bool for each array of the policy's parameters: whether it is the critic's own, of the values alone.

    The logits do not depend on it: while only such arrays change, every action keeps its probability to the last bit.
    In most networks they are the last layer of the value. They are read from the traced program of the logits, so this
    holds for every network and every sharing.

    Raises ValueError if there is no such array.
    """
    of_one_seat = dataclasses.replace(policy, sharing="shared")  # each seat's logits depend on the same arrays
    params = jax.eval_shape(of_one_seat.init, jax.random.key(0))
    observation = jax.ShapeDtypeStruct((2, *policy.observation_shape), jnp.bool_)
    seat = jax.ShapeDtypeStruct((2,), jnp.int32)
    program = jax.make_jaxpr(lambda *inputs: of_one_seat.apply(*inputs)[0])(params, observation, seat)
    leaves, structure = jax.tree.flatten(params)
    _, is_used = dce_jaxpr(program.jaxpr, [True])
    own = [not used for used in is_used[: len(leaves)]]
    if not any(own):
        raise ValueError(
            f"all parameters of {policy.network} change its logits, so its critic cannot learn alone: "
            "leave out critic_warmup, or choose a network whose value has its own layer"
        )
    return jax.tree.unflatten(structure, own)


def keep_policy(policy: Policy, kept: jax.Array, params: Params, learned: Params) -> Params:
    """Returns a gradient with the network's statistics after it; if `kept` (bool[]), those of the critic's own arrays.

    Then all other gradients are 0, and all other statistics those of `params`.
    """
    weights, statistics = split_statistics(params)
    unchanged = merge_statistics(jax.tree.map(jnp.zeros_like, weights), statistics)
    own = critic_only(policy)
    return jax.tree.map(lambda own, old, new: new if own else jnp.where(kept, old, new), own, unchanged, learned)


def apply_by_seat(apply: Callable[..., Any], params: Params, rows: Any, seat: jax.Array) -> Any:
    """Returns `apply(params of seat[i], rows[i])` for every row i, a pytree of [B, ...]; each row is computed once.

    Rows are sorted into tiles with rows of a single seat, so everything is one batched product over tiles. At most one
    tile per seat is not full, so B / tile + num_players tiles are always enough. For fewer than MIN_ROWS_FOR_TILES
    rows, every network runs on every row: this costs less than to copy parameters to each tile.

    Args:
      apply: (params of one seat, [tile, ...]) -> pytree of [tile, ...].
      params: pytree whose leaves have a leading axis of num_players.
      rows: pytree of [B, ...].
      seat: int32[B].
    """
    num_rows, num_seats = seat.shape[0], jax.tree.leaves(params)[0].shape[0]
    # In a program for any number of rows, it is symbolic and not an int.
    if not isinstance(num_rows, int) or num_rows < MIN_ROWS_FOR_TILES:  # pyright: ignore[reportUnnecessaryIsInstance]
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

    row_of_slot = (
        jnp.zeros(num_tiles * tile, jnp.int32).at[slot].set(jnp.arange(num_rows, dtype=jnp.int32), unique_indices=True)
    )
    tiled = jax.tree.map(lambda x: x[row_of_slot].reshape(num_tiles, tile, *x.shape[1:]), rows)
    out = jax.vmap(apply)(jax.tree.map(lambda leaf: leaf[seat_of_tile], params), tiled)
    return jax.tree.map(lambda leaf: leaf.reshape(num_tiles * tile, *leaf.shape[2:])[slot], out)


# -- a value for every seat, for search --------------------------------------------------------------------------------


class MoreValues(nn.Module):
    """Heads with more values than the mover's: features -> logits float32[B, num_actions], float32[B, 1 + count]."""

    heads: nn.Module  # of the network: logits and the mover's value
    count: int

    @nn.compact
    def __call__(self, features: jax.Array, *training: jax.Array) -> tuple[jax.Array, jax.Array]:
        heads: Any = self.heads
        logits, own = heads(features, *training)
        others = nn.Dense(self.count, kernel_init=small())(features.reshape(features.shape[0], -1))
        return logits, jnp.concatenate([own[:, None], others], axis=1)


def with_seat_values(env: Env[Any], policy: Policy) -> Policy:
    """Returns the policy with a value per seat; the policy itself if the mover's value is enough."""
    if is_symmetric(env):
        return policy
    network = policy.network
    heads = MoreValues(network.heads, env.num_players - 1)
    return dataclasses.replace(policy, network=Network(network.encoder, heads, network.training_mode))


def outputs_of(env: Env[Any], values: jax.Array, mover: jax.Array) -> jax.Array:
    """Returns what the value head should give for values by seat, float32[B, num_players]: all or the mover's own.

    float32[B, num_players] or float32[B, 1]; `mover` is int32[B].
    """
    own_first = in_turn_order(values, mover)
    return own_first[:, :1] if is_symmetric(env) else own_first
