"""The third occurrence of a position is a draw; 64 bits of each position are compared."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.games.minichess.board import Position, hashed
from tests.games.minichess.pictures import STANDARD, drawn, read
from tests.helpers.positions import LIVE, TERMINATED, compiled, is_over, play, start

AROUND = """
    r n b q k
    . p p p p
    p . . . .
    P P P P P
    R N B Q K
"""


def observed(state: Any) -> np.ndarray:
    """The mover's observation."""
    return np.asarray(compiled(STANDARD).look(state).mover)


def test_third_occurrence_is_a_draw() -> None:
    """The planes 13 and 14 show the second and the third occurrence."""
    state = drawn(STANDARD, AROUND)
    for ply, move in enumerate(["b1c3", "b5c3", "b2c3", "e4e3", "a1b1", "a5b5", "b1a1", "b5a5"]):
        state = play(STANDARD, state, move)
        assert is_over(state) == LIVE
        assert bool(observed(state)[..., 13].any()) == (ply == 7)
    for ply, move in enumerate(["a1b1", "a5b5", "b1a1", "b5a5"]):
        assert observed(state)[..., 13].all()
        assert not observed(state)[..., 14].any()
        assert is_over(state) == LIVE
        state = play(STANDARD, state, move)
        assert is_over(state) == (TERMINATED if ply == 3 else LIVE)
    assert observed(state)[..., 13:].all()
    assert state.rewards.tolist() == [0, 0]


def test_start_of_the_game_is_the_first_occurrence() -> None:
    """Both knights go out and come home, twice."""
    state = start(STANDARD)
    for ply, move in enumerate(["b1a3", "b5c3", "a3b1", "c3b5"] * 2):
        assert is_over(state) == LIVE, ply
        state = play(STANDARD, state, move)
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


def test_position_with_the_other_side_to_move_is_another() -> None:
    """White loses a move: the placement comes again after three plies, and after three more."""
    picture = """
        . . . . k
        . . . . .
        . . . . .
        . . . . .
        K R . . r
    """
    state = drawn(STANDARD, picture)
    for move in ["b1c1", "e5e4", "c1d1", "e4e5", "d1b1"]:
        state = play(STANDARD, state, move)
        assert not observed(state)[..., 13].any()
    assert STANDARD.to_string(state).startswith("4k/5/5/5/KR2r b")


def test_position_with_the_colours_swapped_is_another() -> None:
    """After three plies Black sees what White saw at the start."""
    before = read(STANDARD, "k1r2/5/5/5/KR3 w - - 0 1")
    state = play(STANDARD, before, "b1d1", "c5b5", "d1c1")
    np.testing.assert_array_equal(observed(state)[..., :12], observed(before)[..., :12])
    assert not observed(state)[..., 13].any()


def test_position_after_a_promotion_is_the_first_of_its_kind() -> None:
    """A pawn becomes a queen: from there the third occurrence is a draw, and not a ply before."""
    picture = """
        . . . . .
        P . . . k
        . . . . .
        . . . . .
        K . . . .
    """
    state = play(STANDARD, drawn(STANDARD, picture), "a4a5q")
    for ply, move in enumerate(["e4e3", "a1b1", "e3e4", "b1a1"] * 2):
        assert is_over(state) == LIVE, ply
        state = play(STANDARD, state, move)
    assert is_over(state) == TERMINATED


def test_irreversible_move_empties_the_history() -> None:
    """No position before a capture or a pawn move can come again."""
    state = play(STANDARD, drawn(STANDARD, AROUND), "b1c3", "b5c3", "b2c3", "e4e3", "a1b1", "a5b5")
    assert (state.history != 0).all(0).sum() == 3
    state = play(STANDARD, state, "d2e3")
    assert (state.history != 0).all(0).sum() == 1
    assert int(state.occurred) == 0


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
