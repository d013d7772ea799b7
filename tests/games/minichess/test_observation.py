"""The planes that a network sees."""

import jax
import numpy as np
import pytest

from tests.games.minichess.pictures import STANDARD, drawn
from tests.helpers.positions import compiled


@pytest.mark.parametrize("side", ["w", "b"])
def test_observation_shows_the_pieces_as_the_viewer_sits(side: str) -> None:
    """[row from the top, file]; files are not mirrored. Own P N B R Q K, the opponent's, Black is to move."""
    picture = """
        k . . . r
        . p . . .
        . . n . B
        P . . . .
        . Q . . K
    """
    white = {0: (3, 0), 2: (2, 4), 4: (4, 1), 5: (4, 4)}
    black = {0: (1, 1), 1: (2, 2), 3: (0, 4), 5: (0, 0)}

    def expected(own: dict[int, tuple[int, int]], theirs: dict[int, tuple[int, int]], rotated: bool) -> np.ndarray:
        seen = np.zeros((5, 5, 15), bool)
        for first_plane, pieces in ((0, own), (6, theirs)):
            for kind, (row, file) in pieces.items():
                seen[4 - row if rotated else row, file, first_plane + kind] = True
        seen[..., 12] = side == "b"
        return seen

    look = jax.device_get(compiled(STANDARD).look(drawn(STANDARD, picture, side)))
    np.testing.assert_array_equal(look.seats[0], expected(white, black, False))
    np.testing.assert_array_equal(look.seats[1], expected(black, white, True))
