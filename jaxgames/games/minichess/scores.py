"""Greedy scores of minichess: the value of the captured piece, and what a pawn gains that is promoted."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.games.minichess.board import CELL_SET, NUM_PLANES, PAWN, QUEEN, TARGET, VALUES
from jaxgames.games.minichess.rules import Minichess, MinichessState


def _promotion_gains() -> np.ndarray:
    """Returns float32[25, 49], what a pawn gains by each action that leads to its last rank."""
    plane = np.arange(NUM_PLANES)
    becomes = np.where(plane < 9, 3 - plane // 3, QUEEN)
    to_last_rank = (TARGET >= 0) & (TARGET % 5 == 4)
    return np.where(to_last_rank, np.array(VALUES)[becomes] - VALUES[PAWN], 0).astype(np.float32)


PROMOTION_GAIN = _promotion_gains()


def scores(env: Minichess, state: MinichessState) -> jax.Array:
    """Returns float32[1225], the value of what each move captures or promotes."""
    position = state.position
    opponents = position.occupied & ~position.own
    on_cell = jnp.zeros(25, jnp.float32)  # the value of the opponent's piece on each cell
    for cells, value in zip(position.pieces, VALUES, strict=True):
        on_cell = jnp.where((CELL_SET & cells & opponents) != 0, value, on_cell)
    is_pawn = (CELL_SET & position.pawns & position.own) != 0
    return (on_cell[np.maximum(TARGET, 0)] + jnp.where(is_pawn[:, None], PROMOTION_GAIN, 0)).ravel()
