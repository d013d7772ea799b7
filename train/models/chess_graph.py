"""A graph network for minichess: the cells send messages along the moves of the pieces.

    inputs     per cell: its piece, how often each kind of piece of each side attacks it, its row, and its distance from
               the middle file; for the board: the three flags
    rounds     a cell gets messages of the cells that it is related to, of its own sort for each of RELATIONS; the board
               gets the mean and the maximum of the cells, and gives its state to all of them
    policy     (query of the cell that the piece leaves) . (key of the cell that it goes to), as in attention, plus an
               output of the first cell for every type of move
    value      from the mean and the maximum of the cells and the state of the board

A state is `width` numbers. It grows by the ReLU of a dense layer on itself and on what it gets, each after layer norm.
All cells share their layers, and files count from the middle, so a mirrored board has the mirrored logits.

Attacks are counted as the pieces stand, without pins and checks. Everything is in the mover's frame. Cells are numbered
row by row as in the observation, from the mover's last rank:

     0  1  2  3  4
     5  6  7  8  9
    10 11 12 13 14
    15 16 17 18 19
    20 21 22 23 24
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_int
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess.board import NUM_PLANES, PLACE, PLANES, TARGET
from train.models.layers import MAX_SIZE, FlatDense, Network, game_for, small

SIDE, CELLS, KINDS = 5, 25, 6  # kinds of pieces: P N B R Q K
RELATIONS = (  # between a cell and another one, in the order of the last axis of `relations`
    *("the mover's piece on it attacks the other", "the opponent's piece on it attacks the other"),
    *("the mover's piece on the other attacks it", "the opponent's piece on the other attacks it"),
    *("a bishop could go", "a rook could go", "a knight could go", "a king could go"),
)

ROW, COL = np.divmod(np.arange(CELLS), SIDE)
UP = ROW[:, None] - ROW  # [25, 25], ranks from a cell up to another one
ACROSS = np.abs(COL[:, None] - COL)  # files
DISTANCE = np.maximum(np.abs(UP), ACROSS)  # steps of a king
BISHOP_MOVES = ((np.abs(UP) == ACROSS) & (ACROSS > 0)).astype(np.float32)  # on an empty board
ROOK_MOVES = ((UP == 0) ^ (ACROSS == 0)).astype(np.float32)
KNIGHT_MOVES = (np.abs(UP) * ACROSS == 2).astype(np.float32)
KING_MOVES = (DISTANCE == 1).astype(np.float32)
PAWN_ATTACKS = [((ranks == UP) & (ACROSS == 1)).astype(np.float32) for ranks in (1, -1)]  # the mover's, the opponent's
MOVES = np.stack(  # float32[2, 6, 25, 25], of each kind of piece of each side
    [[pawn, KNIGHT_MOVES, BISHOP_MOVES, ROOK_MOVES, BISHOP_MOVES + ROOK_MOVES, KING_MOVES] for pawn in PAWN_ATTACKS]
)
PLACES = np.concatenate([np.eye(SIDE)[ROW], np.eye(3)[np.abs(COL - 2)]], axis=1).astype(np.float32)


# float32[25, 25 * 25], 1 where a cell is between two others, on a row, a column or a diagonal
ON_LINE = sum(line.T[:, :, None] * line[:, None] * line for line in (BISHOP_MOVES, ROOK_MOVES))
BETWEEN = (ON_LINE * (DISTANCE.T[:, :, None] + DISTANCE[:, None] == DISTANCE)).astype(np.float32).reshape(CELLS, -1)


def free_lines(pieces: jax.Array) -> jax.Array:
    """Returns float32[B, 25, 25], 1 for two cells without a piece between them.

    `pieces` is float32[B, 25, 12], 1 for the mover's pawn, knight, bishop, rook, queen or king, then the opponent's.
    """
    blocked = pieces.sum(-1) @ BETWEEN
    return (blocked == 0).astype(jnp.float32).reshape(-1, CELLS, CELLS)


def attacks(pieces: jax.Array, free: jax.Array) -> jax.Array:
    """Returns how often each kind of piece of each side attacks each cell: float32[B, 25, 12]."""
    counts = [
        jnp.einsum("bf,bft->bt", pieces[..., side * KINDS + kind], MOVES[side, kind] * free)
        for side, kind in np.ndindex(2, KINDS)
    ]
    return jnp.stack(counts, axis=-1)


def relations(pieces: jax.Array, free: jax.Array) -> jax.Array:
    """Returns float32[B, 25, 25, 8], 1 where one of RELATIONS holds between two cells."""
    of_sides = pieces.reshape(-1, CELLS, 2, KINDS)
    mover, opponent = (jnp.einsum("bfk,kft->bft", of_sides[:, :, side], MOVES[side]) * free for side in range(2))
    attackers = [jnp.swapaxes(mover, 1, 2), jnp.swapaxes(opponent, 1, 2)]
    lines = [BISHOP_MOVES * free, ROOK_MOVES * free]
    steps = [jnp.broadcast_to(moves, free.shape) for moves in (KNIGHT_MOVES, KING_MOVES)]
    return jnp.stack([mover, opponent, *attackers, *lines, *steps], axis=-1)


class ChessGraphEncoder(nn.Module):
    """The rounds of messages: bool[B, 5, 5, 15] -> float32[B, 26, width], the states of the cells and of the board."""

    width: int
    rounds: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        planes = observation.reshape(-1, CELLS, observation.shape[-1]).astype(jnp.float32)
        pieces, flags = planes[..., : 2 * KINDS], planes[:, 0, 2 * KINDS :]
        free = free_lines(pieces)
        places = jnp.broadcast_to(PLACES, (pieces.shape[0], *PLACES.shape))
        cells = FlatDense(self.width)(jnp.concatenate([pieces, attacks(pieces, free), places], axis=-1))
        board = FlatDense(self.width)(flags)
        related = relations(pieces, free).reshape(-1, CELLS, CELLS * len(RELATIONS))
        for _ in range(self.rounds):
            cells, board = Round(self.width)(cells, board, related)
        return nn.LayerNorm()(jnp.concatenate([cells, board[:, None]], axis=1))


class Round(nn.Module):
    """One round of messages, which returns the new states of the cells and of the board."""

    width: int

    @nn.compact
    def __call__(
        self,
        cells: jax.Array,  # float32[B, 25, width]
        board: jax.Array,  # float32[B, width]
        related: jax.Array,  # float32[B, 25, 25 * 8], 1 for the relations of a cell, other cell by other cell
    ) -> tuple[jax.Array, jax.Array]:
        normed, whole = nn.LayerNorm()(cells), nn.LayerNorm()(board)
        messages = FlatDense(self.width * len(RELATIONS))(normed).reshape(-1, CELLS * len(RELATIONS), self.width)
        received = related @ messages / 2  # a sum of several messages; / 2 keeps its size near that of one
        new = FlatDense(self.width)(normed) + FlatDense(self.width)(whole)[:, None] + received
        pooled = jnp.concatenate([whole, normed.mean(1), normed.max(1)], axis=-1)
        return cells + nn.relu(new), board + nn.relu(FlatDense(self.width)(pooled))


class ChessGraphHeads(nn.Module):
    """The heads: the states of `ChessGraphEncoder` -> logits float32[B, num_actions], values float32[B]."""

    @nn.compact
    def __call__(self, states: jax.Array) -> tuple[jax.Array, jax.Array]:
        width = states.shape[-1]
        cells, board = states[:, :CELLS], states[:, CELLS]
        hidden = nn.relu(FlatDense(2 * width)(cells) + FlatDense(2 * width)(board)[:, None])
        query, key = FlatDense(width)(hidden), FlatDense(width)(hidden)
        of_pairs = jnp.einsum("bfw,btw->bft", query, key) / width  # not / sqrt(width): first logits are small
        types = move_types()
        of_types = FlatDense(types.max() + 1)(hidden) / 4  # for the same reason
        origin, target = cells_of_actions()
        logits = jnp.where(target >= 0, of_pairs[:, origin, target], 0) + of_types[:, origin, np.tile(types, CELLS)]
        pooled = jnp.concatenate([cells.mean(1), cells.max(1), board], axis=-1)
        value = nn.Dense(1, kernel_init=small())(nn.relu(FlatDense(2 * width)(pooled)))
        return logits, value[:, 0]


def move_types() -> np.ndarray:
    """Returns the type of move of each plane of the actions, int[49]: mirrored moves have the same type."""
    promotions = [3 - plane // 3 if plane < 9 else 0 for plane in range(NUM_PLANES)]  # to rook, bishop, knight; others
    types = [(abs(files), ranks, piece) for (files, ranks), piece in zip(PLANES, promotions, strict=True)]
    numbers = sorted(set(types))
    return np.array([numbers.index(each) for each in types])


def cells_of_actions() -> tuple[np.ndarray, np.ndarray]:
    """Returns the cells that each action joins, int[num_actions] twice; the second is -1 off the board."""
    return np.repeat(PLACE, NUM_PLANES), np.where(TARGET < 0, -1, PLACE[TARGET]).ravel()


def chess_graph(env: Env[Any], rounds: int = 4, width: int = 64) -> Network:
    """Returns the network, for `minichess`.

    Args:
      rounds: rounds of messages.
      width: numbers in the state of a cell and of the board.
    """
    game_for("chess_graph", env, Minichess, "residual_mlp")
    check_int("rounds", rounds, 1, MAX_SIZE)
    check_int("width", width, 1, MAX_SIZE)
    return Network(ChessGraphEncoder(width, rounds), ChessGraphHeads())
