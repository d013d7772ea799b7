"""The turns of a game as the page lists and draws them: the plies of one turn are one line and one trail."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxgames.play.session import Session
from jaxgames.render import Cell

END_OF_TURN = "end"  # the ply that ends a chain of hops, which moves nothing
LEG = re.compile(r"(\w+)(=>|x)(\w+)")  # a hop or a capture: from a cell, over a piece, to a cell
ARROW = re.compile("=>|->|>")


class Turn(NamedTuple):
    """The plies that one seat has played in a row."""

    seat: int
    text: str  # as `written` joins the texts of the plies
    moves: tuple[str, ...]  # the texts of the plies
    ply: int  # the number of plies after it


def turns_of(session: Session) -> list[Turn]:
    """Returns the turns of all plies of a game."""
    numbered = zip(session.movers(), session.moves(), itertools.count(1), strict=False)
    turns: list[Turn] = []
    for seat, group in itertools.groupby(numbered, key=lambda ply: ply[0]):
        plies = list(group)
        texts = tuple(text for _, text, _ in plies)
        turns.append(Turn(seat, written(texts), texts, plies[-1][2]))
    return turns


def written(texts: Sequence[str]) -> str:
    """Returns the plies of a turn as one text for people: the hops 3=>16 and 16=>18 are 3→16→18.

    The end of a turn is left out; alone it is "end turn".
    """
    words: list[str] = []
    for text in texts:
        leg, before = LEG.fullmatch(text), words[-1] if words else ""
        if leg and re.search(rf"{leg[2]}{re.escape(leg[1])}$", before):
            words[-1] = f"{before}{leg[2]}{leg[3]}"
        elif text != END_OF_TURN:
            words.append(text)
    return ARROW.sub("→", " ".join(words)) or "end turn"


def trails(session: Session, turns: Sequence[Turn], cells: Mapping[str, Cell]) -> list[dict[str, Any]]:
    """Returns the seat and the path of the last turn of each seat but the mover's, as points of the picture.

    Only games of more than two seats have them: of two seats, the picture itself marks the last turn.
    """
    played = [turn for turn in turns if turn.ply <= session.ply]
    if session.env.num_players < 3:
        return []
    latest = {turn.seat: turn for turn in played[-session.env.num_players :]}
    found: list[dict[str, Any]] = []
    for turn in latest.values():
        names = turn.text.split("→")
        if turn.seat != session.mover and len(names) > 1 and all(name in cells for name in names):
            found.append({"seat": turn.seat, "points": [[cells[name].x, cells[name].y] for name in names]})
    return found
