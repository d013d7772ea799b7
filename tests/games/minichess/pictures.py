"""Positions of 5 x 5 chess as drawings.

Boards are drawn as White (seat 0) sees them, files a to e from the left and ranks 5 to 1 from the top; capitals are
White's pieces.
"""

import re
from typing import Any

import jax

import jaxgames
from jaxgames import Env

STANDARD = jaxgames.make("minichess")
KING_CAPTURE = jaxgames.make("minichess", rules="king_capture")

MATE = """
    k . . . .
    . . . . .
    K . . . .
    . . . . .
    . . . . R
"""
STALEMATE = """
    k . . . .
    . . . . .
    . K . . .
    . . Q . .
    . . . . .
"""


def written(picture: str, side: str = "w", quiet: int = 0, move: int = 1) -> str:
    """The FEN of a drawn position."""
    rows = "/".join("".join(row.split()) for row in picture.strip().splitlines())
    return f"{re.sub('[.]+', lambda gap: str(len(gap[0])), rows)} {side} - - {quiet} {move}"


def drawn(env: Env[Any], picture: str, side: str = "w", quiet: int = 0, move: int = 1) -> Any:
    """The state of a drawn position."""
    return read(env, written(picture, side, quiet, move))


def read(env: Env[Any], text: str) -> Any:
    """The state of a position in notation, on the host."""
    return jax.device_get(env.from_string(text))


def other_side(picture: str) -> str:
    """The drawing with the ranks mirrored and the colours swapped."""
    return "\n".join(row.swapcase() for row in picture.strip().splitlines()[::-1])
