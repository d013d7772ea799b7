"""Results that a search has proved: the returns of nodes from which every line to the end is known.

A node is proved if its game is over by the rules, or if the seat that chooses there has a proved slot that wins, or if
all of its legal actions are proved slots. Its returns are those of its best proved slot, and a simulation ends there.

Source: Winands, Björnsson and Saito, Monte-Carlo tree search solver, 2008; here with vectors of returns over the seats.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgames.env import Env
from jaxgames.sampling import MASKED_LOGIT


class Proofs(NamedTuple):
    """The proved results in the trees of B boards, with N nodes of K slots each."""

    nodes: jax.Array  # bool[B, N], whether the returns of a node are proved
    returns: jax.Array  # float32[B, N, num_players], the proved returns of a node; elsewhere not used
    slots: jax.Array  # bool[B, N, K], whether a slot leads to a proved node
    complete: jax.Array  # bool[B, N], whether every legal action of a node has a slot


def no_proofs(batch: int, num_nodes: int, num_slots: int, num_players: int) -> Proofs:
    """Returns the proofs of empty trees."""
    return Proofs(
        nodes=jnp.zeros((batch, num_nodes), jnp.bool_),
        returns=jnp.zeros((batch, num_nodes, num_players), jnp.float32),
        slots=jnp.zeros((batch, num_nodes, num_slots), jnp.bool_),
        complete=jnp.zeros((batch, num_nodes), jnp.bool_),
    )


def ends_with_a_win(env: Env[Any]) -> bool:
    """Returns whether a proved slot with a return above 0 proves its node.

    It does where the winner gets num_players - 1 at the end of a game and the others -1: with a discount, another win
    could be faster, but not better. In games with other rewards, all slots must be proved.
    """
    return env.terminal_rewards and env.reward_range == (-1.0, env.num_players - 1.0)


def without_proved(logits: jax.Array, proved: jax.Array) -> jax.Array:
    """Returns the logits float32[B, K] of slots that are worth a visit: another visit of a proved one shows nothing.

    They are the same where all slots are proved.
    """
    masked = jnp.where(proved, MASKED_LOGIT, logits)
    return jnp.where((masked > MASKED_LOGIT).any(-1, keepdims=True), masked, logits)
