"""The requests of the page: JSON in, JSON out.

    GET  /                        the page, with the token of this process
    GET  /page/NAME               its scripts and its style
    GET  /api/events?id=ID        server-sent events: what to show, whenever it changes
    GET  /api/still?id=ID         the game as a still page in one HTML file
    GET  /api/start               the games on offer, and the game with which the process was started
    POST /api/describe            the seats and the levels of a game; /api/agents, /api/rules
    POST /api/hint                what an agent thinks of a position; /api/review: the moves that lost most
    POST /api/VERB                one of `VERBS`, with a JSON object as its body; the reply is a `snapshot.view`

A request that makes no sense gets a status from 400 to 499 and {"error": REASON}.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jaxgames._fields import Fields
from jaxgames.play.session import Session
from jaxgames.play.static_page import to_html
from jaxgames.play.web import advice, allowed, snapshot
from jaxgames.play.web.guard import Refused
from jaxgames.play.web.live_games import GameServer, LiveGame
from jaxgames.play.web.snapshot import Look

PAGE = resources.files("jaxgames.play.web").joinpath("page")
TYPES = {".css": "text/css", ".js": "text/javascript"}
FILES = {file.name: kind for file in PAGE.iterdir() for suffix, kind in TYPES.items() if file.name.endswith(suffix)}
VERBS = ["new", "load", "show", "play", "undo", "jump", "position", "seats", "resign", "draw", "stop", "go"]
HEARTBEAT = 15.0  # seconds between the comments that keep a quiet stream of events alive

# -- what a page asks for ------------------------------------------------------------------------------------------


async def _reply(server: GameServer, verb: str, fields: Fields) -> dict[str, Any]:
    """Returns the reply to a POST."""
    match verb:
        case "describe":
            return await server.files.run(partial(allowed.describe_game, server, fields.text("game")))
        case "agents":
            return {"agents": await server.files.run(partial(allowed.agents_of, server, fields.text("game")))}
        case "rules":
            game, theme = fields.text("game"), Look(fields.text("theme", "light")).theme
            return await server.files.run(partial(allowed.rules_of, server, game, theme))
        case "hint":
            game = server.find(fields.text("id"))
            return await advice.hint(server, game, fields.text_or_none("agent"), fields.flag("last"))
        case "review":
            return await advice.mistakes(server, server.find(fields.text("id")))
        case _ if verb in VERBS:
            look = Look(fields.text("theme", "light"), fields.integer_or_none("seat"))
            return snapshot.view(await _after(server, verb, fields), look)
        case _:
            raise Refused(404, f"there is no /api/{verb}")


async def _after(server: GameServer, verb: str, fields: Fields) -> LiveGame:
    """Returns the game that one of `VERBS` has started or changed."""
    if verb in ("new", "load"):
        if verb == "new":
            text, seats = fields.text("game", server.game), fields.texts("seats")
            begin = partial(allowed.start, server, text, seats, fields.integer("seed", server.seed))
        else:
            begin = partial(allowed.load, server, fields.text("saved"))
        game = server.add(await server.files.run(begin))
        game.restart()
        return game
    game = server.find(fields.text("id"))
    match verb:
        case "play":
            _play(game, fields.integer("action"), fields.integer("ply"))
        case "undo":  # all up to the last decision of a person
            game.change(Session.undo_turn)
        case "jump":
            ply = fields.integer("ply")
            game.change(lambda session: session.jump(ply))
        case "position":  # in place of what was played
            text = fields.text("text")
            game.change(lambda session: allowed.from_position(session, text), paused=True)
        case "seats":
            seats = fields.texts("seats")
            await server.files.run(partial(allowed.check_seats, server, game.session.env, seats))  # makes the agents
            game.change(lambda session: session.with_seats(seats))
        case "resign":  # a person, at `seat` or the one to move, also while an agent thinks
            seat = fields.integer_or_none("seat")
            game.change(lambda session: session.resign(seat))
        case "draw":
            game.offer_draw()
        case "stop":
            game.pause()
        case "go":
            game.resume_agents()
        case _:  # "show" changes nothing
            pass
    return game


def _play(game: LiveGame, action: int, ply: int) -> None:
    """Plays an action for the person to move, in the position after `ply` plies, and ends a turn that cannot go on."""

    def play(session: Session) -> None:
        if session.ply != ply:
            raise Refused(409, f"the position after {session.ply} plies is shown now, not after {ply}")
        session.play(action)
        session.end_turn()

    game.change(play)


async def events_of(game: LiveGame, look: Look) -> AsyncIterator[str]:
    """Yields what to show as server-sent events, and comments while nothing changes; ends with the game."""
    while not game.closed:
        news = game.news
        yield f"data: {json.dumps(snapshot.view(game, look))}\n\n"
        while not news.is_set():
            try:
                await asyncio.wait_for(news.wait(), HEARTBEAT)
            except TimeoutError:
                yield ": nothing new\n\n"


# -- endpoints -----------------------------------------------------------------------------------------------------


def routes(server: GameServer, token: str) -> list[Route]:
    """Returns the routes of a server."""

    async def page(request: Request) -> Response:
        html = _file("page.html").replace("{{token}}", token)
        return Response(html, media_type="text/html")

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            raise Refused(404, f"there is no {name}")
        return Response(_file(name), media_type=FILES[name])

    async def start(request: Request) -> Response:
        return _json(allowed.describe_process(server))

    async def verb(request: Request) -> Response:
        fields = Fields(await request.body(), "the request")
        return _json(await _reply(server, request.path_params["verb"], fields))

    async def still(request: Request) -> Response:
        session = server.find(request.query_params.get("id", "")).session.copy()
        html = await server.files.run(partial(to_html, session))
        return Response(html, media_type="text/plain")  # a page of this origin must not be made of it

    async def events(request: Request) -> Response:
        game = server.find(request.query_params.get("id", ""))
        seat = request.query_params.get("seat", "")
        look = Look(request.query_params.get("theme", "light"), int(seat) if seat.isdecimal() else None)
        return StreamingResponse(events_of(game, look), media_type="text/event-stream")

    return [
        Route("/", page),
        Route("/page/{name}", file),
        Route("/api/start", start),
        Route("/api/still", still),
        Route("/api/events", events),
        Route("/api/{verb}", verb, methods=["POST"]),
    ]


async def refusal(request: Request, error: Exception) -> Response:
    """Returns the reply to a request that a `Refused`, ValueError or ImportError has ended, with its reason."""
    return _json({"error": str(error)}, error.status if isinstance(error, Refused) else 422)


def _json(content: dict[str, Any], status: int = 200) -> Response:
    """Returns a response of JSON in ASCII, so that any text of a request can be in an error."""
    return Response(json.dumps(content, allow_nan=False), status, media_type="application/json")


def _file(name: str) -> str:
    return PAGE.joinpath(name).read_text(encoding="utf-8")
