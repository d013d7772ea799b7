"""A network for the star board of Chinese Checkers: it scores every cell and looks two turns of hops ahead.

    encoder    all cells of the star side by side, and each seat's distance to its goal; dense layers
    worth      per cell: -steepness * (steps that a peg on it still has to go + center * columns off the middle line),
               plus a linear output of the encoder
    reach      per cell: the largest worth of a cell that a peg on it can hop to in one turn, the cell itself included
    plan       worth + next_turn * (reach - worth): a peg may hop on in the next turn, if other seats leave its bridge
    policy     step: plan[target] - plan[origin];  hop: reach of plan[target] - plan[origin];  end of the turn: 0;
               plus a linear output of the encoder for every action
    value      linear

`steepness`, `center` and `next_turn` are parameters that learn, too. The other outputs begin near 0. So the first
policy brings pegs closer to the goal, by long chains of hops first, and learning changes that.

A reach is found in `hops` rounds: best[c] = max(best[c], best[landing cells of the hops from c]). It leaves out that a
peg's origin is empty once the peg has left. The gradient of a reach goes to the worth of the best cell.
"""

import functools
from collections.abc import Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_choice, check_int, check_number
from jaxgames.games._hexagons import hexagonal_distance
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers.board import DIRECTIONS, tables
from jaxgames.games.chinese_checkers.scores import remaining_on_star
from train.models.layers import ACTIVATIONS, MAX_SIZE, Network, check_sizes, game_for, orthogonal, small, take_cells

STEP, HOP = 1, 2  # the cells from one to the other end of a move
ALL_DIRECTIONS = range(len(DIRECTIONS))
CELL_BITS = 9  # of a cell's number: 433 cells for N = 8
WORTH_UNITS, MAX_WORTH = 2**12, 2**9  # with its sign, a worth in these units has the other 22 bits


class HopsEncoder(nn.Module):
    """bool[B, side, side, planes] -> float32[B, features]: those of the last dense layer, then three per cell.

    They are the steps to go, whether a peg is there, and whether no peg can land there.
    """

    env: ChineseCheckers
    hidden_sizes: tuple[int, ...]
    activation: str

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        env, batch = self.env, observation.shape[0]
        planes, occupied, blocked = cells_of(env, observation)
        pegs = planes[..., : env.num_players]
        goal = pegs[:, -env.num_pegs :]
        in_goal = jnp.where(goal[..., 0], 0, jnp.where(goal.any(-1), 1, -1))
        steps = jax.vmap(functools.partial(remaining_on_star, env.size))(in_goal)

        to_go = jnp.einsum("bcs,sc->bs", pegs.astype(jnp.float32), distances(env)) / (env.num_pegs * env.size)
        x = jnp.concatenate([planes.reshape(batch, -1).astype(jnp.float32), to_go], axis=1)
        for width in self.hidden_sizes:
            x = ACTIVATIONS[self.activation](nn.Dense(width, kernel_init=orthogonal())(x))
        return jnp.concatenate([x, steps, occupied.astype(jnp.float32), blocked.astype(jnp.float32)], axis=1)


class HopsHeads(nn.Module):
    """The heads: the features of `HopsEncoder` -> logits float32[B, num_actions], values float32[B]."""

    env: ChineseCheckers
    hops: int
    steepness: float
    center: float
    next_turn: float

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        env, num_cells = self.env, self.env.num_cells
        x = features[:, : -3 * num_cells]
        steps, occupied, blocked = jnp.split(features[:, -3 * num_cells :], 3, axis=1)
        start = nn.initializers.constant
        steepness = self.param("steepness", start(self.steepness), (), jnp.float32)
        center = self.param("center", start(self.center), (), jnp.float32)
        next_turn = self.param("next_turn", start(self.next_turn), (), jnp.float32)
        q, r = tables(env.size).axial.T
        off_middle = abs(q + r / 2).astype(np.float32)  # columns between a cell and the line from home to goal
        worth = nn.Dense(num_cells, kernel_init=small())(x) - steepness * (steps + center * off_middle)
        direct = nn.Dense(env.num_actions, kernel_init=small())(x)
        value = nn.Dense(1, kernel_init=small())(x)[:, 0]
        hops = can_hop(env.size, occupied.T > 0, blocked.T > 0)
        plan = worth.T + next_turn * (reach_of(env.size, hops, worth.T, self.hops) - worth.T)
        reach = reach_of(env.size, hops, plan, self.hops)
        gains = jnp.stack(targets(env.size, hops, plan, reach)) - plan  # any number where a move is not legal
        planned = gains.transpose(2, 1, 0).reshape(x.shape[0], -1)
        return direct + jnp.pad(planned, ((0, 0), (0, 1))), value


def reach_of(size: int, hops: Sequence[jax.Array], worth: jax.Array, longest: int) -> jax.Array:
    """Returns float32[cells, B], the largest of `worth` (float32[cells, B]) within `longest` hops from each cell."""
    return jnp.take_along_axis(worth, best_cell(size, hops, jax.lax.stop_gradient(worth), longest), axis=0)


