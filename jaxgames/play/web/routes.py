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
from collections.abc import AsyncIterator, Awaitable, Callable
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
from jaxgames.play.web.live_games import GameServer, LiveGame, UnknownGameError
from jaxgames.play.web.snapshot import Look

SCRIPTS = (
    *("page.js", "board.js", "drag.js", "pieces.js", "panels.js", "replay.js", "hints.js", "review.js", "newgame.js"),
    *("marks.js", "rules.js", "files.js", "game.js", "memory.js", "connection.js", "server.js"),
)
STYLES = ("page.css", "board.css", "panels.css")
FILES = {**dict.fromkeys(STYLES, "text/css"), **dict.fromkeys(SCRIPTS, "text/javascript")}
HEARTBEAT = 15.0  # seconds between the comments that keep a quiet stream of events alive

Reply = dict[str, Any]


# -- the verbs that start a game; the reply shows it -------------------------------------------------------------------


def _new(server: GameServer, fields: Fields) -> Callable[[], Session]:
    game, seats = fields.text("game", server.game), fields.texts("seats")
    return partial(allowed.start, server, game, seats, fields.integer("seed", server.seed))


def _load(server: GameServer, fields: Fields) -> Callable[[], Session]:
    return partial(allowed.load, server, fields.text("saved"))


STARTS: dict[str, Callable[[GameServer, Fields], Callable[[], Session]]] = {"new": _new, "load": _load}


# -- the verbs that change a game --------------------------------------------------------------------------------------


