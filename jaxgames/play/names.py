"""Seat names and result sentences shown to people, on the page and on still pages."""

from typing import Any

from jaxgames.env import Env, Outcome
from jaxgames.render import checkers, minichess

NAMES = {"checkers": checkers.SEAT_NAMES, "minichess": minichess.SEAT_NAMES}


def seat_names(env: Env[Any]) -> list[str]:
    """Returns the names of the seats, such as "Black" and "White" in checkers."""
    return list(NAMES.get(env.id, [f"Seat {seat}" for seat in range(env.num_players)]))


def ending(env: Env[Any], outcome: Outcome) -> str:
    """Returns how a game ended, as in "White wins: Black resigned"."""
    names, reason = seat_names(env), outcome.reason
    for seat, name in enumerate(names):
        reason = reason.replace(f"seat {seat}", name)
    if outcome.winners:
        return f"{' and '.join(names[seat] for seat in outcome.winners)} wins: {reason}"
    return f"Draw: {reason}" if outcome.kind == "draw" else f"The game is over: {reason}"
