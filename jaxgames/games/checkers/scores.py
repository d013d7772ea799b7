"""Greedy scores of checkers: the value of the captured piece, and what a man gains that is crowned."""

import jax
import jax.numpy as jnp

from jaxgames.games.checkers.rules import KING_ROW, Checkers, CheckersState, shift, unpack

MAN_VALUE, KING_VALUE = 2, 3


def scores(env: Checkers, state: CheckersState) -> jax.Array:
    """Returns float32[128], the value of what each move captures or crowns."""
    men, opponent_kings = state.own & ~state.kings, state.opponents & state.kings
    captures: list[jax.Array] = []  # four sets each, by direction the squares from which a move does this
    captures_king: list[jax.Array] = []
    crowns: list[jax.Array] = []
    for back in (2, 3, 0, 1):  # the direction opposite to 0, 1, 2, 3
        over_opponent = shift(state.opponents, back)
        captures.append(over_opponent)
        captures_king.append(shift(opponent_kings, back))
        by_step, by_jump = shift(KING_ROW, back), shift(shift(KING_ROW, back), back)
        crowns.append(men & (over_opponent & by_jump | ~over_opponent & by_step))
    extra = KING_VALUE - MAN_VALUE
    return MAN_VALUE * unpack(captures) + extra * (unpack(captures_king) + unpack(crowns).astype(jnp.float32))
