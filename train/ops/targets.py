"""Targets of learners for n seats that move in any order: advantages, and value targets of self-play."""

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

    Other seats move between two decisions of a seat, and their moves may pay it. A seat's transition therefore runs
    from its decision at time t to its next decision, at time n(t) in the same game:

        R_t     = sum of the seat's rewards at t, t + 1, ..., n(t) - 1
        delta_t = R_t + gamma V_n(t) - V_t
        A_t     = delta_t + gamma lambda A_n(t)

    If the game terminates before the seat moves again, nothing follows: V_n(t) = A_n(t) = 0. If it is truncated, or the
    rollout ends, V_n(t) is the seat's value of the last board, and A_n(t) = 0. Where that value is not known, A_t is
    not known either: nothing is to be learned from the decision at t, and the one before it counts A_t = 0.

    Source: Schulman et al., High-Dimensional Continuous Control Using Generalized Advantage Estimation, 2016.

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


def lambda_returns(
    rewards: jax.Array, discounts: jax.Array, next_values: jax.Array, stops: jax.Array, td_lambda: float | jax.Array
) -> jax.Array:
    """Returns G, lambda-returns over the values of a search, for T consecutive steps on one board.

    float32[T, num_players]. The board restarts when a game ends. Step t pays the seats r_t and leads to a board that a
    search values at v_(t+1). All three are vectors over the seats:

        G_t = r_t + d_t ((1 - lambda) v_(t+1) + lambda G_(t+1))

        d_t = gamma if another seat moves next, 1 if the mover moves again, 0 if the game is over

    This is the rule by which the search backs up its values. It has no sign: each seat has its own component. With
    lambda = 1 and gamma = 1, G_t is what each seat is paid in the rest of the game.

    Where a limit cuts off a game, before a random move, and at the end of a rollout, v_(t+1) takes the place of
    G_(t+1). So a game that was cut off counts with the value of its last board, and not with 0.

    Args:
      rewards: float32[T, num_players], what each step paid the seats.
      discounts: float32[T], of what follows each step; see `jaxgames.wrappers.discount_of`.
      next_values: float32[T, num_players], the seats' values of the board that each step led to, before any restart.
      stops: bool[T], whether v takes the place of the later G, as at the end of a game. T - 1 counts as a stop.
      td_lambda: lambda; 0 looks one step ahead, 1 to the end of the game.
    """
    weights = jnp.where(stops, 0.0, td_lambda)

    def backwards(later: jax.Array, step: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        reward, discount, value, weight = step
        own = reward + discount * ((1 - weight) * value + weight * later)
        return own, own

    steps = rewards, discounts, next_values, weights.at[-1].set(0.0)
    return jax.lax.scan(backwards, jnp.zeros_like(rewards[0]), steps, reverse=True)[1]


def outcomes(rewards: jax.Array, ended: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns what the seats are paid from each step to the end of the game, and whether this end is known.

    float32[T, num_players], undiscounted, and bool[T]. The end is known if the game ends within the T steps.

    Args:
      rewards: float32[T, num_players], what each step paid the seats.
      ended: bool[T], whether the game ended with the step.
    """
    paid = lambda_returns(rewards, jnp.where(ended, 0.0, 1.0), jnp.zeros_like(rewards), ended, td_lambda=1.0)
    return paid, jax.lax.cummax(ended.astype(jnp.int32), reverse=True) > 0
