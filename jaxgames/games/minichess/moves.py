"""The legal actions of minichess: a mask of them, and one drawn at random, from one word of bits for each cell.

Bit b < 25 of a word says that the piece on the cell may go to cell b. PAWN_BIT says that it is a pawn which may promote
to another piece than a queen. An action needs the bits NEEDED of the word of its origin.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import at
from jaxgames.bits import expanded
from jaxgames.games.minichess.board import BOARD, IS_UNDERPROMOTION, NEEDED, NUM_PLANES, PAWN_BIT, RANK, TARGET
from jaxgames.sampling import random_bit


def _actions() -> np.ndarray:
    """Returns int32[40, 25], the action of each word and bit in `random_action`; 0 for no action."""
    actions = np.zeros((40, 25), np.int32)
    for cell, plane in zip(*np.nonzero(TARGET >= 0), strict=True):
        word = 25 + plane // 3 * 5 + cell // 5 if IS_UNDERPROMOTION[plane] else cell
        actions[word, TARGET[cell, plane]] = NUM_PLANES * cell + plane
    return actions


ACTIONS = _actions()


def action_mask(words: jax.Array) -> jax.Array:
    """Returns bool[1225], the actions that the words of the cells, uint32[25], allow."""
    return expanded(lambda word, needed: (word & needed) == needed, words, NEEDED)


def random_action(key: jax.Array, words: jax.Array) -> jax.Array:
    """Returns int32[], an action of `action_mask` drawn uniformly."""
    before_last = words[3::5]  # the cells from which pawns promote
    under = jnp.where((before_last >> PAWN_BIT) != 0, before_last & RANK[4], 0)
    word, bit = random_bit(key, jnp.concatenate([words & BOARD, under, under, under]))
    return at(jnp.asarray(ACTIONS.ravel()), 25 * word + bit)
