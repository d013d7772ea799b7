"""Positions of Chinese Checkers as drawings, for the tests of the rules.

They are on the board of size 2, whose cells are numbered

                     0
                   1   2
       3   4   5   6   7   8   9
        10  11  12  13  14  15
          16  17  18  19  20
        21  22  23  24  25  26
      27  28  29  30  31  32  33
                  34  35
                    36

Seat 0 starts on the top triangle and wants to fill 34, 35, 36.
"""

import functools
from typing import Any

import jax

import jaxgames
from jaxgames import Env

PLAYERS = [2, 3, 4, 6]
REWARDS = ["sparse", "goal", "movement", "positive_sum", "win_loss"]

START = {
    2: """
                 0
                0 0
          . . . . . . .
           . . . . . .
            . . . . .
           . . . . . .
          . . . . . . .
                1 1
                 1
    """,
    3: """
                 0
                0 0
          . . . . . . .
           . . . . . .
            . . . . .
           2 . . . . 1
          2 2 . . . 1 1
                . .
                 .
    """,
    4: """
                 0
                0 0
          . . . . . 1 1
           . . . . . 1
            . . . . .
           3 . . . . .
          3 3 . . . . .
                2 2
                 2
    """,
    6: """
                 0
                0 0
          5 5 . . . 1 1
           5 . . . . 1
            . . . . .
           4 . . . . 2
          4 4 . . . 2 2
                3 3
                 3
    """,
}

CHAIN = """
             0
            0 .
      . . . . . . .
       . . . . . .
        1 . 0 . .
       . . 1 . . .
      . . . . . . .
            1 .
             .
"""

# The same after 18=>29.
IN_CHAIN = """
             0
            0 .
      . . . . . . .
       . . . . . .
        1 . . . .
       . . 1 . . .
      . . 0 . . . .
            1 .
             .
"""

# Seat 0 wins by 29->34, or by 24=>34.
WIN_BY_STEP = """
             1
            1 .
      . . . . . . .
       . . . . . .
        1 . . . .
       . . . . . .
      . . 0 . . . .
            . 0
             0
"""
WIN_BY_HOP = """
             1
            1 .
      . . . . . . .
       . . . . . .
        . . . . .
       . . . 0 . .
      . . 1 1 . . .
            . 0
             0
"""


@functools.cache
def game(**parameters: Any) -> Env[Any]:
    """An env, for two on the board of size 2 where nothing else is said."""
    return jaxgames.make("chinese_checkers", **{"size": 2, "num_players": 2} | parameters)


def written(picture: str, seat: int = 0, chain: str = "-", rounds: int = 0) -> str:
    """The text of a drawn position."""
    rows = "/".join("".join(row.split()) for row in picture.strip().splitlines())
    return f"{rows} {seat} {chain} {rounds}"


def read(env: Env[Any], picture: str, seat: int = 0, chain: str = "-", rounds: int = 0) -> Any:
    """The state that a picture shows, on the host."""
    return jax.device_get(env.from_string(written(picture, seat, chain, rounds)))


def upside_down(picture: str) -> str:
    """The board of two players from the other side, the seats exchanged."""
    return "\n".join(row[::-1] for row in picture.translate(str.maketrans("01", "10")).splitlines()[::-1])
