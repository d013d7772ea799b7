"""The cell of the observed board that each action belongs to: for policy heads on cells, and for symmetries.

    chinese_checkers             a peg's cell; planes are its six directions; the end of a turn has no cell
    chinese_checkers_diamond     the cell that a piece goes to; planes are the cells that it comes from
    minichess                    the piece's cell; planes are the 49 kinds of moves
    dots_and_boxes               the edge; one plane
    checkers                     the piece's square; planes are its four directions

A head with `num_planes` outputs per cell has one output for every action with a cell. A game of a user's own gets such
a head by

    @train.ops.action_cells.action_cells.register
    def _(env: MyGame) -> ActionCells: ...
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from jaxgames import Env
from jaxgames.games.checkers import Checkers
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess.board import NUM_PLANES, PLACE


class ActionCells(NamedTuple):
    """The places of the actions in an array of shape [height, width, num_planes]."""

    cell: np.ndarray  # int[num_actions], row * width + column in the observation; -1 for an action without a cell
    plane: np.ndarray  # int[num_actions], apart for actions of one cell

    @property
    def num_planes(self) -> int:
        return int(self.plane.max()) + 1


@functools.singledispatch
def action_cells(env: Env[Any]) -> ActionCells | None:
    """Returns the cells of a game's actions, None for a game without them.

    It is a `functools.singledispatch` on the class of the env. `action_cells.register` adds a game.
    """
    return None


@action_cells.register
def _(env: Checkers) -> ActionCells:
    action = np.arange(env.num_actions)
    return ActionCells(cell=action // 4, plane=action % 4)


@action_cells.register
def _(env: ChineseCheckers) -> ActionCells:
    action, (q, r) = np.arange(env.num_actions - 1), tables(env.size).axial.T + 2 * env.size
    place = q * (4 * env.size + 1) + r
    return ActionCells(cell=np.append(place[action // 6], -1), plane=np.append(action % 6, 0))


@action_cells.register
def _(env: ChineseCheckersDiamond) -> ActionCells:
    origin, target = np.divmod(np.arange(env.num_actions), env.size**2)
    return ActionCells(cell=target, plane=origin)


@action_cells.register
def _(env: DotsAndBoxes) -> ActionCells:
    height, width, _ = env.observation_shape
    place = np.arange(height * width).reshape(height, width)
    cell = np.append(place[::2, 1::2], place[1::2, ::2])  # the horizontal edges, then the vertical ones
    return ActionCells(cell=cell, plane=np.zeros_like(cell))


@action_cells.register
def _(env: Minichess) -> ActionCells:
    origin, plane = np.divmod(np.arange(env.num_actions), NUM_PLANES)
    return ActionCells(cell=PLACE[origin], plane=plane)
