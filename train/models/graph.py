"""A graph network for Dots and Boxes of every size: messages between edges, boxes and one node of the whole board.

    *--e--*--e--*      An edge has one or two boxes, a box has four edges. In each round,
    e  b  e  b  e        boxes    get the sum of their open edges,
    *--e--*--e--*        edges    get the sum of their boxes,
    e  b  e  b  e        the board's node gets the mean of the open boxes, and gives its state to all.
    *--e--*--e--*

A state is `width` numbers. It grows by the ReLU of a dense layer on itself and on what it gets, each after layer norm.
All edges share one layer, and all boxes another, so the parameters fit every board. Drawn edges and complete boxes have
the state 0 and send nothing.

The value is the margin to go: the boxes that the mover takes from here on, minus the other seat's. It is a share
of the open boxes, between -1 and 1. The owners of the complete boxes matter only in rewards that count them.

Source of the idea of one graph network for every size: Ben-Assayag and El-Yaniv, Train on Small, Play the Large:
Scaling Up Board Games with AlphaZero and GNN, arXiv:2107.08387.
"""

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from jaxgames import Env
from jaxgames._checks import check_choice, check_int
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from train.models import box_chains
from train.models.box_chains import flat_edges, sum_of_boxes, sum_of_edges
from train.models.layers import MAX_SIZE, FlatDense, Network, game_for, orthogonal, small

EDGES_OF_A_BOX = 4


class GraphEncoder(nn.Module):
    """The rounds of messages: bool[B, 2 m + 1, 2 n + 1, 3] -> float32[B, edges + boxes + 1, width + 1].

    The nodes are the edges in the order of the actions, the boxes row by row, and the board. Their last feature is no
    state. It is 1 for an open edge, and for a box the owner: 1 for the mover, -1 for the other seat, 0 for an open box.
    """

    width: int
    rounds: int
    chains: bool

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        drawn = observation[..., 0]
        across, down = drawn[:, ::2, 1::2], drawn[:, 1::2, ::2]  # bool[B, m + 1, n], bool[B, m, n + 1]
        rows, cols = down.shape[1], across.shape[2]
        counts = sum_of_edges(flat_edges(across, down)[..., None].astype(jnp.float32), rows, cols)
        open_edges = ~flat_edges(across, down)[..., None]
        open_boxes = counts < EDGES_OF_A_BOX
        parities = jnp.stack([open_edges.sum((1, 2)) % 2, open_boxes.sum((1, 2)) % 2], axis=1)

        edges = jnp.zeros((*open_edges.shape[:2], self.width), jnp.float32)
        of_boxes = jax.nn.one_hot(counts[..., 0].astype(jnp.int32), EDGES_OF_A_BOX, dtype=jnp.float32)
        of_board = parities.astype(jnp.float32)
        if self.chains:
            inputs = box_chains.chains(across, down)
            edges = jnp.where(open_edges, nn.Dense(self.width, kernel_init=orthogonal())(inputs.edges), 0)
            of_boxes = jnp.concatenate([of_boxes, inputs.boxes], axis=-1)
            of_board = jnp.concatenate([of_board, inputs.board], axis=-1)
        boxes = jnp.where(open_boxes, nn.Dense(self.width, kernel_init=orthogonal())(of_boxes), 0)
        board = nn.Dense(self.width, kernel_init=orthogonal())(of_board)
        num_open = jnp.maximum(open_boxes.sum(1, dtype=jnp.float32), 1)
        for _ in range(self.rounds):
            edges, boxes, board = Round(self.width)(edges, boxes, board, open_edges, open_boxes, num_open, (rows, cols))

        owners = observation[:, 1::2, 1::2].astype(jnp.float32)
        owner = owners[..., 1] - owners[..., 2]
        of_board = jnp.zeros((owner.shape[0], 1), jnp.float32)
        last = [open_edges[..., 0].astype(jnp.float32), owner.reshape(owner.shape[0], -1), of_board]
        states = jnp.concatenate([edges, boxes, board[:, None]], axis=1)
        return jnp.concatenate([states, jnp.concatenate(last, axis=1)[..., None]], axis=2)


