"""A game as the page shows it: everything is ready to be drawn, so the page needs no rules."""

import math
from typing import Any

from jaxgames import render
from jaxgames._checks import ParameterError
from jaxgames.play import names
from jaxgames.play.agent_calls import analyse
from jaxgames.play.game_file import to_json
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web.allowed import check_agent
from jaxgames.play.web.live_games import GameServer, LiveGame, Thinking
from jaxgames.render.boards import drawing_of
from jaxgames.render.drawing import CELL
from jaxgames.render.theme import THEMES

RING = 0.48 * CELL  # the largest radius of the mark on a cell, in the units of a drawing
WIDTH = 400.0  # of the picture; the page stretches it


def theme(name: str) -> str:
    """Returns the name of a theme. Raises ParameterError unless it is one."""
    if name not in THEMES:
        raise ParameterError(f"theme must be one of {', '.join(THEMES)}, not {name[:20]!r}")
    return name


def view(game: LiveGame, theme: str) -> dict[str, Any]:
    """Returns what a page shows of a game. Call it in the thread of the rules.

    Its keys: `id`, `version`, `game`, `name`; `svg` (None for a game without pictures) or `text`; `cells`; `legal`, the
    moves of the mover; `moves`, the texts and seats of all plies; `ply`, `plies`, `mover`, `over`, `seats`, `position`;
    `status`, a sentence; `thinking`, the agent that searches or None; `waits`, whether an agent is to move and waits
    for a person; `problem`, an error or ""; `saved`, the game as a file.
    """
    # the event loop may change these meanwhile; the version is read first, so that a page asks again
    version, thinking, paused, problem = game.version, game.thinking, game.paused, game.problem
    session, seat_names = game.session, names.seat_names(game.session.env)
    movers, legal = session.movers(), session.legal()
    agent_to_move = not session.over and session.seats[session.mover] != HUMAN
    return {
        "id": game.id,
        "version": version,
        "game": str(session.env),
        "name": session.env.id.replace("_", " "),
        **_board(session, theme),
        "legal": [move._asdict() for move in legal],
        "moves": [{"text": text, "seat": seat} for text, seat in zip(session.moves(), movers, strict=False)],
        "ply": session.ply,
        "plies": session.plies,
        "mover": session.mover,
        "over": session.over,
        "seats": [
            {"name": name, "player": player, "colour": colour}
            for name, player, colour in zip(
                seat_names, session.seats, names.seat_colours(session.env, theme), strict=True
            )
        ],
        "position": session.env.to_string(session.state),
        "status": _status(session, thinking, seat_names, all(move.kind == "capture" for move in legal)),
        "thinking": None if thinking is None else thinking.agent,
        "waits": agent_to_move and thinking is None and (paused or session.ply < session.plies),
        "problem": problem,
        "saved": to_json(session),
    }


async def hint(server: GameServer, game: LiveGame, agent: str) -> dict[str, Any]:
    """Returns what an agent thinks of the position that is shown: `moves`, `values` and their `range`.

    Raises ValueError if the game is over, for an agent that the page may not ask for, and for an agent that has no
    probabilities or fails.
    """
    check_agent(server, agent)
    session = await server.rules.run(lambda: game.session.copy())
    thoughts = await server.agents.run(lambda: analyse(session, agent, server.agent))
    moves = [{"action": move.action, "text": move.text, "probability": share} for move, share in thoughts.moves]
    values = None if thoughts.values is None else list(thoughts.values)
    bounds = [abs(bound) for bound in session.env.return_range if math.isfinite(bound)]
    return {"moves": moves, "values": values, "range": max([*bounds, *map(abs, values or ()), 1e-6])}


# -- parts of a view -----------------------------------------------------------------------------------------------


def _board(session: Session, theme: str) -> dict[str, Any]:
    """Returns the picture and its cells; the text of the board for a game without pictures."""
    env, state = session.env, session.state
    if not render.has_pictures(env):
        return {"svg": None, "text": session.to_text(), "cells": []}
    ending = names.ending_of(session) if session.is_resigned else None
    picture = render.svg(env, state, last=_last_turn(session), ending=ending, theme=theme, width=WIDTH)
    largest = RING * drawing_of(env)[1].scale
    cells = [
        {"name": name, **cell._asdict(), "radius": min(cell.radius, largest)}
        for name, cell in render.anchors(env, state).cells.items()
    ]
    return {"svg": picture.svg, "text": None, "cells": cells}


def _last_turn(session: Session) -> str | None:
    """Returns the plies of the turn that led to the position that is shown, None at the start."""
    if session.ply == 0:
        return None
    return " ".join(session.moves()[session.turn_start(session.ply - 1) : session.ply])


def _status(session: Session, thinking: Thinking | None, seat_names: list[str], only_captures: bool) -> str:
    """Returns a sentence: who is to move or is thinking, or how the game ended."""
    if session.over:
        return names.ending_of(session)
    name, player = seat_names[session.mover], session.seats[session.mover]
    if thinking is not None:
        waits = ", after the search that was stopped has ended" if thinking.waits else ""
        compiles = "; its program is compiled first" if thinking.compiles else ""
        return f"{name}: {player} is thinking{waits}{compiles}"
    if player != HUMAN:
        return f"{name}: {player} is to move"
    played = f"{session.moves()[session.ply - 1]} was played. " if session.ply else ""
    captures = ". Only captures are legal" if only_captures else ""
    return f"{played}{name} to move{captures}"