async def _show(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Changes nothing."""


async def _play(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Plays an action for the person to move, in the position after `ply` plies, and ends a turn that cannot go on."""
    action, ply = fields.integer("action"), fields.integer("ply")

    def play(session: Session) -> None:
        if session.ply != ply:
            raise Refused(409, f"the position after {session.ply} plies is shown now, not after {ply}")
        session.play(action)
        session.end_turn()

    await game.change(play)


async def _undo(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Undoes a ply, or with `turn` all up to the last decision of a person."""
    undo = Session.undo_turn if fields.flag("turn") else Session.undo
    await game.change(undo)


async def _jump(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Shows the position after `ply` plies."""
    ply = fields.integer("ply")
    await game.change(lambda session: session.jump(ply))


async def _position(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Sets up a position, as the game writes it, in place of what was played."""
    text = fields.text("text")
    await game.change(lambda session: allowed.from_position(session, text), paused=True)


async def _seats(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Changes who plays which seat."""
    seats = fields.texts("seats")
    await server.files.run(partial(allowed.check_seats, server, game.session.env, seats))  # makes and keeps the agents
    await game.change(lambda session: session.with_seats(seats))


async def _resign(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Ends the game: a person resigns, at `seat` or the one to move, also while an agent thinks."""
    seat = fields.integer_or_none("seat")
    await game.change(lambda session: session.resign(seat))


async def _draw(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """A person offers a draw, or accepts one."""
    await game.offer_draw()


async def _stop(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Cancels the search of an agent; the agents wait."""
    game.pause()


async def _go(server: GameServer, game: LiveGame, fields: Fields) -> None:
    """Lets the agent to move play in the position that is shown."""
    game.resume_agents()


CHANGES: dict[str, Callable[[GameServer, LiveGame, Fields], Awaitable[None]]] = {
    "show": _show,
    "play": _play,
    "undo": _undo,
    "jump": _jump,
    "position": _position,
    "seats": _seats,
    "resign": _resign,
    "draw": _draw,
    "stop": _stop,
    "go": _go,
}
VERBS = (*STARTS, *CHANGES)


async def _after(server: GameServer, verb: str, fields: Fields) -> LiveGame:
    """Returns the game that a verb has started or changed."""
    if verb in STARTS:
        game = server.add(await server.files.run(STARTS[verb](server, fields)))
        game.restart()
    else:
        game = _game(server, fields)
        await CHANGES[verb](server, game, fields)
    return game


def _game(server: GameServer, fields: Fields) -> LiveGame:
    return server.find(fields.text("id"))


# -- replies -------------------------------------------------------------------------------------------------------


async def _view(server: GameServer, game: LiveGame, look: Look) -> Reply:
    return await server.rules.run(partial(snapshot.view, game, look))


def _json(content: Reply, status: int = 200) -> Response:
    """Returns a response of JSON in ASCII, so that any text of a request can be in an error."""
    return Response(json.dumps(content, allow_nan=False), status, media_type="application/json")


def _guarded(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Returns the endpoint with replies in place of the errors that a request can cause."""

    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            return _json({"error": refused.reason}, refused.status)
        except UnknownGameError as error:
            return _json({"error": str(error)}, 404)
        except (ValueError, ImportError) as error:  # they say what is allowed, or which extra is missing
            return _json({"error": str(error)}, 422)

    return guarded


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
        return _json(await server.rules.run(partial(allowed.describe_process, server)))

    async def describe(request: Request) -> Response:
        game = (await _fields(request)).text("game")
        return _json(await server.files.run(partial(allowed.describe_game, server, game)))

    async def agents(request: Request) -> Response:
        game = (await _fields(request)).text("game")
        return _json({"agents": await server.files.run(partial(allowed.agents_of, server, game))})

    async def rules(request: Request) -> Response:
        fields = await _fields(request)
        game, theme = fields.text("game"), Look(fields.text("theme", "light")).theme
        return _json(await server.files.run(partial(allowed.rules_of, server, game, theme)))

    async def hint(request: Request) -> Response:
        fields = await _fields(request)
        agent, of_last = fields.text_or_none("agent"), fields.flag("last")
        return _json(await advice.hint(server, _game(server, fields), agent, of_last))

    async def review(request: Request) -> Response:
        return _json(await advice.mistakes(server, _game(server, await _fields(request))))

    async def verb(request: Request) -> Response:
        name = request.path_params["verb"]
        if name not in VERBS:
            raise Refused(404, f"there is no /api/{name}")
        fields = await _fields(request)
        look = Look(fields.text("theme", "light"), fields.integer_or_none("seat"))
        return _json(await _view(server, await _after(server, name, fields), look))

    async def still(request: Request) -> Response:
        game = server.find(request.query_params.get("id", ""))
        session = await server.rules.run(lambda: game.session.copy())
        html = await server.files.run(partial(to_html, session))
        return Response(html, media_type="text/plain")  # a page of this origin must not be made of it

    async def events(request: Request) -> Response:
        game = server.find(request.query_params.get("id", ""))
        seat = request.query_params.get("seat", "")
        look = Look(request.query_params.get("theme", "light"), int(seat) if seat.isdecimal() else None)
        return StreamingResponse(events_of(server, game, look), media_type="text/event-stream")

    return [
        Route("/", _guarded(page)),
        Route("/page/{name}", _guarded(file)),
        Route("/api/start", _guarded(start)),
        Route("/api/still", _guarded(still)),
        Route("/api/events", _guarded(events)),
        Route("/api/describe", _guarded(describe), methods=["POST"]),
        Route("/api/agents", _guarded(agents), methods=["POST"]),
        Route("/api/rules", _guarded(rules), methods=["POST"]),
        Route("/api/hint", _guarded(hint), methods=["POST"]),
        Route("/api/review", _guarded(review), methods=["POST"]),
        Route("/api/{verb}", _guarded(verb), methods=["POST"]),
    ]


async def _fields(request: Request) -> Fields:
    return Fields(await request.body(), "the request")


async def events_of(server: GameServer, game: LiveGame, look: Look) -> AsyncIterator[str]:
    """Yields what to show as server-sent events, and comments while nothing changes; ends with the game."""
    versions = game.versions()
    waiting = asyncio.ensure_future(anext(versions, None))
    try:
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=HEARTBEAT)
            if not done:
                yield ": nothing new\n\n"
                continue
            if waiting.result() is None:
                return
            yield f"data: {json.dumps(await _view(server, game, look))}\n\n"
            waiting = asyncio.ensure_future(anext(versions, None))
    finally:
        waiting.cancel()


def _file(name: str) -> str:
    return resources.files("jaxgames.play.web").joinpath("page", name).read_text(encoding="utf-8")
