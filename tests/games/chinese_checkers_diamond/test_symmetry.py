"""A mirrored board, and one with the seats exchanged, are played alike."""

from typing import Any

import chex
import jax
import numpy as np
import pytest

import jaxgames
from tests.games.chinese_checkers_diamond.cases import make_reference
from tests.games.chinese_checkers_diamond.whole_games import BOARDS, CROWDED, PLAYED, crowd, slow
from tests.helpers.positions import Look, batched, board, read_all

Texts = list[str]


def looks(env: Any, texts: Texts) -> tuple[Look, np.ndarray]:
    """Returns the observations of the boards, and which of them are terminated."""
    states = read_all(env, texts)
    parts = [batched(env).look(board(states, slice(i, i + BOARDS))) for i in range(0, len(texts), BOARDS)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *jax.device_get(parts)), states.terminated


def mirrored(text: str) -> str:
    """Rows and columns exchanged."""
    rows, *rest = text.split()
    return " ".join(["/".join(map("".join, zip(*rows.split("/"), strict=True))), *rest])


def exchanged(text: str) -> str:
    """The board rotated by 180 degrees, every piece and the turn given to the other seat."""
    rows, seat, ply = text.split()
    return f"{rows[::-1].translate(str.maketrans('01', '10'))} {1 - int(seat)} {ply}"


@pytest.mark.parametrize("env", [slow(PLAYED[2]), PLAYED[3], slow(CROWDED[0]), CROWDED[3]])
def test_mirrored_board_and_exchanged_seats_are_played_alike(env: str) -> None:
    made: Any = jaxgames.make(env)
    rng, cells = np.random.default_rng(0), made.size**2
    reference = make_reference(made)
    texts = [crowd(rng, reference) for _ in range(2 * BOARDS)]
    look, over = looks(made, texts)
    assert 0 < np.count_nonzero(over) < len(texts)

    other, other_over = looks(made, [mirrored(text) for text in texts])
    order = np.arange(cells).reshape(made.size, made.size).T.ravel()
    masks = look.mask.reshape(-1, cells, cells)[:, order][:, :, order]
    np.testing.assert_array_equal(masks.reshape(look.mask.shape), other.mask)
    np.testing.assert_array_equal(look.seats.swapaxes(2, 3), other.seats)
    np.testing.assert_array_equal(over, other_over)

    other, other_over = looks(made, [exchanged(text) for text in texts])
    chex.assert_trees_all_equal(look, other._replace(seats=other.seats[:, ::-1]))
    np.testing.assert_array_equal(over, other_over)
