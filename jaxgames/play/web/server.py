"""The server of the page on which people play, on this computer only.

The page of `python -m jaxgames.play` talks to it: see `jaxgames.play.web.routes`. Wrong requests are refused by
`jaxgames.play.web.guard`. The server needs Starlette and uvicorn: `pip install "jaxgames[play]"`.
"""

import contextlib
import secrets
import socket
import threading
import webbrowser
from collections.abc import Sequence
from typing import Any

from jaxgames import agents
from jaxgames.env import Env
from jaxgames.play.agent_calls import Make

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware

    from jaxgames.play.web.allowed import check_seats
    from jaxgames.play.web.guard import Guard, Refused
    from jaxgames.play.web.live_games import PACE, GameServer
    from jaxgames.play.web.routes import refusal, routes
except ImportError as error:
    raise ImportError('starlette or uvicorn is missing; install it with: pip install "jaxgames[play]"') from error

HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 1  # in which streams of events end after Ctrl-C


def app(
    env: Env[Any],
    seats: Sequence[str],
    *,
    seed: int = 0,
    make: Make = agents.make,
    pace: float = PACE,
) -> Starlette:
    """Returns the ASGI application of the page, with a new token.

    Args:
      env: the game that the page begins with.
      seats: "human" or the text of an agent, one per seat.
      seed: of the agents.
      make: makes the agents.
      pace: seconds that a ply is visible before an agent plays the next one.
    """
    server = GameServer(str(env), tuple(seats), seed, make, pace)
    check_seats(server, env, seats)
    token = secrets.token_urlsafe(24)
    application = Starlette(
        routes=routes(server, token),
        middleware=[Middleware(Guard, token=token)],
        exception_handlers=dict.fromkeys((Refused, ValueError, ImportError), refusal),
    )
    application.state.game_server = server
    return application


class Server(uvicorn.Server):
    """The server of an application that `app` made. It ends the pages' streams of events before it shuts down."""

    def __init__(self, application: Starlette) -> None:
        self._game_server: GameServer = application.state.game_server
        config = uvicorn.Config(
            application,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
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
    port: int = 0,
    open_browser: bool = True,
) -> None:
    """Prints the address of the page, and serves it to this computer until Ctrl-C.

    Args:
      env: the game that the page begins with. It, `seats`, `seed` and `make` are those of `app`.
      port: where the server listens; 0 for any free one.
      open_browser: whether the page is opened in the browser.

    Raises OSError if the port is taken.
    """
    application = app(env, seats, seed=seed, make=make)
    with socket.create_server((HOST, port)) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        print(f"{env.id} is served at {address} (Ctrl-C ends it)", flush=True)
        if open_browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        with contextlib.suppress(KeyboardInterrupt):
            Server(application).run(sockets=[listener])
