"""Random legal placements of 5 x 5 chess, from which games can begin instead of the start.

    boards = random_placements(env, 1000, seed=0)         # a batch of live states

Each side has its king, and the same number of other pieces, from 1 to all 9: a random subset of those with which the
env's `board` begins. So the sides can have different pieces. All stand on random cells, pawns on none of the first
and last rank. The seat to move is random.

A placement is legal if the side that is not to move is not in check: it could not have left its king there. That holds
for both values of the env's `rules`. So under "king_capture" nobody captures a king with the first move. The mover can
be in check. Placements that are over are left out.
"""

import functools
from typing import Any

import jax
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.games.minichess.board import CELL_SET, Position, legal_masks
from jaxgames.games.minichess.rules import BOARDS, LETTERS, Minichess, MinichessState

CANDIDATES = 512  # placements that are checked at once; about half of them are legal
MAX_OTHERS = 9  # pieces of a side besides its king
PAWN, KING = 1, 6


def random_placements(env: Env[Any], count: int, seed: int = 0) -> MinichessState:
    """Returns live boards of minichess, leaves with a leading axis of `count`, on the host.

    Placement i depends only on the seed and on i: a longer list begins with the shorter one.

    Raises ParameterError (a ValueError) for another game, and ValueError for a count below 1.
    """
    if not isinstance(env, Minichess):
        raise ParameterError(f"random placements are of minichess, not of {env}")
    if count < 1:
        raise ValueError(f"the number of placements must be at least 1, not {count}")
    generator, found, parts = np.random.default_rng(seed), 0, list[Any]()
    while found < count:
        black = generator.integers(2, size=CANDIDATES, dtype=np.int32)
        content = np.stack([_candidate(env.board, bool(is_black), generator) for is_black in black])
        boards, allowed = jax.device_get(_read(env, _positions(content), black))
        rows = np.flatnonzero(allowed)
        parts.append(jax.tree.map(lambda leaf, rows=rows: leaf[rows], boards))
        found += len(rows)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


def _candidate(board: str, black: bool, generator: np.random.Generator) -> np.ndarray:
    """Returns int[25] by cells, 1..6 the mover's P N B R Q K and -1..-6 the opponent's, legal or not."""
    content = np.zeros(25, int)
    number = int(generator.integers(1, MAX_OTHERS + 1))
    pieces: list[int] = []
    for sign in (1, -1):
        others = [LETTERS.index(letter) + 1 for letter in _others(board, black == (sign > 0))]
        pieces += [sign * kind for kind in (KING, *generator.permutation(others)[:number].tolist())]
    for piece in sorted(pieces, key=abs):  # pawns first, while their ranks have free cells
        free = content == 0
        if abs(piece) == PAWN:
            free &= ~np.isin(np.arange(25) % 5, (0, 4))
        content[generator.choice(np.flatnonzero(free))] = piece
    return content


def _others(board: str, black: bool) -> str:
    """Returns the letters of the pieces of Black or of White at the start, without the king, as capitals."""
    letters = [letter for letter in BOARDS[board] if letter.isalpha() and letter.islower() == black]
    return "".join(letters).upper().replace("K", "")


def _positions(content: np.ndarray) -> Position:
    """Returns int[N, 25] as positions, leaves uint32[N]."""

    def cells(where: np.ndarray) -> Any:
        return (where * CELL_SET).sum(-1, dtype=np.uint32)

    return Position(cells(content > 0), *(cells(abs(content) == kind) for kind in range(1, 7)))


@functools.partial(jax.jit, static_argnums=0)
def _read(env: Minichess, positions: Position, black: jax.Array) -> tuple[MinichessState, jax.Array]:
    """Returns the boards of positions in the mover's frame, and bool[N], those that are live and legal."""

    def read(position: Position, black: jax.Array) -> tuple[MinichessState, jax.Array]:
        state = env.placed(position, black)
        in_check = legal_masks(position.mirrored()).checkers != 0
        return state, ~(in_check | state.terminated | state.truncated)

    return jax.vmap(read)(positions, black)
