"""Symmetries of a game: permutations of its observations and actions that lead from a board to an equal one.

    chinese_checkers_diamond    the mirror (row, col) -> (col, row)
    dots_and_boxes              the rotations and mirrors of the rectangle (4) or of the square (8)
    chinese_checkers            for two seats, the mirror that exchanges left and right in the mover's frame
    minichess                   the mirror that exchanges left and right; there is no castling
    all other games             only the identity

On the star with more seats, a mirror would reverse the order of the turns. The squares of checkers have no mirror that
keeps the colour of a square and the direction of play. The first board of minichess is not its own image, so some
images occur in no game; the same rules hold for them.

A sample for training is equally true after each of the permutations.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers import board as chinese_checkers_board
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess import board as minichess_board


@dataclass(frozen=True, eq=False)
class Symmetries:
    """The symmetries of a game, the identity first. Row s is symmetry s."""

    source: np.ndarray
    """int32[num_symmetries, size of an observation]: place i of the new observation is place source[s, i] of the old
    one, both flattened."""
    action: np.ndarray
    """int32[num_symmetries, num_actions]: action a becomes action[s, a]."""

    def __len__(self) -> int:
        return len(self.action)

    def of_observations(self, which: jax.Array, observations: jax.Array) -> jax.Array:
        """Returns observations [B, ...], each after the symmetry which[i] (int32[B])."""
        flat = observations.reshape(observations.shape[0], -1)
        return jnp.take_along_axis(flat, jnp.asarray(self.source)[which], axis=1).reshape(observations.shape)

    def of_actions(self, which: jax.Array, actions: jax.Array) -> jax.Array:
        """Returns actions int32[B, K], each row after the symmetry which[i] (int32[B]); -1 stays -1."""
        moved = jnp.asarray(self.action)[which[:, None], jnp.maximum(actions, 0)]
        return jnp.where(actions < 0, actions, moved.astype(actions.dtype))

    def of_policies(self, which: jax.Array, policies: jax.Array) -> jax.Array:
        """Returns an entry for each action, [B, num_actions], each row after the symmetry which[i] (int32[B])."""
        return jnp.take_along_axis(policies, jnp.asarray(np.argsort(self.action, axis=1))[which], axis=1)


@functools.singledispatch
def symmetries(env: Env[Any]) -> Symmetries:
    """Returns the symmetries of a game; for a game that is not registered, only the identity.

    It is a `functools.singledispatch` on the class of the env. `symmetries.register` adds a game.
    """
    size = int(np.prod(env.observation_shape))
    return Symmetries(np.arange(size, dtype=np.int32)[None], np.arange(env.num_actions, dtype=np.int32)[None])


@symmetries.register
def _(env: ChineseCheckersDiamond) -> Symmetries:
    cells = np.arange(env.num_cells)
    mirrored = cells.reshape(env.size, env.size).T.ravel()
    origin, target = np.divmod(np.arange(env.num_actions), env.num_cells)
    maps = np.stack([cells, mirrored])
    return Symmetries(_of_planes(maps, planes=2), (maps[:, origin] * env.num_cells + maps[:, target]).astype(np.int32))


@symmetries.register
def _(env: DotsAndBoxes) -> Symmetries:
    height, width, planes = env.observation_shape
    grid = np.arange(height * width).reshape(height, width)
    turned = [grid, grid.T] if height == width else [grid]
    sources = np.stack(
        [flipped.ravel() for each in turned for flipped in (each, each[::-1], each[:, ::-1], each[::-1, ::-1])]
    )
    horizontal = [(2 * row, 2 * col + 1) for row in range(env.rows + 1) for col in range(env.cols)]
    vertical = [(2 * row + 1, 2 * col) for row in range(env.rows) for col in range(env.cols + 1)]
    row, col = np.array(horizontal + vertical).T
    place = row * width + col  # of each edge
    edge = np.full(height * width, -1)
    edge[place] = np.arange(env.num_edges)
    moved = np.argsort(sources, axis=1)  # the new place of each place
    return Symmetries(_of_planes(sources, planes), edge[moved[:, place]].astype(np.int32))


@symmetries.register
def _(env: ChineseCheckers) -> Symmetries:
    if env.num_players > 2:
        return symmetries.dispatch(object)(env)
    side = 4 * env.size + 1
    q, r = np.divmod(np.arange(side * side), side) - 2 * env.size * np.ones((2, 1), np.int64)
    mirrored_place = (-q - r + 2 * env.size) * side + (r + 2 * env.size)  # (q, r) -> (-q - r, r)
    inside = np.abs(q + r) <= 2 * env.size
    places = np.arange(side * side)
    sources = np.stack([places, np.where(inside, mirrored_place, places)])  # corners of the grid are off the star

    grid = chinese_checkers_board.tables(env.size).grid.ravel()
    cell_of_place = np.where(grid < env.num_cells, grid, -1)
    place_of_cell = np.empty(env.num_cells, np.int64)
    place_of_cell[cell_of_place[cell_of_place >= 0]] = np.flatnonzero(cell_of_place >= 0)
    cell, direction = np.divmod(np.arange(env.num_actions - 1), 6)
    mirrored_cell = cell_of_place[sources[1][place_of_cell[cell]]]
    mirrored = 6 * mirrored_cell + np.array([3, 2, 1, 0, 5, 4])[direction]
    actions = np.stack([np.arange(env.num_actions), np.append(mirrored, env.end_turn)])
    return Symmetries(_of_planes(sources, env.observation_shape[-1]), actions.astype(np.int32))


@symmetries.register
def _(env: Minichess) -> Symmetries:
    side, directions = 5, minichess_board.PLANES
    grid = np.arange(side * side).reshape(side, side)
    sources = np.stack([grid.ravel(), grid[:, ::-1].ravel()])  # of observations, a row of the grid is a rank
    mirrored_plane = [
        # Planes 0 to 8 are the underpromotions to three pieces, in three directions each.
        plane // 3 * 3 + directions.index((-files, ranks)) if plane < 9 else directions.index((-files, ranks), 9)
        for plane, (files, ranks) in enumerate(directions)
    ]
    mirrored_cell = grid[::-1].ravel()  # of actions, a row of the grid is a file
    mirrored = mirrored_cell[:, None] * len(directions) + np.array(mirrored_plane)
    actions = np.stack([np.arange(env.num_actions), mirrored.ravel()])
    return Symmetries(_of_planes(sources, env.observation_shape[-1]), actions.astype(np.int32))


def _of_planes(sources: np.ndarray, planes: int) -> np.ndarray:
    """Returns permutations int32[S, places * planes] of observations, from permutations of their places [S, places]."""
    return (sources[..., None] * planes + np.arange(planes)).reshape(len(sources), -1).astype(np.int32)