class Round(nn.Module):
    """One round of messages, which returns the new states of the edges, the boxes and the board."""

    width: int

    @nn.compact
    def __call__(
        self,
        edges: jax.Array,  # float32[B, edges, width]
        boxes: jax.Array,  # float32[B, boxes, width]
        board: jax.Array,  # float32[B, width]
        open_edges: jax.Array,  # bool[B, edges, 1]
        open_boxes: jax.Array,  # bool[B, boxes, 1]
        num_open: jax.Array,  # float32[B, 1], the open boxes; 1 if none is open
        size: tuple[int, int],  # rows and columns of boxes
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        dense = functools.partial(FlatDense, self.width)
        whole = nn.LayerNorm()(board)[:, None]
        of_edges = jnp.where(open_edges, nn.LayerNorm()(edges), 0)
        new = dense()(nn.LayerNorm()(boxes)) + dense()(sum_of_edges(of_edges, *size)) + dense()(whole)
        boxes = jnp.where(open_boxes, boxes + nn.relu(new), 0)
        of_boxes = jnp.where(open_boxes, nn.LayerNorm()(boxes), 0)
        new = dense()(of_edges) + sum_of_boxes(dense()(of_boxes), *size) + dense()(whole)
        edges = jnp.where(open_edges, edges + nn.relu(new), 0)
        board = board + nn.relu(dense()(whole[:, 0]) + dense()(of_boxes.sum(1) / num_open))
        return edges, boxes, board


class GraphHeads(nn.Module):
    """The heads: the features of `GraphEncoder` -> logits float32[B, num_actions], values float32[B]."""

    env: DotsAndBoxes

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        env, width = self.env, features.shape[-1] - 1
        states, last = features[..., :-1], features[..., -1]
        edges, boxes, board = states[:, : env.num_edges], states[:, env.num_edges : -1], states[:, -1]
        owner = last[:, env.num_edges : -1]
        board = nn.LayerNorm()(board)
        hidden = FlatDense(width)(nn.LayerNorm()(edges)) + FlatDense(width)(board)[:, None]
        logits = nn.Dense(1, kernel_init=small())(nn.relu(hidden))[..., 0]

        num_open = (owner == 0).sum(1, dtype=jnp.float32)
        boxes = jnp.where((owner == 0)[..., None], nn.LayerNorm()(boxes), 0)
        pooled = [boxes.sum(1) / jnp.maximum(num_open, 1)[:, None], nn.relu(boxes).max(1), board]
        hidden = nn.relu(FlatDense(width)(jnp.concatenate(pooled, axis=1)))
        to_go = num_open * jnp.tanh(nn.Dense(1, kernel_init=small())(hidden)[:, 0])
        return logits, self._value(to_go, owner.sum(1), hidden)

    def _value(self, to_go: jax.Array, lead: jax.Array, hidden: jax.Array) -> jax.Array:
        """Returns float32[B], the mover's value in the scale of training, from margins in boxes."""
        _, highest = self.env.reward_range
        if self.env.reward == "boxes":
            return to_go / highest
        if self.env.reward == "margin":
            return (lead + to_go) / highest
        steepness = nn.softplus(nn.Dense(1, kernel_init=small())(hidden)[:, 0])
        return jnp.tanh(steepness * (lead + to_go))


def graph(env: Env[Any], rounds: int = 6, width: int = 64, chains: bool = False) -> Network:
    """Returns the graph network.

    Args:
      env: `dots_and_boxes` of any size.
      rounds: rounds of messages; one moves a message from a box to the next.
      width: numbers in the state of a node.
      chains: whether the lengths and numbers of the chains are inputs, too (`train/models/box_chains.py`).
    """
    board = game_for("graph", env, DotsAndBoxes, "resnet for other boards")
    check_int("rounds", rounds, 1, MAX_SIZE)
    check_int("width", width, 1, MAX_SIZE)
    check_choice("chains", chains, (False, True))
    return Network(GraphEncoder(width, rounds, chains), GraphHeads(board), any_board=True)
