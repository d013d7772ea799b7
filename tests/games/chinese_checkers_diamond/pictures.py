"""Diamonds of the tests."""

import functools
from typing import Any

import jaxgames
from jaxgames import Env

# The numbers of pieces whose homes fit on a board of each size.
FITTING = {2: [1], 3: [1, 3], 4: [1, 3, 6]} | {size: [1, 3, 6, 10] for size in range(5, 10)}


@functools.cache
def game(size: int = 5, pieces: int = 3, **parameters: Any) -> Env[Any]:
    return jaxgames.make("chinese_checkers_diamond", size=size, pieces=pieces, **parameters)
