"""Positions of checkers as drawings.

Boards are drawn as they are printed, Black (seat 0) on top and moving down; `b` and `w` are men, `B` and `W` kings.
The squares have PDN numbers:

    .  1  .  2  .  3  .  4
    5  .  6  .  7  .  8  .
    .  9  . 10  . 11  . 12
    13 . 14  . 15  . 16  .
    . 17  . 18  . 19  . 20
    21 . 22  . 23  . 24  .
    . 25  . 26  . 27  . 28
    29 . 30  . 31  . 32  .
"""

from typing import Any

import jax

import jaxgames
from jaxgames import Env

WCDF = jaxgames.make("checkers")
OPEN_SPIEL = jaxgames.make("checkers", draw_rule="openspiel")
BY_DRAW_RULE = {"wcdf": WCDF, "openspiel": OPEN_SPIEL}
ADJUDICATED = jaxgames.make("checkers", draw_rule="adjudicated")

START = """
    . b . b . b . b
    b . b . b . b .
    . b . b . b . b
    . . . . . . . .
    . . . . . . . .
    w . w . w . w .
    . w . w . w . w
    w . w . w . w .
"""


def written(picture: str, seat: int = 0, jumper: int | None = None) -> str:
    """The text of a drawn position; `jumper` is the square of the piece that must continue its capture."""
    rows = [row.split() for row in picture.strip().splitlines()]
    assert [len(row) for row in rows] == [8] * 8
    assert all(set(row[i % 2 :: 2]) == {"."} for i, row in enumerate(rows)), "a piece on a light square"
    letters = [letter for i, row in enumerate(rows) for letter in row[1 - i % 2 :: 2]]
    sides = {"w": list[str](), "b": list[str]()}
    for number, letter in enumerate(letters, start=1):
        if letter != ".":
            sides[letter.lower()].append(f"{'K' if letter.isupper() else ''}{number}")
    must = "" if jumper is None else f":J{jumper}"
    return f"{'BW'[seat]}:W{','.join(sides['w'])}:B{','.join(sides['b'])}{must}"


def drawn(picture: str, seat: int = 0, jumper: int | None = None) -> Any:
    """The state of a drawn position."""
    return read(WCDF, written(picture, seat, jumper))


def read(env: Env[Any], text: str) -> Any:
    """The state of a position in notation, on the host."""
    return jax.device_get(env.from_string(text))
