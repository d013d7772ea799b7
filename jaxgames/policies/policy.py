"""Policies, and the evaluation of boards by a policy: its logits, and a value for every seat.

A policy is asked for the observation of the seat to move only, because it learns from no other. In a zero-sum game of
two seats, the mover's value v is enough: the other seat has -v. In other games a policy needs a value per seat, in turn
order: the mover's own, then those of the other seats in clockwise order. With one value, the values of the other seats
are not known there: NaN.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.mcts.config import Evaluation


class Policy(Protocol):
    """A function of parameters and observations, for every seat; hashable."""

    def apply(self, params: Any, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns logits float32[B, num_actions] and values float32[B], in the scaled reward of `reward_scale`.

        The values are float32[B, num_players], in turn order, where a policy has one for every seat.

        Args:
          params: a pytree of arrays.
          observation: bool[B, *observation_shape], of the seats to move.
          seat: int32[B], the player of each row.
        """
        ...


def reward_scale(env: Env[Any]) -> float:
    """Returns the factor from the env's rewards to those that a policy learns from.

    The largest reward of a step becomes 1, so that one set of weights in the loss fits all games.
    """
    return 1.0 / max(abs(bound) for bound in env.reward_range)


def is_symmetric(env: Env[Any]) -> bool:
    """Returns whether the other seat's value is the negated value of the mover: two seats, zero sum."""
    return env.num_players == 2 and env.zero_sum


def has_seat_values(env: Env[Any], value_shape: tuple[int, ...]) -> bool:
    """Returns whether a policy whose values of a board have `value_shape`, () or (num_players,), values every seat."""
    return is_symmetric(env) or bool(value_shape)


def seat_values(env: Env[Any], values: jax.Array, mover: jax.Array) -> jax.Array:
    """Returns float32[B, num_players], the value of every seat; NaN where it is not known.

    Args:
      values: float32[B] or float32[B, num_players], of a policy.
      mover: int32[B], the seats to move.
    """
    if values.ndim == 2:
        return by_seat(values, mover)
    off_turn = -values if is_symmetric(env) else jnp.full_like(values, jnp.nan)
    return jnp.where(mover[:, None] == np.arange(env.num_players), values[:, None], off_turn[:, None])


def logits_and_values(env: Env[Any], policy: Policy, params: Any, states: Any) -> tuple[jax.Array, jax.Array]:
    """Returns logits float32[B, num_actions] and `seat_values` in the env's unit of reward, of the states [B]."""
    logits, values = policy.apply(params, jax.vmap(env.observe)(states), states.current_player)
    return logits, seat_values(env, values, states.current_player) / reward_scale(env)


@dataclass(frozen=True)
class PolicyEvaluate:
    """The evaluation of boards by a policy, as `jaxgames.mcts.search` takes it; hashable."""

    env: Env[Any]
    policy: Policy

    def __call__(self, params: Any, states: Any) -> Evaluation:
        """Returns the logits and, in the env's unit of reward, the values of all seats.

        Raises ValueError for a policy that has no values of the seats that are not to move.
        """
        logits, values = self.policy.apply(params, jax.vmap(self.env.observe)(states), states.current_player)
        if not has_seat_values(self.env, values.shape[1:]):
            raise ParameterError(
                f"a search in {self.env} needs a value for every seat, and this policy has one for the seat to move "
                "only: play without simulations, or train one with train.alphazero"
            )
        return Evaluation(logits, seat_values(self.env, values, states.current_player) / reward_scale(self.env))


def in_turn_order(values: jax.Array, mover: jax.Array) -> jax.Array:
    """Returns values by seat, float32[B, num_players], as those of the mover (int32[B]) and the seats after it."""
    seats = (mover[:, None] + jnp.arange(values.shape[1])) % values.shape[1]
    return jnp.take_along_axis(values, seats, axis=1)


def by_seat(values: jax.Array, mover: jax.Array) -> jax.Array:
    """Returns the values float32[B, num_players] by seat, from those in turn order; the inverse of `in_turn_order`."""
    places = (jnp.arange(values.shape[1]) - mover[:, None]) % values.shape[1]
    return jnp.take_along_axis(values, places, axis=1)
