"""The rules of the study's program, which its text does not tell: only White's pawns promote.

    jaxgames.make("examples.papers.alpha_mini.rules:only_white_promotes(double_step=True, max_plies=100)")

In the repository shiningsunnyday/mcts-chess, a pawn of White that enters its last rank becomes a queen. A pawn of Black
stays a pawn there and cannot move. A pawn on its second rank may go two cells. A game ends after 100 plies.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.games.minichess import GAME, Minichess, MinichessState
from jaxgames.games.minichess.board import BOARD, PAWN, QUEEN, RANK, VALUES, decode, mirror


@dataclass(frozen=True)
class OnlyWhitePromotes(Minichess):
    """`minichess` with king capture, in which only White's pawns promote, to queens."""

    id: ClassVar[str] = "only_white_promotes"
    rules: str = "king_capture"
    promotion: str = "queen"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rules != "king_capture" or self.promotion != "queen":
            raise jaxgames.ParameterError(f"{self.id} has rules=king_capture and promotion=queen: leave both out")

    def _step(self, state: MinichessState, action: jax.Array, key: jax.Array | None) -> MinichessState:
        after = super()._step(state, action, key)
        origin, needed, _ = decode(action)
        target = needed & BOARD
        is_black = state.current_player == 1
        stays = is_black & ((state.position.pawns & origin) != 0) & ((target & RANK[4]) != 0)
        cell = jnp.where(stays, mirror(target), 0)  # `after` is in White's frame
        position = dataclasses.replace(
            after.position, pawns=after.position.pawns | cell, queens=after.position.queens & ~cell
        )
        gain = jnp.float32((VALUES[QUEEN] - VALUES[PAWN]) / 1000) if self.reward == "material" else 0.0
        paid = jnp.where(stays, gain, 0.0) * np.array([1, -1], np.float32)
        return dataclasses.replace(after, position=position, rewards=after.rewards + paid)


jaxgames.register(jaxgames.Game(OnlyWhitePromotes.id, OnlyWhitePromotes, drawing=GAME.drawing, scores=GAME.scores))
