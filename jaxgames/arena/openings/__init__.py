"""Openings: positions from which games begin, so that deterministic agents play more than one game.

`opening` has what an opening is and random ones, `lists` the fixed lists by name, `ballots` the ballots of checkers,
and `placements` random placements of minichess.
"""

from jaxgames.arena.openings.ballots import three_move_ballots
from jaxgames.arena.openings.lists import load_openings
from jaxgames.arena.openings.opening import (
    MAX_PLIES,
    Openings,
    openings_of_boards,
    openings_of_moves,
    random_openings,
)
from jaxgames.arena.openings.placements import random_placements

__all__ = [
    "MAX_PLIES",
    "Openings",
    "load_openings",
    "openings_of_boards",
    "openings_of_moves",
    "random_openings",
    "random_placements",
    "three_move_ballots",
]
