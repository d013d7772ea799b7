"""Sentences for people: whose turn it is, and how a game ended. The names of the seats are those of the pictures.

`people` are the seats that people play, as `people_of` returns them. One person is "you"; several people, and a game
between agents, are named.
"""

from collections.abc import Collection, Sequence
from typing import Any

from jaxgames.env import Env, Outcome
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.words import words_of
from jaxgames.render import seat_colours, seat_names

__all__ = ["ending", "ending_of", "people_of", "seat_colours", "seat_names", "turn_text"]


def people_of(seats: Sequence[str]) -> list[int]:
    """Returns the seats that people play; `seats` has "human" or the text of an agent for each seat."""
    return [seat for seat, text in enumerate(seats) if text == HUMAN]


def turn_text(env: Env[Any], mover: int, people: Collection[int] = ()) -> str:
    """Returns whose turn it is: "Your turn (Red)" for the only person, else "Blue to move"."""
    name = seat_names(env)[mover]
    return f"Your turn ({name})" if len(people) == 1 and mover in people else f"{name} to move"


def ending_of(session: Session) -> str:
    """Returns how the game of a session ended in the position that is shown; "" if it is not over."""
    if not session.over:
        return ""
    return ending(session.env, session.outcome, session.state, people_of(session.seats))


def ending(env: Env[Any], outcome: Outcome, state: Any = None, people: Collection[int] = ()) -> str:
    """Returns how a game ended, as in "You win 5 : 4", "You lost: checkmate", "White wins: Black resigned".

    Args:
      env: the game.
      outcome: its end, of any kind but "live".
      state: its last position, for the score of a game that counts points; None for a sentence without a score.
      people: the seats that people play.
    """
    you = next(iter(people)) if len(people) == 1 else None
    names, reason = seat_names(env), _reason(env, outcome, you)
    score = _score(env, outcome, state, you)
    why = f" {score}" if score else f": {reason}"
    if outcome.kind == "win":
        if you is None:
            winners = " and ".join(names[seat] for seat in outcome.winners)
            return f"{winners} {'wins' if len(outcome.winners) == 1 else 'win'}{why}"
        return f"You {'win' if you in outcome.winners else 'lost'}{why}"
    kinds = {"draw": "Draw", "truncated": "No winner", "forfeit": "The game is over"}
    return f"{kinds[outcome.kind]}{why}"


def _reason(env: Env[Any], outcome: Outcome, you: int | None) -> str:
    """Returns the reason of an outcome with names in place of seats."""
    reason = outcome.reason
    if reason == "no legal move" and outcome.kind == "win" and env.num_players == 2:
        reason = f"seat {1 - outcome.winners[0]} has no legal move"
    for seat, name in enumerate(seat_names(env)):
        if seat == you:
            reason = reason.replace(f"seat {seat} has", "you have")
        reason = reason.replace(f"seat {seat}", "you" if seat == you else name)
    return reason


def _score(env: Env[Any], outcome: Outcome, state: Any, you: int | None) -> str:
    """Returns the points of all seats, the person's or the winner's first; "" without points or for another end."""
    if state is None or outcome.kind not in ("win", "draw") or not state.terminated:  # the players have ended it
        return ""
    points = words_of(env).points(state)
    first = you if you is not None else (outcome.winners or (0,))[0]
    return " : ".join(map(str, points[first:] + points[:first]))
