"""A network for minichess that sees what each piece attacks, reads every board together with its mirror image, and
scores a move by the cells that it joins.

    images     the board, and the board with left and right exchanged
    inputs     per cell: its piece, and how often each kind of piece of each side attacks it; the three flags
    encoder    per image: all inputs side by side, residual dense layers, each of which reads both images
    cells      per image and cell: dense layer on its inputs and on the encoder's features, ReLU
    policy     per image: (query of the cell that the piece leaves) . (key of the cell that it goes to), as in
               attention, plus a linear output of the encoder for every action; then the sum over the images, in which
               a move on the mirror image counts for the mirrored move
    value      per image: linear; the sum over the images

There is no castling, so the same rules hold for the mirror image of a position: it has the mirrored moves and the same
value. In play the outputs have this symmetry up to rounding, with any parameters; in the update dropout breaks it. So
what is learned from a position holds for its mirror image, too.

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
from train.ops.symmetries import symmetries

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


class JoinedImages(nn.Module):
    """A dense layer that reads both images of a board: float32[B, 2, features] -> float32[B, 2, width].

    An output is A (its image) + B (the other image) + bias, so exchanged images have exchanged outputs. With dense
    layers E of the sum and O of the difference, A = (E + O) / 2 and B = (E - O) / 2: two products in place of four.
    """

    width: int
    kernel_init: nn.initializers.Initializer

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        total, difference = sum_and_difference(images[:, 0], images[:, 1])
        even = nn.Dense(self.width, kernel_init=self.kernel_init)(total)
        odd = nn.Dense(self.width, use_bias=False, kernel_init=self.kernel_init)(difference)
        return jnp.stack(sum_and_difference(even, odd), axis=1)


def sum_and_difference(first: jax.Array, second: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the sum and the difference, scaled so that both together keep their length; it is its own inverse."""
    return (first + second) * np.sqrt(0.5), (first - second) * np.sqrt(0.5)


class ChessEncoder(nn.Module):
    """bool[B, 5, 5, 15] -> float32[B, 2, 25 * 24 + width], per image: the inputs of the cells, and its features."""

    width: int
    blocks: int
    dropout: float

    @nn.compact
    def __call__(self, observation: jax.Array, training: jax.Array | None = None) -> jax.Array:
        drop = nn.Dropout(self.dropout, deterministic=training is None)
        batch, pieces = observation.shape[0], observation[..., : 2 * KINDS]
        board = jnp.concatenate([pieces.astype(jnp.float32), attacks(pieces)], axis=-1)
        cells = jnp.stack([board, board[:, :, ::-1]], axis=1).reshape(batch, 2, -1)
        flags = jnp.repeat(observation[:, :1, 0, 2 * KINDS :].astype(jnp.float32), 2, axis=1)
        inputs = jnp.concatenate([cells, flags], axis=-1)
        features = residual_dense(inputs, self.width, self.blocks, drop, JoinedImages)
        return jnp.concatenate([cells, features], axis=-1)


class ChessHeads(nn.Module):
    """The outputs of `ChessEncoder` -> logits float32[B, num_actions], values float32[B]."""

    env: Minichess
    width: int  # of a cell

    @nn.compact
    def __call__(self, encoded: jax.Array) -> tuple[jax.Array, jax.Array]:
        cells, features = jnp.split(encoded, [4 * KINDS * CELLS], axis=-1)
        of_image = nn.Dense(self.width, kernel_init=orthogonal())(features)[:, :, None]
        of_cells = nn.Dense(self.width, kernel_init=orthogonal())(cells.reshape(-1, 2, CELLS, 4 * KINDS))
        x = nn.relu(of_cells + of_image)
        query, key = nn.Dense(self.width, kernel_init=small())(x), nn.Dense(self.width, kernel_init=orthogonal())(x)
        of_pairs = jnp.einsum("bifw,bitw->bift", query, key) / np.sqrt(self.width)
        origin, target = cells_of_actions(self.env)
        of_moves = of_pairs[:, :, origin, target] * (target >= 0)
        logits, values = DenseHeads(self.env.num_actions)(features)
        logits = logits + of_moves
        _, mirrored = symmetries(self.env).action
        return logits[:, 0] + logits[:, 1, mirrored], values.sum(axis=1)


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
      hidden_sizes: width of the layers of the encoder.
      blocks: number of residual blocks.
      cell_width: width of the layers of a cell.
      dropout: probability that a unit of the encoder is dropped in the update. The parameters do not depend on it.
    """
    game = game_for("chess_mlp", env, Minichess, "residual_mlp")
    check_int("blocks", blocks, 1, MAX_SIZE)
    check_int("cell_width", cell_width, 1, MAX_SIZE)
    encoder = ChessEncoder(check_single("hidden_sizes", hidden_sizes), blocks, check_dropout(dropout))
    return Network(encoder, ChessHeads(game, cell_width), training_mode=("encoder",) if dropout else ())
