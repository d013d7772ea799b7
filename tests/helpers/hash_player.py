"""Agents of the diamond whose moves are written out here, so that their strength can be compared with known numbers.

The command of a row of docs/strength.md needs `hash`, the name for commands.

python -m train.strength tests.helpers.hash_player:hash --env "chinese_checkers_diamond(size=4, pieces=3)"
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxgames import agents
from jaxgames.games.chinese_checkers_diamond.board import unpack

GOLDEN = 0x9E3779B9


def fmix32(x: jax.Array) -> jax.Array:
    """The last step of Murmur3: mixes the bits of uint32."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


@agents.pytree
@dataclass(frozen=True)
class HashPlayer:
    """Plays the legal action with the smallest hash of the board, the seed and the action; for up to 16 cells."""

    on_device: ClassVar[bool] = True
    env: Any = field(metadata={"static": True})
    seed: int = field(default=0, metadata={"static": True})

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        cells = unpack(self.env.size, states.pieces).astype(jnp.uint32)  # [B, 2, cells]
        places = jnp.arange(self.env.num_cells, dtype=jnp.uint32)
        own, opponent = jnp.moveaxis((cells << places).sum(-1, jnp.uint32), 1, 0)
        key = fmix32((own | opponent << 16) ^ jnp.uint32(self.seed * GOLDEN % 2**32))
        hashes = fmix32(key[:, None] + jnp.arange(self.env.num_actions, dtype=jnp.uint32) * jnp.uint32(GOLDEN))
        mask = jax.vmap(self.env.legal_action_mask)(states)
        return jnp.where(mask, hashes, jnp.uint32(2**32 - 1)).argmin(-1).astype(jnp.int32)


agents.register("hash", HashPlayer)


def hash_agent(env: Any) -> Callable[[Any], jax.Array]:
    """Returns the compiled function that plays for boards [B]."""
    return jax.jit(lambda states: HashPlayer(env).act(jax.random.key(0), states))
