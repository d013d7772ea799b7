"""A game as the page shows it: everything is ready to be drawn, so the page needs no rules."""

import bisect
import math
from typing import Any

from jaxgames import render
from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.play import names as words
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web import allowed as offers
from jaxgames.play.web.live_games import House, Table, Thinking
from jaxgames.render.boards import drawing_of
from jaxgames.render.drawing import CELL
from jaxgames.render.theme import THEMES, Theme

RING = 0.48 * CELL  # the largest radius of the mark on a cell, in the units of a drawing
WIDTH = 400.0  # of the picture; the page stretches it


def theme(name: str) -> str:
    """Returns the name of a theme. Raises ParameterError unless it is one."""
    if name not in THEMES:
        raise ParameterError(f"theme must be one of {', '.join(THEMES)}, not {name[:20]!r}")
    return name


def view(table: Table, theme: str, known: int = 0) -> dict[str, Any]:
    """Returns what a page shows of a table. Call it in the thread of the rules.

    Its keys: `table`, `version`, `game`, `name`; `svg` (None for a game without pictures) or `text`; `cells`; `legal`,
    the moves of the mover; `history`, the submoves that the page does not have; `ply`, `plies`, `mover`, `over`,
    `seats`, `position`; `status`, a sentence; `thinking`, the agent that searches or None; `waits`, whether an agent is
    to move and waits for a person; `problem`, an error or ""; `saved`, the game as a file without its moves.

    Args:
      table: the table.
      theme: "light" or "dark".
      known: the `last` of the history that the page has, 0 for none.
    """
    # the event loop may change these meanwhile; the version is read first, so that a page asks again
    version, thinking, paused, problem = table.version, table.thinking, table.paused, table.problem
    session, names = table.session, words.seat_names(table.session.env)
    movers = session.movers()
    saved = session.saved().content()
    del saved["moves"]
    legal = session.legal()
    agent_to_move = not session.over and session.seats[session.mover] != HUMAN
    return {
        "table": table.id,
        "version": version,
        "game": str(session.env),
        "name": session.env.id.replace("_", " "),
        **_board(session, movers, theme),
        "legal": [move._asdict() for move in legal],
        "history": _history(session, movers, known),
        "ply": session.ply,
        "plies": session.plies,
        "mover": session.mover,
        "over": session.over,
        "seats": [
            {"name": name, "player": player, "colour": colour}
            for name, player, colour in zip(names, session.seats, _colours(session.env, THEMES[theme]), strict=True)
        ],
        "position": session.env.to_string(session.board),
        "status": _status(session, thinking, names, all(move.kind == "capture" for move in legal)),
        "thinking": None if thinking is None else thinking.agent,
        "waits": agent_to_move and thinking is None and (paused or session.ply < session.plies),
        "problem": problem,
        "saved": saved,
    }


async def hint(house: House, table: Table, agent: str) -> dict[str, Any]:
    """Returns what an agent thinks of the position that is shown: `moves`, `values` and their `range`.

    Raises ValueError if the game is over, for an agent that the page may not ask for, and for one that has no
    probabilities or fails.
    """
    offers.check_agent(house, agent)
    session = await house.rules.run(table.session.copy)
    thoughts = await house.agents.run(lambda: session.analyse(agent, house.agent))
    moves = [{"action": move.action, "text": move.text, "probability": share} for move, share in thoughts.moves]
    values = None if thoughts.values is None else list(thoughts.values)
    bounds = [abs(bound) for bound in session.env.return_range if math.isfinite(bound)]
    return {"moves": moves, "values": values, "range": max([*bounds, *map(abs, values or ()), 1e-6])}


# -- parts of a view -----------------------------------------------------------------------------------------------


def _history(session: Session, movers: list[int], known: int) -> dict[str, Any]:
    """Returns the submoves that follow those which a page has.

    Its keys: `begin`, the number of submoves of the page that stay; `after`, the serial number of the last one of them;
    `moves`, the submoves behind them; `last`, the serial number of the last one. Serial numbers are 0 where there is no
    submove. A page whose submove before `begin` has another number than `after` must ask for all of them.
    """
    serials = [0, *session.serials()]
    begin = bisect.bisect_right(serials, known) - 1
    moves = [
        {"text": text, "seat": seat, "serial": serial}
        for text, seat, serial in zip(session.moves()[begin:], movers[begin:], serials[begin + 1 :], strict=False)
    ]
    return {"begin": begin, "after": serials[begin], "moves": moves, "last": serials[-1]}


def _board(session: Session, movers: list[int], theme: str) -> dict[str, Any]:
    """Returns the picture and its cells; the text of the board for a game without pictures."""
    env, board = session.env, session.board
    if not render.has_pictures(env):
        return {"svg": None, "text": session.to_text(), "cells": []}
    ending = words.ending(env, session.outcome) if session.is_resigned else None
    picture = render.svg(env, board, last=_last_turn(session, movers), ending=ending, theme=theme, width=WIDTH)
    largest = RING * drawing_of(env)[1].scale
    cells = [
        {"name": name, **cell._asdict(), "radius": min(cell.radius, largest)}
        for name, cell in render.anchors(env, board).cells.items()
    ]
    return {"svg": picture.svg, "text": None, "cells": cells}


def _last_turn(session: Session, movers: list[int]) -> str | None:
    """Returns the submoves of the turn that led to the position that is shown, None at the start."""
    begin = session.ply
    while begin > 0 and movers[begin - 1] == movers[session.ply - 1]:
        begin -= 1
    return " ".join(session.moves()[begin : session.ply]) or None


def _status(session: Session, thinking: Thinking | None, names: list[str], only_captures: bool) -> str:
    """Returns a sentence: who is to move or is thinking, or how the game ended."""
    if session.over:
        return words.ending(session.env, session.outcome)
    name, player = names[session.mover], session.seats[session.mover]
    if thinking is not None:
        waits = ", after the search that was stopped has ended" if thinking.waits else ""
        compiles = "; its program is compiled first" if thinking.compiles else ""
        return f"{name}: {player} is thinking{waits}{compiles}"
    if player != HUMAN:
        return f"{name}: {player} is to move"
    played = f"{session.moves()[session.ply - 1]} was played. " if session.ply else ""
    captures = ". Only captures are legal" if only_captures else ""
    return f"{played}{name} to move{captures}"


def _colours(env: Env[Any], theme: Theme) -> list[str]:
    """Returns the colour of each seat's pieces."""
    if env.id in words.NAMES:
        return [side.fill for side in (theme.checkers if env.id == "checkers" else theme.minichess).sides]
    return [theme.seats[seat % len(theme.seats)] for seat in range(env.num_players)]
