"""Generalised advantage estimation for n seats that move in any order.

Other seats move between two decisions of a seat, and their moves may pay it. A seat's transition therefore runs from
its decision at time t to its next decision at time n(t) in the same game:

    R_t     = sum of the seat's rewards at t, t + 1, ..., n(t) - 1
    delta_t = R_t + gamma V_n(t) - V_t
    A_t     = delta_t + gamma lambda A_n(t)

If the game terminates before the seat moves again, nothing follows: V_n(t) = A_n(t) = 0. If it is truncated, or the
rollout ends, V_n(t) is the seat's value of the last board, and A_n(t) = 0. Where that value is not known, A_t is not
known either: nothing is to be learned from the decision at t, and the one before it counts A_t = 0.

Source: Schulman et al., High-Dimensional Continuous Control Using Generalized Advantage Estimation, 2016.
"""

import jax
import jax.numpy as jnp


def per_seat_advantages(
    rewards: jax.Array,
    values: jax.Array,
    seats: jax.Array,
    terminated: jax.Array,
    truncated: jax.Array,
    bootstrap: jax.Array,
    is_valued: jax.Array,
    gamma: float,
    gae_lambda: float,
) -> tuple[jax.Array, jax.Array]:
    """Returns the advantages of T consecutive decisions on one board, which restarts when a game ends.

    Args:
      rewards: float32[T, num_players], what step t paid each seat.
      values: float32[T], the mover's value of the board that step t was played on.
      seats: int32[T], the mover of step t.
      terminated: bool[T], the rules ended the game at step t.
      truncated: bool[T], a limit cut the game off at step t.
      bootstrap: float32[T, num_players], every seat's value of the board that step t led to, before any restart;
            used where `truncated` and at T - 1.
      is_valued: bool[T, num_players], whether the entry of `bootstrap` is known.
      gamma: discount per decision of a seat.
      gae_lambda: lambda of the estimate.

    Returns:
      The advantages float32[T]; add `values` for the targets of the value function. And bool[T], whether they are
      known: they are 0 where they are not.
    """
    num_players = rewards.shape[-1]
    zeros = jnp.zeros(num_players, rewards.dtype)

    def backwards(carry: tuple[jax.Array, ...], step: tuple[jax.Array, ...]):
        # Per seat: the rewards before its next decision, the value and the advantage of that decision, and whether the
        # value is known.
        paid, next_value, next_advantage, is_known = carry
        reward, value, seat, terminated, truncated, bootstrap, is_valued = step
        ended = terminated | truncated
        paid = jnp.where(ended, 0.0, paid) + reward
        next_value = jnp.where(terminated, 0.0, jnp.where(truncated, bootstrap, next_value))
        next_advantage = jnp.where(ended, 0.0, next_advantage)
        is_known = terminated | jnp.where(truncated, is_valued, is_known)
        delta = paid[seat] + gamma * next_value[seat] - value
        advantage = jnp.where(is_known[seat], delta + gamma * gae_lambda * next_advantage[seat], 0.0)
        is_mover = jnp.arange(num_players) == seat
        carry = (
            jnp.where(is_mover, 0.0, paid),
            jnp.where(is_mover, value, next_value),
            jnp.where(is_mover, advantage, next_advantage),
            is_mover | is_known,
        )
        return carry, (advantage, is_known[seat])

    steps = (rewards, values, seats, terminated, truncated, bootstrap, is_valued)
    return jax.lax.scan(backwards, (zeros, bootstrap[-1], zeros, is_valued[-1]), steps, reverse=True)[1]
