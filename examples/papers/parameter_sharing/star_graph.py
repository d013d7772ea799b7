"""A graph network for the star board of Chinese Checkers: the cells send messages along steps and along chains of hops.

    inputs     per cell: the planes of the observation, and parameters of its own; for the board: whether a peg is
               within its turn
    rounds     a cell gets messages of its six neighbours, the largest message of the cells that a peg on it can hop to,
               and the largest of those from which a peg can hop to it; the board gets the mean and the maximum of the
               cells, and gives its state to all of them
    policy     step or hop: from the states of the two cells that it joins; end of the turn: from the state of the board
    value      from the mean and the maximum of the cells and the state of the board

A state is `width` numbers. It grows by the ReLU of a dense layer on itself and on what it gets, each after layer norm.
"Largest" is meant number by number. A chain has at most `hops` hops in each round, and leaves out that a peg's origin
is empty once the peg has left.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import flax.linen as nn
import jax
import jax.numpy as jnp

from jaxgames import Env
from jaxgames._checks import check_int
from jaxgames.games.chinese_checkers import ChineseCheckers
from train.models.hop_planner import ALL_DIRECTIONS, HOP, STEP, ahead, can_hop, cells_of, opposite, targets
from train.models.layers import MAX_SIZE, FlatDense, Network, game_for, small


class Hops(NamedTuple):
    """Hops of a batch of boards, by direction: each is bool[cells, B]."""

    away: Sequence[jax.Array]  # a peg on the cell could hop to the cell two steps ahead
    back: Sequence[jax.Array]  # a peg two steps ahead could hop to the cell

    @classmethod
    def of(cls, size: int, occupied: jax.Array, blocked: jax.Array) -> "Hops":
        """Returns the hops of `can_hop`."""
        away = can_hop(size, occupied, blocked)
        return cls(away, [ahead(size, HOP, direction, away[opposite(direction)]) for direction in ALL_DIRECTIONS])


def largest(size: int, messages: jax.Array, hops: Sequence[jax.Array], longest: int) -> jax.Array:
    """Returns the largest message within some hops from each cell, the cell included: float32[cells, B, width].

    Args:
      messages: of each cell, with the same shape.
      hops: bool[cells, B] by direction, of `Hops`.
      longest: the longest chain of hops.
    """

    def one_more(best: jax.Array, _: None) -> tuple[jax.Array, None]:
        return cast(jax.Array, _hop(size, best, hops)), None

    # With a Python loop, XLA would compute each hop six times: once for each direction of the next hop.
    best, _ = jax.lax.scan(one_more, messages, length=longest)
    return best


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _hop(size: int, messages: jax.Array, hops: Sequence[jax.Array]) -> jax.Array:
    return _forward(size, messages, hops)[0]


def _forward(size: int, messages: jax.Array, hops: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Returns the largest of a cell's message and those one hop away, and the direction of the largest."""
    best, direction_of_best = messages, jnp.full(messages.shape, -1, jnp.int8)
    for direction, can in enumerate(hops):
        arriving = jnp.where(can[..., None], ahead(size, HOP, direction, messages), messages)
        direction_of_best = jnp.where(arriving > best, jnp.int8(direction), direction_of_best)
        best = jnp.maximum(best, arriving)
    return best, direction_of_best


def _backward(size: int, direction_of_best: jax.Array, gradient: jax.Array) -> tuple[jax.Array, None]:
    parts = [
        ahead(size, HOP, opposite(direction), jnp.where(direction_of_best == direction, gradient, 0))
        for direction in ALL_DIRECTIONS
    ]
    return sum(parts, jnp.where(direction_of_best < 0, gradient, 0)), None


_hop.defvjp(_forward, _backward)


