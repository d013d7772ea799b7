"""Swapping the colours changes nothing for the mover; mirroring the files mirrors its moves."""

import jax
import numpy as np

from tests.games.minichess.pictures import STANDARD
from tests.games.minichess.reference import mirrored_actions
from tests.helpers.positions import batched, board, random_actions, read_all, repeated, start

BOARDS = PLIES = 25  # BOARDS as in the games beside engines: one batch size to compile for


def positions() -> list[str]:
    """Texts of live positions of random games, as many as are one batch."""
    rng = np.random.default_rng(0)
    step, _, look = batched(STANDARD)
    states = repeated(start(STANDARD), BOARDS)
    texts: list[str] = []
    for _ in range(PLIES):
        states = jax.device_get(step(states, random_actions(rng, np.asarray(look(states).mask))))
        live = np.flatnonzero(~states.terminated)
        texts += [STANDARD.to_string(board(states, i)) for i in rng.choice(live, BOARDS // PLIES)]
    return texts


def test_colours_and_sides_of_the_board_are_alike() -> None:
    rng = np.random.default_rng(1)
    texts = positions()
    swapped: list[str] = []
    mirrored: list[str] = []
    for text in texts:
        rows, side, *rest = text.split()
        other = "/".join(row.swapcase() for row in rows.split("/")[::-1])
        swapped.append(" ".join([other, "wb"[side == "w"], *rest]))
        mirrored.append(" ".join(["/".join(row[::-1] for row in rows.split("/")), side, *rest]))
    boards, others, mirrors = (read_all(STANDARD, some) for some in (texts, swapped, mirrored))
    step, _, look = batched(STANDARD)
    seen, other, mirror = jax.device_get((look(boards), look(others), look(mirrors)))
    np.testing.assert_array_equal(other.mask, seen.mask)
    np.testing.assert_array_equal(other.mover[..., :12], seen.mover[..., :12])
    np.testing.assert_array_equal(other.mover[..., 12], ~seen.mover[..., 12])
    np.testing.assert_array_equal(mirror.mover, seen.mover[:, :, ::-1])

    reflection = mirrored_actions()
    possible = np.flatnonzero(reflection >= 0)
    np.testing.assert_array_equal(seen.mask[:, possible], mirror.mask[:, reflection[possible]])
    assert not seen.mask[:, reflection < 0].any()

    actions = random_actions(rng, seen.mask)
    after, other_after = jax.device_get((step(boards, actions), step(others, actions)))
    np.testing.assert_array_equal(after.rewards[:, ::-1], other_after.rewards)
    np.testing.assert_array_equal(after.terminated, other_after.terminated)
    np.testing.assert_array_equal(after.terminated, step(mirrors, reflection[actions].astype(np.int32)).terminated)
