"""The requests of the page: JSON in, JSON out.

    GET  /                        the page, with the token of this process
    GET  /page/NAME               its scripts and its style
    GET  /api/events?table=ID     server-sent events: what to show, whenever it changes
    GET  /api/game?table=ID       the game as a file, which `load` takes
    GET  /api/still?table=ID      the game as a still page in one HTML file
    GET  /api/start               the games and agents on offer, and the game with which the process was started
    POST /api/VERB                one of `VERBS`, with a JSON object as its body; the reply is a view

A reply is a view (`views.view`). A request names the last submove of the page as `known`; the view has the later ones.

A request that makes no sense gets a status from 400 to 499 and {"error": REASON}.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jaxgames.play.session import Session
from jaxgames.play.web import allowed as offers
from jaxgames.play.web import snapshot as views
from jaxgames.play.web.guard import MAX_BODY_BYTES, MAX_GAME_BYTES, Refused
from jaxgames.play.web.live_games import House, Table, check_length

SCRIPTS = ("page.js", "board.js", "game.js", "memory.js", "server.js", "panels.js", "newgame.js")
FILES = {"page.css": "text/css", **dict.fromkeys(SCRIPTS, "text/javascript")}
HEARTBEAT = 15.0  # seconds between the comments that keep a quiet stream of events alive

Reply = dict[str, Any]


class Fields:
    """The fields of the JSON object that a request sends. Each is checked when it is read."""

    def __init__(self, body: bytes) -> None:
        """Raises Refused for a body that is not a JSON object."""
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError):
            raise Refused(400, "the body must be JSON") from None
        if not isinstance(parsed, dict):
            raise Refused(400, "the body must be a JSON object, such as {}")
        self._fields: dict[str, Any] = parsed

    def text(self, name: str, default: str | None = None, longest: int = MAX_BODY_BYTES) -> str:
        """Returns a text."""
        value = self._fields.get(name, default)
        if not isinstance(value, str) or len(value) > longest:
            raise Refused(422, f"{name} must be a text of at most {longest} characters")
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        """Returns an integer from 0 to 2^31 - 1."""
        value = self._fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            raise Refused(422, f"{name} must be an integer from 0 to {2**31 - 1}")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Returns an integer from 0 to 2^31 - 1, None if the field is missing or null."""
        return None if self._fields.get(name) is None else self.integer(name)

    def flag(self, name: str) -> bool:
        """Returns a bool; False if the field is missing."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            raise Refused(422, f"{name} must be true or false")
        return value

    def texts(self, name: str, longest: int = offers.MAX_TEXT) -> list[str]:
        """Returns a list of texts."""
        value = self._fields.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) and len(each) <= longest for each in value):
            raise Refused(422, f"{name} must be a list of texts of at most {longest} characters")
        return value


# -- the verbs: each changes a table, or makes one; the reply shows it ----------------------------------------------


async def _new(house: House, fields: Fields) -> Table:
    """Starts a game."""
    game, seats, seed = fields.text("game", house.game), fields.texts("seats"), fields.integer("seed", house.seed)

    def start() -> Session:
        return offers.start(house, game, seats, seed)

    return _seated(house, await house.files.run(start))


async def _load(house: House, fields: Fields) -> Table:
    """Starts a game from a file, which is played again from its beginning."""
    saved = fields.text("saved", longest=MAX_GAME_BYTES)
    return _seated(house, await house.files.run(lambda: offers.load(house, saved)))


def _seated(house: House, session: Session) -> Table:
    """Returns a new table, at which the agents begin."""
    table = house.seat(session)
    table.begin()
    return table


async def _show(house: House, fields: Fields) -> Table:
    """Changes nothing."""
    return _table(house, fields)


async def _play(house: House, fields: Fields) -> Table:
    """Plays an action for the person to move, in the position after `ply` submoves."""
    table, action, ply = _table(house, fields), fields.integer("action"), fields.integer("ply")

    def play(session: Session) -> None:
        if session.ply != ply:
            raise Refused(409, f"the position is that after {session.ply} submoves now, not {ply}")
        check_length(session)
        if not any(move.action == action for move in session.legal()):
            legal = ", ".join(move.text for move in session.legal()) or "none, the game is over"
            raise Refused(422, f"action {action} is not legal here; the legal moves are {legal}")
        session.play(action)

    await table.change(play)
    return table


async def _undo(house: House, fields: Fields) -> Table:
    """Takes a submove back, or with `turn` all up to the last decision of a person."""
    table, whole_turn = _table(house, fields), fields.flag("turn")
    await table.change(lambda session: session.undo_turn() if whole_turn else session.undo())
    return table


async def _redo(house: House, fields: Fields) -> Table:
    """Plays a submove again that was taken back."""
    table = _table(house, fields)
    await table.change(lambda session: session.redo())
    return table


async def _jump(house: House, fields: Fields) -> Table:
    """Shows the position after `ply` submoves."""
    table, ply = _table(house, fields), fields.integer("ply")
    await table.change(lambda session: session.jump(ply))
    return table


async def _position(house: House, fields: Fields) -> Table:
    """Puts a position on the table, as the game writes it, in place of what was played."""
    table, text = _table(house, fields), fields.text("text", longest=4096)
    await table.change(lambda session: table.replace(offers.from_position(session, text)), paused=True)
    return table


async def _seats(house: House, fields: Fields) -> Table:
    """Changes who plays which seat."""
    table, seats = _table(house, fields), fields.texts("seats")
    await house.files.run(partial(offers.check_seats, house, table.session.env, seats))  # makes agents, which are kept
    await table.change(lambda session: table.replace(offers.reseated(house, session, seats)))
    return table


async def _resign(house: House, fields: Fields) -> Table:
    """Ends the game: a person resigns, the one to move or the one of `seat`, also while an agent thinks."""
    table, seat = _table(house, fields), fields.optional_integer("seat")
    await table.change(lambda session: session.resign(seat))
    return table


async def _stop(house: House, fields: Fields) -> Table:
    """Drops the search of an agent; the agents wait."""
    table = _table(house, fields)
    table.pause()
    return table


async def _go(house: House, fields: Fields) -> Table:
    """Lets the agent to move play in the position that is shown."""
    table = _table(house, fields)
    table.go_on()
    return table


VERBS: dict[str, Callable[[House, Fields], Awaitable[Table]]] = {
    "new": _new,
    "load": _load,
    "show": _show,
    "play": _play,
    "undo": _undo,
    "redo": _redo,
    "jump": _jump,
    "position": _position,
    "seats": _seats,
    "resign": _resign,
    "stop": _stop,
    "go": _go,
}


def _table(house: House, fields: Fields) -> Table:
    return house.table(fields.text("table", longest=64))


# -- replies -------------------------------------------------------------------------------------------------------


async def _shown(house: House, table: Table, theme: str, known: int) -> Reply:
    """Returns what a page shows of a table, with the submoves that it does not have."""
    return await house.rules.run(partial(views.view, table, theme, known))


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
        except (ValueError, ImportError) as error:  # they say what is allowed, or which extra is missing
            return _json({"error": str(error)}, 422)

    return guarded


# -- endpoints -----------------------------------------------------------------------------------------------------


def routes(house: House, token: str) -> list[Route]:
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
        return _json(await house.rules.run(partial(offers.offered, house)))

    async def describe(request: Request) -> Response:
        fields = Fields(await request.body())
        game = fields.text("game", longest=offers.MAX_TEXT)
        return _json(await house.files.run(partial(offers.described, house, game)))

    async def hint(request: Request) -> Response:
        fields = Fields(await request.body())
        table, agent = _table(house, fields), fields.text("agent", longest=offers.MAX_TEXT)
        return _json(await views.hint(house, table, agent))

    async def verb(request: Request) -> Response:
        name = request.path_params["verb"]
        if name not in VERBS:
            raise Refused(404, f"there is no /api/{name}")
        fields = Fields(await request.body())
        theme, known = views.theme(fields.text("theme", "light")), fields.integer("known", 0)
        return _json(await _shown(house, await VERBS[name](house, fields), theme, known))

    async def game(request: Request) -> Response:
        table = house.table(request.query_params.get("table", ""))
        return Response(await house.rules.run(lambda: table.session.to_json()), media_type="application/json")

    async def still(request: Request) -> Response:
        table = house.table(request.query_params.get("table", ""))
        session = await house.rules.run(lambda: table.session.copy())
        html = await house.files.run(session.to_html)
        return Response(html, media_type="text/plain")  # a page of this origin must not be made of it

    async def events(request: Request) -> Response:
        table = house.table(request.query_params.get("table", ""))
        theme, known = views.theme(request.query_params.get("theme", "light")), request.query_params.get("known", "0")
        if not re.fullmatch(r"[0-9]{1,9}", known):
            raise Refused(422, "known must be an integer from 0 to 999999999")
        return StreamingResponse(events_of(house, table, theme, int(known)), media_type="text/event-stream")

    return [
        Route("/", _guarded(page)),
        Route("/page/{name}", _guarded(file)),
        Route("/api/start", _guarded(start)),
        Route("/api/game", _guarded(game)),
        Route("/api/still", _guarded(still)),
        Route("/api/events", _guarded(events)),
        Route("/api/describe", _guarded(describe), methods=["POST"]),
        Route("/api/hint", _guarded(hint), methods=["POST"]),
        Route("/api/{verb}", _guarded(verb), methods=["POST"]),
    ]


async def events_of(house: House, table: Table, theme: str, known: int = 0) -> AsyncIterator[str]:
    """Yields what to show as server-sent events, and comments while nothing changes; ends with the table.

    Each event has the submoves that are new since the one before it; the first one, those that are new since `known`.
    The events end, too, if too many requests are waiting.
    """
    versions = table.versions()
    waiting = asyncio.ensure_future(anext(versions, None))
    try:
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=HEARTBEAT)
            if not done:
                yield ": nothing new\n\n"
                continue
            if waiting.result() is None:
                return
            try:
                shown = await _shown(house, table, theme, known)
            except Refused:  # the status of the response is sent already
                return
            known = shown["history"]["last"]
            yield f"data: {json.dumps(shown)}\n\n"
            waiting = asyncio.ensure_future(anext(versions, None))
    finally:
        waiting.cancel()


def _file(name: str) -> str:
    """Returns a file of the page."""
    return resources.files("jaxgames.play.web").joinpath("page", name).read_text(encoding="utf-8")
