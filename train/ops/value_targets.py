"""Value targets of self-play for n seats that move in any order: lambda-returns over the values of a search.

Step t pays the seats r_t and leads to a board that a search values at v_(t+1). All three are vectors over the seats:

    G_t = r_t + d_t ((1 - lambda) v_(t+1) + lambda G_(t+1))

    d_t = gamma if another seat moves next, 1 if the mover moves again, 0 if the game is over

This is the rule by which the search backs up its values. It has no sign: each seat has its own component. With lambda =
1 and gamma = 1, G_t is what each seat is paid in the rest of the game.

Where a limit cuts off a game, before a random move, and at the end of a rollout, v_(t+1) takes the place of G_(t+1). So
a game that was cut off counts with the value of its last board, and not with 0.
"""

import jax
import jax.numpy as jnp


def lambda_returns(
    rewards: jax.Array, discounts: jax.Array, next_values: jax.Array, stops: jax.Array, td_lambda: float | jax.Array
) -> jax.Array:
    """Returns G, float32[T, num_players], for T consecutive steps on one board, which restarts when a game ends.

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

    def backwards(later: tuple[jax.Array, jax.Array], step: tuple[jax.Array, jax.Array]):
        (paid, known), (reward, ended) = later, step
        own = reward + jnp.where(ended, 0.0, paid), ended | known
        return own, own

    start = jnp.zeros_like(rewards[0]), jnp.bool_(False)
    return jax.lax.scan(backwards, start, (rewards, ended), reverse=True)[1]
