"""A network of your own, by name: a fully convolutional one, whose parameters fit Dots and Boxes of any size.

    python -m examples.own_network
    python -m train.ppo --env dots_and_boxes --network "examples.own_network:fully_convolutional(channels=32)"

The script trains it with PPO on boards of 2 x 2 boxes. Then the network plays against a random opponent, on 2 x 2 and
on 3 x 3 boxes. It has the same parameters on both boards, and was never trained on the larger one.
"""

import functools
import json
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames import arena
from jaxgames.agents import RandomAgent
from train.models import networks
from train.models.convolution import Convolution
from train.models.layers import Network
from train.ops.action_cells import action_cells
from train.ppo import PPO, Config, train

BOARDS = ("dots_and_boxes(rows=2, cols=2)", "dots_and_boxes(rows=3, cols=3)")


class Encoder(nn.Module):
    """3 x 3 convolutions with ReLU: bool[B, height, width, planes] -> float32[B, height, width, channels]."""

    channels: int
    layers: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        x = observation.astype(jnp.float32)
        for _ in range(self.layers):
            x = nn.relu(Convolution(self.channels)(x))
        return x


class EdgeHeads(nn.Module):
    """Two linear heads: the logit of an edge from its own cell, the value from the mean of all cells.

    float32[B, height, width, channels] -> float32[B, num_actions], float32[B]
    """

    cells: tuple[int, ...]  # of the edges

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        of_cells = nn.Dense(1)(features).reshape(features.shape[0], -1)
        value = nn.Dense(1)(features.mean((1, 2)))
        return of_cells[:, np.array(self.cells)], value[:, 0]


def fully_convolutional(env: jaxgames.Env[Any], channels: int = 16, layers: int = 4) -> Network:
    """Returns the network for a board. The parameters after `env` are those that the brackets can have."""
    cells = action_cells(env)
    if cells is None or cells.num_planes != 1:
        raise ValueError(f"fully_convolutional needs one action per cell, as in dots_and_boxes; {env} has others")
    return Network(Encoder(channels, layers), EdgeHeads(tuple(cells.cell.tolist())))


networks.register("fully_convolutional", fully_convolutional)


def main() -> None:
    config = Config(
        env=BOARDS[0],
        network="fully_convolutional",
        total_steps=200_000,
        num_envs=128,
        rollout_length=24,
        update_epochs=4,
        num_minibatches=4,
        learning_rate=2e-3,
        ent_coef=0.02,
        temperature=0.0,
    )
    train_state, _ = jax.jit(functools.partial(train, config))(jax.random.key(0))
    scores: dict[str, float] = {}  # shares of the points; a draw, which 2 x 2 boxes often end with, is half a point
    for board in BOARDS:
        learner = PPO(Config(env=board, network=config.network, temperature=0.0))
        agent, opponent = learner.agent(train_state.params), RandomAgent(learner.env)
        evaluate = jax.jit(functools.partial(arena.evaluate, learner.env, num_games=1000))
        rates = evaluate(agent, opponent, jax.random.key(1))
        scores[board] = round(float(rates["win_rate"] + rates["draw_rate"] / 2), 3)
    print(json.dumps({"scores": scores}))


if __name__ == "__main__":
    main()
