"""A learner of your own: REINFORCE against a random opponent on Dots and Boxes, written out in forty lines.

    python -m examples.own_learner

The network is Flax, the optimiser is Optax, and the distribution over the legal actions is a `distrax.Distribution`. So
the example needs the extra `distrax`: `pip install ".[train,distrax]"` in a checkout. Every game on 3 x 3 boxes lasts
exactly 24 steps and has a winner, so one `jax.lax.scan` plays one whole game on every board.
"""

import json
from typing import Any

import distrax
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

import jaxgames

ENV = jaxgames.make("dots_and_boxes", rows=3, cols=3, reward="boxes")  # each box pays 1 in the step that completes it
NUM_ENVS, NUM_UPDATES = 256, 200
SEAT = jnp.arange(NUM_ENVS) % 2  # int32[NUM_ENVS], the network's seat; the other seat plays at random


class Network(nn.Module):
    """A policy without a value head: one hidden layer."""

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        """Logits, float32[..., num_actions], of observations bool[..., *observation_shape]."""
        x = observation.reshape(*observation.shape[:-3], -1).astype(jnp.float32)
        return nn.Dense(ENV.num_actions)(nn.relu(nn.Dense(128)(x)))


network: Any = Network()
optimizer = optax.adam(1e-2)


def policy(logits: jax.Array, mask: jax.Array) -> Any:
    """Returns the distribution over the actions that a mask allows, of logits float32[..., num_actions]."""
    return distrax.Categorical(logits=jnp.where(mask, logits, jnp.finfo(jnp.float32).min))


def play(params: Any, key: jax.Array) -> Any:
    """Plays one game on every board and returns its steps, with leading axes [24, NUM_ENVS]."""

    def step(boards: Any, key: jax.Array) -> Any:
        observation, mask = jax.vmap(ENV.observe)(boards), jax.vmap(ENV.legal_action_mask)(boards)
        is_network = boards.current_player == SEAT
        logits = jnp.where(is_network[:, None], network.apply(params, observation), 0.0)
        action = policy(logits, mask).sample(seed=key)
        boards = jax.vmap(ENV.step)(boards, action)
        reward = jnp.take_along_axis(boards.rewards, SEAT[:, None], axis=1)[:, 0]
        return boards, (observation, mask, action, is_network, reward)

    init_key, step_key = jax.random.split(key)
    boards = jax.vmap(ENV.init)(jax.random.split(init_key, NUM_ENVS))
    return jax.lax.scan(step, boards, jax.random.split(step_key, ENV.num_actions))[1]  # every edge is drawn once


def loss(params: Any, steps: Any) -> jax.Array:
    """Returns the REINFORCE loss: log-probabilities of the network's actions times the later rewards of its seat."""
    observation, mask, action, is_network, reward = steps
    log_prob = policy(network.apply(params, observation), mask).log_prob(action)
    to_go = jnp.flip(jnp.cumsum(jnp.flip(reward, 0), 0), 0)
    advantage = to_go - to_go.mean(1, keepdims=True)
    return -(log_prob * advantage * is_network).mean()


def update(carry: Any, key: jax.Array) -> Any:
    """Plays one game on every board and makes one gradient step; also returns the win rate in these games."""
    params, opt_state = carry
    steps = play(params, key)
    changes, opt_state = optimizer.update(jax.grad(loss)(params, steps), opt_state)
    return (optax.apply_updates(params, changes), opt_state), (steps[-1].sum(0) > 0).mean()


def main() -> None:
    params = network.init(jax.random.key(0), jnp.zeros(ENV.observation_shape, jnp.bool_))
    keys = jax.random.split(jax.random.key(1), NUM_UPDATES)
    train = jax.jit(lambda carry: jax.lax.scan(update, carry, keys))
    _, win_rates = train((params, optimizer.init(params)))
    win_rates = [round(float(rate), 3) for rate in win_rates.reshape(10, -1).mean(1)]
    print(json.dumps({"win_rates": win_rates}))  # ten means, each over a tenth of the run


if __name__ == "__main__":
    main()
