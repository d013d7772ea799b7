"""A game as the page shows it: everything is ready to be drawn, so the page needs no rules."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from jaxgames import render
from jaxgames._checks import ParameterError
from jaxgames.baselines import levels
from jaxgames.play.game_file import to_json
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web import turns
from jaxgames.play.web.live_games import LiveGame
from jaxgames.play.words import ending_of, game_title, people_of, turn_text, words_of
from jaxgames.render.boards import drawing_of
from jaxgames.render.drawing import CELL
from jaxgames.render.theme import THEMES

RING = 0.48 * CELL  # the largest radius of the mark on a cell, in the units of a drawing
MAX_TURN = 36  # characters of a turn in a status
WIDTH = 400.0  # of the picture; the page stretches it


@dataclass(frozen=True)
class Look:
    """How a page wants to see a game."""

    theme: str = "light"
    seat: int | None = None  # at the bottom of the board; None: the first person's

    def __post_init__(self) -> None:
        if self.theme not in THEMES:
            raise ParameterError(f"theme must be one of {', '.join(THEMES)}, not {self.theme[:20]!r}")


def view(game: LiveGame, look: Look) -> dict[str, Any]:
    """Returns what a page shows of a game.

    Its keys: `id`, `version`, `game`, `title`; `svg` (None for a game without pictures) or `text`; `cells`; `trails`,
    the paths of the seats' last turns; `bottom`, the seat at the bottom of the board, and whether the board `flips`;
    `legal`, the moves of the mover; `last`, the source and target of the last ply; `turns`, their texts and seats;
    `ply`, `plies`, `mover`, `over`, `seats`, `position`; `ended`, whether the game is over in its last position;
    `status`, a sentence, never empty; `can_undo`; `can_draw`, whether the game can end in a draw; `offers`, the seats
    that offer one; `thinking`, the agent that searches or None; `waits`, whether an agent is to move and waits for a
    person; `problem`, an error or ""; `saved`, the game as a file.
    """
    session, thinking = game.session, game.thinking
    people, played = people_of(session.seats), turns.turns_of(session)
    legal = session.legal()
    agent_to_move = not session.over and session.seats[session.mover] != HUMAN
    waits = agent_to_move and thinking is None and (game.paused or session.ply < session.plies)
    if look.seat is None or look.seat >= session.env.num_players:
        look = dataclasses.replace(look, seat=people[0] if people else 0)
    return {
        "id": game.id,
        "version": game.version,
        "game": str(session.env),
        "title": game_title(session.env.id),
        **_board(session, look, played),
        "legal": [move._asdict() for move in legal],
        "last": _last_ply(session),
        "turns": [turn._asdict() for turn in played],
        "ply": session.ply,
        "plies": session.plies,
        "mover": session.mover,
        "over": session.over,
        "ended": session.ended,
        "seats": _seats(session, look.theme),
        "position": session.env.to_string(session.state),
        "status": _of_draw(game) + _status(game, waits, played, {move.kind for move in legal}),
        "can_draw": words_of(session.env).can_be_drawn(session.env),
        "offers": game.offers,
        "can_undo": session.is_stopped or any(seat in people for seat in session.movers()[: session.ply]),
        "thinking": None if thinking is None else thinking.agent,
        "waits": waits,
        "problem": game.problem,
        "saved": to_json(session),
    }


# -- parts of a view -----------------------------------------------------------------------------------------------


def _board(session: Session, look: Look, played: list[turns.Turn]) -> dict[str, Any]:
    """Returns the picture and its cells; the text of the board for a game without pictures."""
    env, state, seat = session.env, session.state, look.seat or 0
    if not render.has_pictures(env):
        return {"svg": None, "text": session.to_text(), "cells": [], "trails": [], "bottom": 0, "flips": False}
    people, last = people_of(session.seats), _last_turn(session)
    goal_of = people[0] if len(people) == 1 else session.mover
    picture = render.svg(
        env, state, last=last, theme=look.theme, width=WIDTH, seat=seat, goal_of=goal_of, caption=False
    )
    drawing = drawing_of(env)[1]
    places = render.anchors(env, state, seat).cells
    largest, seat_names = RING * drawing.scale, render.seat_names(env)
    cells = [
        {
            "name": name,
            **cell._asdict(),
            "radius": min(cell.radius, largest),
            "owner": _owner(cell.label.removeprefix(f"{name}, "), seat_names),
        }
        for name, cell in places.items()
    ]
    trails = turns.trails(session, played, places)
    return {
        "svg": picture.svg,
        "text": None,
        "cells": cells,
        "trails": trails,
        "bottom": seat,
        "flips": len(set(drawing.angles)) > 1,
    }


def _owner(contents: str, seat_names: list[str]) -> int | None:
    """Returns the seat of the piece that a label names, such as "Black man"; None for an empty cell."""
    owners = [seat for seat, name in enumerate(seat_names) if contents.startswith(f"{name} ")]
    return owners[0] if owners else None


def _last_turn(session: Session) -> str | None:
    """Returns the plies of the turn that led to the position that is shown, None at the start."""
    if session.ply == 0:
        return None
    return " ".join(session.moves()[session.turn_start(session.ply - 1) : session.ply])


def _last_ply(session: Session) -> dict[str, str | None] | None:
    """Returns the cells where the last ply began and ended; None at the start, and in a game without pictures."""
    if session.ply == 0 or not render.has_pictures(session.env):
        return None
    (motion,) = drawing_of(session.env)[1].motions(session.states[session.ply - 1], [session.moves()[session.ply - 1]])
    return {"source": motion.source, "target": motion.target}


def _seats(session: Session, theme: str) -> list[dict[str, Any]]:
    """Returns the name, the colour, the player and the score of each seat, and the player in words."""
    env = session.env
    words = {agent: level.capitalize() for level, agent in levels(env).items()}
    words[HUMAN] = "You" if session.seats.count(HUMAN) == 1 else "Person"
    colours = render.seat_colours(env, theme)
    points = words_of(env).points(session.state)
    return [
        {
            "name": name,
            "colour": colour,
            "player": player,
            "words": words.get(player, f"Computer ({player})"),
            "score": str(points[seat]) if points else "",
        }
        for seat, (name, colour, player) in enumerate(zip(render.seat_names(env), colours, session.seats, strict=True))
    ]


def _of_draw(game: LiveGame) -> str:
    """Returns the sentence of an offer of a draw or of its refusal, and a blank; "" without them."""
    names = render.seat_names(game.session.env)
    if game.refusing is not None:
        return f"{names[game.refusing]} refuses the draw. "
    if not game.offers:
        return ""
    if len(people_of(game.session.seats)) == 1:
        return "You offer a draw. "
    seats = " and ".join(names[seat] for seat in game.offers)
    return f"{seats} {'offers' if len(game.offers) == 1 else 'offer'} a draw. "


def _status(game: LiveGame, waits: bool, played: list[turns.Turn], kinds: set[str]) -> str:
    """Returns sentences: the last turn, and who is to move or is thinking, or how the game ended.

    In an earlier position they say so; who would move in a finished game is left out.
    """
    session, thinking, offers = game.session, game.thinking, game.offers
    if session.over:
        return ending_of(session)
    env, people, mover = session.env, people_of(session.seats), session.mover
    name, words = render.seat_names(env)[mover], turn_text(env, mover, people)
    if thinking is not None:
        delay = ", after the search that was stopped has ended" if thinking.waits else ""
        return f"{name} is thinking{delay}{'; the first move takes longer' if thinking.compiles else ''}"
    if offers and len(offers) == len(people):  # the agents are asked
        asked = [each for seat, each in enumerate(render.seat_names(env)) if seat not in people]
        return f"{' and '.join(asked)} {'considers' if len(asked) == 1 else 'consider'} it"
    if mover not in people and not waits:  # its search begins
        return f"{name} is thinking"
    here = f"move {session.ply} of {session.plies}" if session.ply else "the start"
    if session.ply < session.plies and session.ended:
        return f"Looking back at {here}"
    if session.ply < session.plies:
        continues = f"{words}, at {here}. A new move drops the later ones"
        return continues if mover in people else f"Looking back at {here}. {words}"
    if mover not in people:
        return words
    if "end turn" in kinds:
        return f"{words}. {'Hop on, or end your turn' if session.continues_turn else 'No piece can move'}"
    if kinds == {"capture"}:
        return f"{words}. You must capture"
    last = next((turn for turn in reversed(played) if turn.ply == session.ply), None)
    if last is None or last.seat == mover:
        return words
    return f"{words}. {render.seat_names(env)[last.seat]} played {_shortened(last.text)}"


def _shortened(text: str) -> str:
    """Returns a turn with its first and last part only, if it is too long for a line of a phone."""
    parts = re.split("([ →])", text)
    return text if len(text) <= MAX_TURN else "".join((*parts[:2], "…", *parts[-2:]))
