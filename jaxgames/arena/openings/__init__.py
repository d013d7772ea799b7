"""Openings: random ones, fixed lists, ballots of checkers, and placements of minichess."""

from jaxgames.arena.openings.random import MAX_PLIES, Openings, openings_of_boards, openings_of_moves, random_openings

__all__ = [
    "MAX_PLIES",
    "Openings",
    "openings_of_boards",
    "openings_of_moves",
    "random_openings",
]
