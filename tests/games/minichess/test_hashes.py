"""The 64-bit hash of a position, by which the draw at its third occurrence is found."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.games.minichess.board import Position, hashed
from tests.helpers.positions import compiled, play

STANDARD = jaxgames.make("minichess")


def read(text: str) -> Any:
    """The state of a position in notation, on the host."""
    return jax.device_get(STANDARD.from_string(text))


def observed(state: Any) -> np.ndarray:
    """The mover's observation."""
    return np.asarray(compiled(STANDARD).look(state).mover)


def test_position_with_the_other_side_to_move_is_another() -> None:
    """White loses a move: the placement comes again after three plies, and after three more."""
    state = read("4k/5/5/5/KR2r w - - 0 1")
    for move in ["b1c1", "e5e4", "c1d1", "e4e5", "d1b1"]:
        state = play(STANDARD, state, move)
        assert not observed(state)[..., 13].any()
    assert STANDARD.to_string(state).startswith("4k/5/5/5/KR2r b")


def test_position_with_the_colours_swapped_is_another() -> None:
    """After three plies Black sees what White saw at the start."""
    before = read("k1r2/5/5/5/KR3 w - - 0 1")
    state = play(STANDARD, before, "b1d1", "c5b5", "d1c1")
    np.testing.assert_array_equal(observed(state)[..., :12], observed(before)[..., :12])
    assert not observed(state)[..., 13].any()


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
