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
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess.board import PLANES
from train.ops.action_cells import action_cells


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
    grid = np.arange(env.num_cells).reshape(env.size, env.size)
    sources = np.stack([grid.ravel(), grid.T.ravel()])
    return of_boards(env, sources, planes=sources)


@symmetries.register
def _(env: DotsAndBoxes) -> Symmetries:
    height, width, _ = env.observation_shape
    grid = np.arange(height * width).reshape(height, width)
    turned = [grid, grid.T] if height == width else [grid]
    images = [image for each in turned for image in (each, each[::-1], each[:, ::-1], each[::-1, ::-1])]
    return of_boards(env, np.stack([image.ravel() for image in images]), np.zeros((len(images), 1), np.int32))


@symmetries.register
def _(env: ChineseCheckers) -> Symmetries:
    if env.num_players > 2:
        return symmetries.dispatch(object)(env)
    side = 4 * env.size + 1
    places = np.arange(side * side)
    q, r = np.divmod(places, side) - 2 * env.size * np.ones((2, 1), np.int64)
    mirrored = (-q - r + 2 * env.size) * side + (r + 2 * env.size)  # (q, r) -> (-q - r, r)
    inside = np.abs(q + r) <= 2 * env.size  # the other corners of the grid are off the star
    return of_boards(
        env, np.stack([places, np.where(inside, mirrored, places)]), np.array([range(6), [3, 2, 1, 0, 5, 4]])
    )


@symmetries.register
def _(env: Minichess) -> Symmetries:
    grid = np.arange(25).reshape(5, 5)
    mirrored = [
        # Planes 0 to 8 are the underpromotions to three pieces, in three directions each.
        plane // 3 * 3 + PLANES.index((-files, ranks)) if plane < 9 else PLANES.index((-files, ranks), 9)
        for plane, (files, ranks) in enumerate(PLANES)
    ]
    sources = np.stack([grid.ravel(), grid[:, ::-1].ravel()])
    return of_boards(env, sources, np.array([range(len(PLANES)), mirrored]))


def of_boards(env: Env[Any], sources: np.ndarray, planes: np.ndarray) -> Symmetries:
    """Returns the symmetries of a game whose actions have cells, see `train.ops.action_cells`.

    Args:
      sources: int[num_symmetries, places], permutations of the places of an observation: row by row, without planes.
      planes: int[num_symmetries, planes of the actions], the new plane of each.
    """
    cells = action_cells(env)
    assert cells is not None
    action = np.arange(env.num_actions)
    number = np.zeros((sources.shape[1], cells.num_planes), np.int32)  # of the action with a cell and a plane
    number[cells.cell[cells.cell >= 0], cells.plane[cells.cell >= 0]] = action[cells.cell >= 0]
    moved = np.argsort(sources, axis=1)  # the new place of each place
    actions = np.where(cells.cell < 0, action, number[moved[:, cells.cell], planes[:, cells.plane]])
    of_planes = np.arange(env.observation_shape[-1])
    source = (sources[..., None] * len(of_planes) + of_planes).reshape(len(sources), -1)
    return Symmetries(source.astype(np.int32), actions.astype(np.int32))
