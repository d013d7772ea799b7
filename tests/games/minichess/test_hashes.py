"""The 64-bit hash of a position, by which the draw at its third occurrence is found."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.games.minichess.board import Position, hashed
from tests.helpers.positions import compiled, play

STANDARD = jaxgames.make("minichess")


@pytest.mark.parametrize(
    ("position", "moves"),
    [
        # White loses a move: the placement comes again after five plies, with Black to move.
        ("4k/5/5/5/KR2r w - - 0 1", ["b1c1", "e5e4", "c1d1", "e4e5", "d1b1"]),
        # After three plies Black sees what White saw at the start.
        ("k1r2/5/5/5/KR3 w - - 0 1", ["b1d1", "c5b5", "d1c1"]),
    ],
)
def test_other_side_to_move_or_swapped_colours_make_another_position(position: str, moves: list[str]) -> None:
    state: Any = jax.device_get(STANDARD.from_string(position))
    for move in moves:
        state = play(STANDARD, state, move)
        assert not compiled(STANDARD).look(state).mover[..., 13].any()


def test_hashes_tell_positions_apart() -> None:
    """Boards that differ in one cell differ; each half alone collides no more often than 32 random bits."""
    rng = np.random.default_rng(0)
    cells = rng.integers(-6, 7, (200_000, 25)).astype(np.int8)
    cells[1::2] = cells[::2]
    rows = np.arange(1, 200_000, 2)
    cells[rows, rng.integers(0, 25, rows.size)] = rng.integers(-6, 7, rows.size)  # one cell differs
    cells = np.unique(cells, axis=0)
    bits = np.uint32(1) << np.arange(25, dtype=np.uint32)
    sets = [(cells > 0) @ bits, *((abs(cells) == kind) @ bits for kind in range(1, 7))]
    words = np.asarray(jax.jit(jax.vmap(hashed))(Position(*(jnp.asarray(s, jnp.uint32) for s in sets))))
    assert len(np.unique(words, axis=0)) == len(cells)
    expected = len(cells) ** 2 / 2**33  # pairs that collide by chance
    for half in words.T:
        assert len(cells) - len(np.unique(half)) < expected + 6 * expected**0.5 + 1
        counts = np.bincount(half >> 22, minlength=1024)  # and they are spread evenly
        assert ((counts - counts.mean()) ** 2).sum() / counts.mean() < 1400
