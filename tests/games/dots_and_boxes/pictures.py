"""Positions of Dots and Boxes as people draw them, for the tests of the rules.

The edges of 2 x 3 boxes are numbered

    *- 0-*- 1-*- 2-*
    9   10   11   12
    *- 3-*- 4-*- 5-*
   13   14   15   16
    *- 6-*- 7-*- 8-*

A box that is taken has its owner's seat in it.
"""

import functools
import textwrap
from typing import Any

import jax

import jaxgames
from jaxgames import Env

REWARDS = ["win_loss", "margin", "boxes"]


@functools.cache
def game(rows: int = 2, cols: int = 3, reward: str = "win_loss") -> Env[Any]:
    return jaxgames.make("dots_and_boxes", rows=rows, cols=cols, reward=reward)


def written(picture: str, seat: int = 0) -> str:
    """The text of a drawn position: dots four columns apart, edges between them, owners in the middle of boxes."""
    lines = textwrap.dedent(picture).strip().splitlines()
    lines = [line.ljust(len(lines[0])) for line in lines]
    dots, between = lines[::2], lines[1::2]
    cols = dots[0].count("*") - 1
    horizontal = [line[4 * c + 1 : 4 * c + 4] == "---" for line in dots for c in range(cols)]
    vertical = [line[4 * c] == "|" for line in between for c in range(cols + 1)]
    owners = "".join(line[4 * c + 2] for line in between for c in range(cols)).replace(" ", ".")
    return f"{''.join('01'[drawn] for drawn in horizontal + vertical)} {owners} {seat}"


def read(env: Env[Any], picture: str, seat: int = 0) -> Any:
    """The state that a picture shows, on the host."""
    return jax.device_get(env.from_string(written(picture, seat)))
