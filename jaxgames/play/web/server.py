"""The server of the page on which people play, on this computer only.

    serve(env, ["human", "greedy"])            # prints the address, opens the page and serves it until Ctrl-C

The page of `python -m jaxgames.play` talks to it: see `jaxgames.play.web.routes`. Wrong requests are refused by
`jaxgames.play.web.guard`. The server needs Starlette and uvicorn: `pip install "jaxgames[play]"`.
"""

import asyncio
import contextlib
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from typing import Any

from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.play.agent_calls import Make
from jaxgames.play.web.allowed import check_seats
from jaxgames.play.web.guard import LOOPBACK_NAMES, Guard, is_loopback
from jaxgames.play.web.live_games import PACE, GameServer

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from jaxgames.play.web.routes import routes
except ImportError as error:
    raise ImportError('starlette or uvicorn is missing; install it with: pip install "jaxgames[play]"') from error

MAX_CONNECTIONS = 256
HEADER_SECONDS = 10  # in which the headers of the next request on a connection must have arrived
SHUTDOWN_SECONDS = 1  # in which streams of events end after Ctrl-C


def app(
    env: Env[Any],
    seats: Sequence[str],
    *,
    seed: int = 0,
    make: Make = agents.make,
    pace: float = PACE,
    names: frozenset[str] = LOOPBACK_NAMES,
    addresses: bool = False,
) -> Starlette:
    """Returns the ASGI application of the page, with a new token.

    Args:
      env: the game that the page begins with.
      seats: "human" or the text of an agent, one per seat.
      seed: of the agents.
      make: makes the agents.
      pace: seconds that a ply is visible before an agent plays the next one.
      names: the hosts that may be asked for; see `jaxgames.play.web.guard.Guard`.
      addresses: whether any IP address may be asked for, too.

    Raises ValueError for seats that do not fit the game.
    """
    server = GameServer(str(env), tuple(seats), seed, make, pace)
    check_seats(server, env, seats)
    token = secrets.token_urlsafe(24)
    guard = Middleware(Guard, token=token, names=names, addresses=addresses)
    application = Starlette(routes=routes(server, token), middleware=[guard])
    application.state.game_server = server
    return application


class Connection(H11Protocol):
    """A connection that is closed unless the headers of its next request arrive in time.

    uvicorn has such a timer for a connection that is kept after a reply, but stops it at the first byte of a request.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as in uvicorn
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        timer, request = self.timeout_keep_alive_task, self.cycle
        super().data_received(data)
        if timer is not None and self.cycle is request:  # no request has begun
            self.timeout_keep_alive_task = self.loop.call_at(timer.when(), self.timeout_keep_alive_handler)


class Server(uvicorn.Server):
    """The server of an application that `app` made. It ends the pages' streams of events before it shuts down."""

    def __init__(self, application: Starlette) -> None:
        self._game_server: GameServer = application.state.game_server
        config = uvicorn.Config(
            application,
            log_level="warning",
            access_log=False,
            server_header=False,
            http=Connection,
            ws="none",
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=HEADER_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Closes all games, and then all connections."""
        for game in self._game_server.games.values():
            game.close()
        await super().shutdown(sockets)


def serve(
    env: Env[Any],
    seats: Sequence[str],
    *,
    seed: int = 0,
    make: Make = agents.make,
    host: str = "127.0.0.1",
    port: int = 0,
    open_to_network: bool = False,
    open_browser: bool = True,
    pace: float = PACE,
    log: Callable[[str], object] = print,
) -> None:
    """Serves the page until Ctrl-C.

    Args:
      env: the game that the page begins with. It, `seats`, `seed`, `make` and `pace` are those of `app`.
      host: the name or address on which the server listens.
      port: its port; 0 for any free one.
      open_to_network: allows a `host` that other computers reach. All who reach it can play, start games and searches
        and use the processor; what they send is not encrypted.
      open_browser: whether the page is opened in the browser.
      log: is called with the lines for the person at the terminal, the address of the page first.

    Raises ParameterError (a ValueError) for a `host` that is not this computer without `open_to_network`, OSError if
    the port is taken.
    """
    if not open_to_network and not is_loopback(host):
        raise ParameterError(
            f"host {host!r} lets other computers in, who could play and use this one: pass one of "
            f"{', '.join(sorted(LOOPBACK_NAMES))}, or --open-to-network (open_to_network=True) if you want that"
        )
    names = names_of(host, open_to_network)
    application = app(env, seats, seed=seed, make=make, pace=pace, names=names, addresses=open_to_network)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        reached = address_in_network() if open_to_network and host == "0.0.0.0" else host
        shown = f"[{reached}]" if ":" in reached else reached
        address = f"http://{shown}:{listener.getsockname()[1]}/"
        log(f"{env.id} is served at {address} (Ctrl-C ends it)")
        if not open_to_network:
            log("To play on a phone in your network, add --host 0.0.0.0 --open-to-network")
        if open_browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            Server(application).run(sockets=[listener])


def address_in_network() -> str:
    """Returns the address of this computer for others in its network, its name where it is in none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # chooses the way to an address of no computer, and sends nothing
        except OSError:
            return socket.gethostname()
        return probe.getsockname()[0]


def names_of(host: str, open_to_network: bool) -> frozenset[str]:
    """Returns the names under which requests may ask for a server that listens on `host`."""
    own = {socket.gethostname().lower()} if open_to_network else set[str]()
    return LOOPBACK_NAMES | {host.lower()} | own
