"""Openings: positions from which games begin, so that deterministic agents play more than one game.

`random` has random openings and what an opening is, `lists` the fixed lists by name, `ballots` the ballots of checkers,
and `placements` random placements of minichess.
"""

from jaxgames.arena.openings.ballots import three_move_ballots
from jaxgames.arena.openings.lists import load_openings
from jaxgames.arena.openings.placements import random_placements
from jaxgames.arena.openings.random import (
    MAX_PLIES,
    Openings,
    openings_of_boards,
    openings_of_moves,
    random_openings,
)

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
