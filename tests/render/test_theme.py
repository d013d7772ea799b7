"""The colours of seats look different, also to people with a colour vision deficiency."""

from itertools import combinations

import numpy as np
import pytest

from jaxgames.render.theme import THEMES

# Machado, Oliveira & Fernandes 2009, severity 1: linear RGB as dichromats see it.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """Returns the CIELAB coordinates of an sRGB colour as seen with that sight."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(sight @ linear, 0, 1) / np.array([0.9505, 1, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", THEMES)
def test_seats_and_empty_holes_differ_by_20_in_cielab(name: str, sight: str) -> None:
    """20 is about ten times a just noticeable difference."""
    theme = THEMES[name]
    for one, other in combinations([*theme.seats, theme.hole, theme.board], 2):
        if {one, other} != {theme.hole, theme.board}:
            assert np.linalg.norm(lab(one, SIGHT[sight]) - lab(other, SIGHT[sight])) > 20, (one, other)