class StarGraphEncoder(nn.Module):
    """The rounds of messages: bool[B, side, side, planes] -> float32[B, cells + 1, width + 2].

    The nodes are the cells and the board. Their last two features are no state: whether a peg is on the cell, and
    whether no peg can land there.
    """

    env: ChineseCheckers
    width: int
    rounds: int
    hops: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        env = self.env
        planes, occupied, blocked = (x.swapaxes(0, 1) for x in cells_of(env, observation))
        hops = Hops.of(env.size, occupied, blocked)
        own = self.param("cells", nn.initializers.normal(0.5), (env.num_cells, 1, self.width), jnp.float32)
        cells = FlatDense(self.width)(planes.astype(jnp.float32)) + own
        is_within_a_turn = planes[..., env.num_players + 1].any(0)[:, None]
        board = FlatDense(self.width)(is_within_a_turn.astype(jnp.float32))
        for _ in range(self.rounds):
            cells, board = Round(env.size, self.width, self.hops)(cells, board, hops)
        states = nn.LayerNorm()(jnp.concatenate([cells, board[None]]))
        last = jnp.pad(jnp.stack([occupied, blocked], axis=-1).astype(jnp.float32), ((0, 1), (0, 0), (0, 0)))
        return jnp.concatenate([states, last], axis=-1).swapaxes(0, 1)


class Round(nn.Module):
    """One round of messages, which returns the new states of the cells and of the board."""

    size: int
    width: int
    hops: int

    @nn.compact
    def __call__(self, cells: jax.Array, board: jax.Array, hops: Hops) -> tuple[jax.Array, jax.Array]:
        normed, whole = nn.LayerNorm()(cells), nn.LayerNorm()(board)
        near = [ahead(self.size, STEP, direction, normed) for direction in ALL_DIRECTIONS]
        away, back = jnp.split(FlatDense(2 * self.width)(normed), 2, axis=-1)
        reach = largest(self.size, away, hops.away, self.hops)
        reached = largest(self.size, back, hops.back, self.hops)
        received = FlatDense(self.width)(jnp.concatenate([normed, *near, reach, reached], axis=-1))
        new = received + FlatDense(self.width)(whole)
        pooled = jnp.concatenate([whole, normed.mean(0), normed.max(0)], axis=-1)
        return cells + nn.relu(new), board + nn.relu(FlatDense(self.width)(pooled))


class StarGraphHeads(nn.Module):
    """The heads: the states of `StarGraphEncoder` -> logits float32[B, num_actions], values float32[B]."""

    env: ChineseCheckers
    hops: int

    @nn.compact
    def __call__(self, states: jax.Array) -> tuple[jax.Array, jax.Array]:
        size, width = self.env.size, states.shape[-1] - 2
        states = states.swapaxes(0, 1)
        cells, board = states[:-1, :, :width], states[-1, :, :width]
        occupied, blocked = (states[:-1, :, width + i] > 0 for i in range(2))
        hops = can_hop(size, occupied, blocked)
        origin, step, hop = jnp.split(FlatDense(3 * width)(cells), 3, axis=-1)
        hop = largest(size, hop, hops, self.hops)
        origin += FlatDense(width)(board)
        of_direction = self.param("directions", nn.initializers.zeros, (len(ALL_DIRECTIONS), width), jnp.float32)
        score = nn.Dense(1, kernel_init=small())
        moves = [
            score(nn.relu(origin + target + of_one).reshape(-1, width)).reshape(origin.shape[:2])
            for target, of_one in zip(targets(size, hops, step, hop), of_direction, strict=True)
        ]
        logits = jnp.stack(moves, axis=-1).swapaxes(0, 1).reshape(states.shape[1], -1)
        pooled = jnp.concatenate([cells.mean(0), cells.max(0), board], axis=-1)
        hidden = nn.relu(FlatDense(2 * width)(pooled))
        end, value = (nn.Dense(1, kernel_init=small())(hidden) for _ in range(2))
        return jnp.concatenate([logits, end], axis=-1), value[:, 0]


def star_graph(env: Env[Any], rounds: int = 4, width: int = 32, hops: int = 2) -> Network:
    """Returns the network, for `chinese_checkers`.

    Args:
      rounds: rounds of messages.
      width: numbers in the state of a cell and of the board.
      hops: the longest chain of hops along which a message goes in one round.
    """
    board = game_for("star_graph", env, ChineseCheckers, "hops")
    for name, number in {"rounds": rounds, "width": width, "hops": hops}.items():
        check_int(name, number, 1, MAX_SIZE)
    return Network(StarGraphEncoder(board, width, rounds, hops), StarGraphHeads(board, hops))
