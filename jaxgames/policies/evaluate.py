"""The evaluation of boards by a policy, for search: its logits, and values for every seat.

A policy with one value gives that of the seat whose observation it gets. In a zero-sum game of two seats, the mover's
value v is enough: the other seat has -v. A policy with a value per seat gives them in turn order: the mover's own, then
those of the other seats in clockwise order.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env
from jaxgames.mcts.config import Evaluation
from jaxgames.policies.agent import Policy, reward_scale, seat_values


@dataclass(frozen=True)
class PolicyEvaluate:
    """The evaluation of boards by a policy, as `jaxgames.mcts.search` takes it; hashable.

    All values come from the mover's observation where the policy has a value per seat, or where two seats play a
    zero-sum game. In other games, each seat's value comes from its own observation.
    """

    env: Env[Any]
    policy: Policy

    def __call__(self, params: Any, states: Any) -> Evaluation:
        """Returns the logits and, in the env's unit of reward, the values of all seats."""
        mover = states.current_player
        logits, values = self.policy.apply(params, jax.vmap(self.env.observe)(states), mover)
        if values.ndim == 2:
            values = by_seat(values, mover)
        elif is_symmetric(self.env):
            values = jnp.where(mover[:, None] == np.arange(2), values[:, None], -values[:, None])
        else:
            values = seat_values(self.env, self.policy, params, states)
        return Evaluation(logits, values / reward_scale(self.env))


def is_symmetric(env: Env[Any]) -> bool:
    """Returns whether the other seat's value is the negated value of the mover: two seats, zero sum."""
    return env.num_players == 2 and env.zero_sum


def in_turn_order(values: jax.Array, mover: jax.Array) -> jax.Array:
    """Returns values by seat, float32[B, num_players], as those of the mover (int32[B]) and the seats after it."""
    seats = (mover[:, None] + jnp.arange(values.shape[1])) % values.shape[1]
    return jnp.take_along_axis(values, seats, axis=1)


def by_seat(values: jax.Array, mover: jax.Array) -> jax.Array:
    """Returns the values float32[B, num_players] by seat, from those in turn order; the inverse of `in_turn_order`."""
    places = (jnp.arange(values.shape[1]) - mover[:, None]) % values.shape[1]
    return jnp.take_along_axis(values, places, axis=1)
