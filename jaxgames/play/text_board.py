"""The board in the terminal, from the side of the person who plays: `env.to_text` with names in place of seats.

The only person sits at the bottom: a board whose upper side is the person's is rotated by half a turn, with its numbers
and letters. Other seats, and games that have no upper side, are shown as `env.to_text` draws them.
"""

import re
import textwrap
from typing import Any

from jaxgames import render
from jaxgames.env import Env
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.words import ending_of, people_of, turn_text, words_of

WIDTH = 80  # of a line of text


def board_text(session: Session) -> str:
    """Returns the board of a session; at the end, the last line says how the game ended.

    While an agent is to move, the last line says which one. A person is asked by the prompt.
    """
    env, you = session.env, _you(session)
    *board, legend, _ = env.to_text(session.state).split("\n")
    if is_rotated(session):
        board = rotated(board)
    lines = [*board, _with_names(env, legend) if render.has_pictures(env) else legend]
    if session.over:
        return "\n".join([*lines, "", ending_of(session)])
    if you is not None and (goal := words_of(env).goal(env, you, is_rotated(session))):
        lines.append(textwrap.fill(goal, WIDTH))
    if session.seats[session.mover] != HUMAN:
        lines.append(turn_text(env, session.mover))
    return "\n".join(lines)


def is_rotated(session: Session) -> bool:
    """Returns whether the board is rotated: the only person plays the seat that is drawn on top."""
    return _you(session) is not None and words_of(session.env).upper_seat == _you(session)


def rotated(lines: list[str]) -> list[str]:
    """Returns lines of text rotated by half a turn, in which words are still read from left to right."""
    width = max(map(len, lines))
    turned: list[str] = []
    for line in reversed(lines):
        row = [" "] * width
        for word in re.finditer(r"\S+", line):
            row[width - word.end() : width - word.start()] = word[0]
        turned.append("".join(row).rstrip())
    return turned


def _you(session: Session) -> int | None:
    """Returns the seat of the only person; None if several people or none play."""
    people = people_of(session.seats)
    return people[0] if len(people) == 1 else None


def _with_names(env: Env[Any], text: str) -> str:
    """Returns a legend with the names of the seats in place of "seat 0"; once where it has them already."""
    for seat, name in enumerate(render.seat_names(env)):
        text = text.replace(f"seat {seat}, {name}", name).replace(f"seat {seat}", name)
    return text