def best_cell(size: int, hops: Sequence[jax.Array], worth: jax.Array, longest: int) -> jax.Array:
    """Returns int32[cells, B], the cell of the largest worth within `longest` hops from each cell.

    Worth and cell are one integer, so that one maximum finds both. The worth is rounded to 1 / WORTH_UNITS.
    """
    cells = jnp.arange(worth.shape[0], dtype=jnp.int32)[:, None]
    limit = MAX_WORTH * WORTH_UNITS
    rounded = jnp.clip(jnp.round(worth * WORTH_UNITS), -limit, limit).astype(jnp.int32)

    def longer(best: jax.Array, _: None) -> tuple[jax.Array, None]:
        chains = best
        for direction, can in enumerate(hops):
            arriving = ahead(size, HOP, direction, best)
            chains = jnp.maximum(chains, jnp.where(can, arriving, jnp.iinfo(jnp.int32).min))
        return chains, None

    best, _ = jax.lax.scan(longer, (rounded << CELL_BITS) | cells, length=longest)
    return best & (2**CELL_BITS - 1)


@functools.lru_cache
def distances(env: ChineseCheckers) -> np.ndarray:
    """Returns float32[num_players, cells], the distance from each cell to the far corner of each seat's goal.

    Seats are counted clockwise from the mover. With four seats, the triangles of the others depend on the mover: all
    but the mover have distance 0.
    """
    t = tables(env.size)
    difference = t.axial - t.axial[-1]
    own = hexagonal_distance(difference)
    if env.num_players == 4:
        return np.stack([own, *np.zeros((3, len(own)))]).astype(np.float32)
    turns = 6 // env.num_players
    of_seats = [own[t.rotated[-seat * turns % 6]] for seat in range(env.num_players)]
    return np.stack(of_seats).astype(np.float32)


def hops(
    env: Env[Any],
    hidden_sizes: tuple[int, ...] = (256, 256),
    activation: str = "tanh",
    hops: int = 4,
    steepness: float = 6.0,
    center: float = 0.2,
    next_turn: float = 0.3,
) -> Network:
    """Returns the network, for `chinese_checkers`.

    Args:
      hidden_sizes: widths of the dense layers.
      activation: of the dense layers.
      hops: the longest chain of hops that is planned.
      steepness: at the start, the worth of one step towards the goal, in nats of a logit.
      center: at the start, the steps towards the goal that are worth one column towards the middle line.
      next_turn: at the start, the share that counts of what a peg can gain by hops in the next turn.
    """
    board = game_for("hops", env, ChineseCheckers, "mlp or residual_mlp")
    check_choice("activation", activation, ACTIVATIONS)
    check_int("hops", hops, 0, MAX_SIZE)
    numbers: dict[str, Any] = {"steepness": steepness, "center": center, "next_turn": next_turn}
    for name, number in numbers.items():
        check_number(name, number, lowest=0, highest=MAX_WORTH)
    encoder = HopsEncoder(board, check_sizes("hidden_sizes", hidden_sizes), activation)
    return Network(encoder, HopsHeads(board, hops, float(steepness), float(center), float(next_turn)))


# -- the star in arrays of its cells, also for other networks ----------------------------------------------------------
# The cells are the first axis, so that whole blocks of memory move from cell to cell, by a step or a hop.


def opposite(direction: int) -> int:
    """Returns the direction that leads back."""
    return (direction + 3) % len(DIRECTIONS)


def cells_of(env: ChineseCheckers, observation: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns the planes of observations cell by cell, where a peg is, and where no peg can land.

    bool[B, side, side, planes] -> bool[B, cells, planes], bool[B, cells], bool[B, cells]. The planes are the pegs of
    each seat, the visited cells, and the peg that hops.
    """
    q, r = tables(env.size).axial.T + 2 * env.size
    places = q * (4 * env.size + 1) + r
    planes = observation.reshape(observation.shape[0], -1, observation.shape[-1])[:, places]
    occupied = planes[..., : env.num_players].any(-1)
    return planes, occupied, occupied | planes[..., env.num_players]


def ahead(size: int, distance: int, direction: int, x: jax.Array) -> jax.Array:
    """Returns each cell's entry of the cell at a distance in a direction: [cells, ...] -> [cells, ...].

    It is 0 outside of the star. The distance is STEP or HOP.
    """
    return take_cells(x, _cells_ahead(size, distance, direction), _cells_ahead(size, distance, opposite(direction)))


@functools.lru_cache
def _cells_ahead(size: int, distance: int, direction: int) -> tuple[int, ...]:
    t = tables(size)
    return tuple((t.neighbour if distance == STEP else t.beyond)[:-1, direction].tolist())


def can_hop(size: int, occupied: jax.Array, blocked: jax.Array) -> list[jax.Array]:
    """Returns, for each direction, whether a peg on a cell could hop: bool[cells, B].

    Args:
      occupied: bool[cells, B], the cells that can be hopped over.
      blocked: bool[cells, B], the cells on which no peg can land.
    """
    return [
        ahead(size, STEP, direction, occupied) & ahead(size, HOP, direction, ~blocked) for direction in ALL_DIRECTIONS
    ]


def targets(size: int, hops: Sequence[jax.Array], step: jax.Array, hop: jax.Array) -> list[jax.Array]:
    """Returns, for each direction, the entry of the cell to which a peg would go: [cells, B, ...].

    Args:
      hops: of `can_hop`.
      step: [cells, B, ...], the entries of cells to which a peg steps.
      hop: of the same shape, of cells to which it hops.
    """
    return [
        jnp.where(
            can.reshape(can.shape + (1,) * (step.ndim - 2)),
            ahead(size, HOP, direction, hop),
            ahead(size, STEP, direction, step),
        )
        for direction, can in enumerate(hops)
    ]
