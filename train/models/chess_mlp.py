"""A network for minichess that sees what each piece attacks, and scores a move by the cells that it joins.

    inputs     per cell: its piece, and how often each kind of piece of each side attacks it
    encoder    all cells side by side, residual dense layers
    cells      per cell: dense layer on its inputs and on the encoder's features, ReLU
    policy     (query of the cell that the piece leaves) . (key of the cell that it goes to), as in attention,
               plus a linear output of the encoder for every action
    value      linear

A dense layer on the pieces alone has to learn for every pair of cells and everything between them which piece attacks
what. Attacks are counted as the pieces stand, without pins and checks; a pawn attacks diagonally.

Everything is in the mover's frame: row 0 of the board is the mover's last rank.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_int
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess_board import (
    BISHOP,
    DIAGONAL,
    KING,
    KNIGHT,
    KNIGHT_JUMPS,
    NUM_PLANES,
    PAWN,
    QUEEN,
    ROOK,
    STRAIGHT,
    TARGET,
    Direction,
)
from train.models.action_cells import action_cells
from train.models.layers import (
    MAX_SIZE,
    DenseHeads,
    Network,
    check_dropout,
    check_single,
    game_for,
    orthogonal,
    residual_dense,
    small,
)

SIDE, CELLS, KINDS = 5, 25, 6
REACH = SIDE - 1  # cells that a sliding piece can go
LINES = {BISHOP: DIAGONAL, ROOK: STRAIGHT, QUEEN: DIAGONAL + STRAIGHT}
STEPS = {KNIGHT: KNIGHT_JUMPS, KING: DIAGONAL + STRAIGHT}


def attacks(pieces: jax.Array) -> jax.Array:
    """Returns how often each kind of piece of each side attacks each cell: float32[B, 5, 5, 12].

    Args:
      pieces: bool[B, 5, 5, 12], the mover's pawns, knights, bishops, rooks, queens and king, then the opponent's.
    """
    free = ~pieces.any(-1)
    counts: list[jax.Array] = []
    for side in range(2):
        for kind in range(KINDS):
            of_kind = pieces[..., side * KINDS + kind]
            if kind == PAWN:
                forward = -1 if side else 1
                reached = [moved(of_kind, (files, forward)) for files in (-1, 1)]
            elif kind in STEPS:
                reached = [moved(of_kind, step) for step in STEPS[kind]]
            else:
                reached = [along(of_kind, free, line) for line in LINES[kind]]
            counts.append(jnp.stack(reached).sum(0, dtype=jnp.float32))
    return jnp.stack(counts, axis=-1)


def moved(cells: jax.Array, direction: Direction) -> jax.Array:
    """Returns a set of cells bool[B, 5, 5] one step further; what leaves the board is gone."""
    files, ranks = direction
    padded = jnp.pad(cells, ((0, 0), (max(-ranks, 0), max(ranks, 0)), (max(files, 0), max(-files, 0))))
    top, left = max(ranks, 0), max(-files, 0)
    return padded[:, top : top + SIDE, left : left + SIDE]


def along(cells: jax.Array, free: jax.Array, direction: Direction) -> jax.Array:
    """Returns bool[B, 5, 5], the cells that sliding pieces reach in a direction: free cells and the first other one."""
    front = reached = moved(cells, direction)
    for _ in range(REACH - 1):
        front = moved(front & free, direction)
        reached |= front
    return reached


class ChessEncoder(nn.Module):
    """bool[B, 5, 5, 15] -> float32[B, 25 * 24 + width]: the inputs of the cells, and the features of the board."""

    width: int
    blocks: int
    dropout: float

    @nn.compact
    def __call__(self, observation: jax.Array, training: jax.Array | None = None) -> jax.Array:
        drop = nn.Dropout(self.dropout, deterministic=training is None)
        batch, pieces = observation.shape[0], observation[..., : 2 * KINDS]
        cells = jnp.concatenate([pieces.astype(jnp.float32), attacks(pieces)], axis=-1).reshape(batch, -1)
        flags = observation[:, 0, 0, 2 * KINDS :].astype(jnp.float32)
        board = residual_dense(jnp.concatenate([cells, flags], axis=-1), self.width, self.blocks, drop)
        return jnp.concatenate([cells, board], axis=-1)


class ChessHeads(nn.Module):
    """The features of `ChessEncoder` -> logits float32[B, num_actions], values float32[B]."""

    env: Minichess
    width: int  # of a cell

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        cells, board = jnp.split(features, [4 * KINDS * CELLS], axis=-1)
        of_board = nn.Dense(self.width, kernel_init=orthogonal())(board)[:, None]
        of_cells = nn.Dense(self.width, kernel_init=orthogonal())(cells.reshape(-1, CELLS, 4 * KINDS))
        x = nn.relu(of_cells + of_board)
        query, key = nn.Dense(self.width, kernel_init=small())(x), nn.Dense(self.width, kernel_init=orthogonal())(x)
        of_pairs = jnp.einsum("bfw,btw->bft", query, key) / np.sqrt(self.width)
        origin, target = cells_of_actions(self.env)
        of_moves = of_pairs[:, origin, target] * (target >= 0)
        logits, value = DenseHeads(self.env.num_actions)(board)
        return logits + of_moves, value


def cells_of_actions(env: Minichess) -> tuple[np.ndarray, np.ndarray]:
    """Returns the cells that each action joins, int[num_actions] twice: rows of the observation side by side.

    The second one is -1 for an action that leads off the board.
    """
    found = action_cells(env)
    assert found is not None
    cell, plane = np.divmod(np.arange(env.num_actions), NUM_PLANES)
    file, rank = np.divmod(TARGET[cell, plane], SIDE)
    return found.cell, np.where(TARGET[cell, plane] < 0, -1, (SIDE - 1 - rank) * SIDE + file)


def chess_mlp(
    env: Env[Any],
    hidden_sizes: int | tuple[int, ...] = 256,
    blocks: int = 3,
    cell_width: int = 64,
    dropout: float = 0.0,
) -> Network:
    """Returns the network, for `minichess`.

    Args:
      hidden_sizes: width of the layers of the board.
      blocks: number of residual blocks.
      cell_width: width of the layers of a cell.
      dropout: probability that a unit of the board is dropped in the update. The parameters do not depend on it.
    """
    game = game_for("chess_mlp", env, Minichess, "residual_mlp")
    check_int("blocks", blocks, 1, MAX_SIZE)
    check_int("cell_width", cell_width, 1, MAX_SIZE)
    encoder = ChessEncoder(check_single("hidden_sizes", hidden_sizes), blocks, check_dropout(dropout))
    return Network(encoder, ChessHeads(game, cell_width), training_mode=("encoder",) if dropout else ())
