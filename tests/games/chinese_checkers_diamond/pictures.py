"""Positions of Chinese Checkers on the diamond as drawings, for the tests of the rules.

They are drawn as n rows of n cells, as they are written; on the board of size 5 the cells are numbered

     0  1  2  3  4
     5  6  7  8  9
    10 11 12 13 14       the neighbours of 12: 7 and 8 above, 11 and 13 beside, 16 and 17 below
    15 16 17 18 19
    20 21 22 23 24

Seat 0 starts in the corner of 0 and wants to fill the corner of 24.
"""

import functools
from typing import Any

import jax

import jaxgames
from jaxgames import Env
from tests.helpers.positions import legal

# The numbers of pieces whose homes fit on a board of each size.
FITTING = {2: [1], 3: [1, 3], 4: [1, 3, 6]} | {size: [1, 3, 6, 10] for size in range(5, 10)}


@functools.cache
def game(size: int = 5, pieces: int = 3, **parameters: Any) -> Env[Any]:
    return jaxgames.make("chinese_checkers_diamond", size=size, pieces=pieces, **parameters)


def written(picture: str, seat: int = 0, ply: int = 0) -> str:
    """The text of a drawn position."""
    return f"{'/'.join(''.join(row.split()) for row in picture.strip().splitlines())} {seat} {ply}"


def read(env: Env[Any], picture: str, seat: int = 0, ply: int = 0) -> Any:
    """The state that a picture shows, on the host."""
    return jax.device_get(env.from_string(written(picture, seat, ply)))


def legal_from(env: Env[Any], state: Any, origin: int) -> set[str]:
    """The legal moves of one piece in notation."""
    return {text for text in legal(env, state) if text.startswith(f"{origin}>")}


def moves(origin: int, *targets: int) -> set[str]:
    return {f"{origin}>{target}" for target in targets}
