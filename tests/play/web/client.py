"""A client of the page's server inside the process of the tests, and the requests that a page sends."""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

import jaxgames
from jaxgames.play.web.server import app

ADDRESS = "http://127.0.0.1:8000"
GAME, PEOPLE = "dots_and_boxes(rows=1, cols=2)", ["human", "human"]
WAIT_SECONDS = 60.0


def run_in_thread(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Returns what a coroutine returns. In the main thread, a browser of other tests may have left its loop."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, coroutine).result()


def moves_of(view: dict[str, Any]) -> list[str]:
    """The texts of all plies in a view."""
    return [text for turn in view["turns"] for text in turn["moves"]]


class Page:
    """The requests of one page."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        token = re.search(r'name="token" content="([^"]+)"', client.get("/").text)
        assert token is not None
        self.headers = {"x-jaxgames-token": token[1], "origin": ADDRESS}

    def post(self, verb: str, body: Any) -> Any:
        """Returns the response to a request with a JSON body."""
        return self.client.post(f"/api/{verb}", json=body, headers=self.headers)

    def get(self, path: str) -> Any:
        """Returns the response to a request with the token."""
        return self.client.get(path, headers=self.headers)

    def ask(self, verb: str, **fields: Any) -> dict[str, Any]:
        """Returns the reply to a request that must succeed."""
        response = self.post(verb, fields)
        assert response.status_code == 200, response.text
        return response.json()

    def refusal(self, verb: str, status: int, **fields: Any) -> str:
        """Returns the reason of a refusal with this status."""
        response = self.post(verb, fields)
        assert response.status_code == status, response.text
        return response.json()["error"]

    def wait(self, id: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Returns what the server shows of a game as soon as `done` is true of it."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not done(view := self.ask("show", id=id)):
            assert time.monotonic() < deadline, view
            time.sleep(0.005)
        return view


@contextmanager
def page(seats: Sequence[str] = ("human", "human"), game: str = GAME, **arguments: Any) -> Generator[Page]:
    """Yields the page of a server, which ends with the block."""
    with TestClient(app(jaxgames.make(game), seats, pace=0.0, **arguments), base_url=ADDRESS) as client:
        yield Page(client)
