"""Servers of the page in this process, a browser, and persons who open the page of a server."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

import jaxgames
from tests.play.web.client import Page, page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.play.web.browser import Person, Sit


@pytest.fixture(scope="module")
def here() -> Iterator[Page]:
    with page() as client:
        yield client


@pytest.fixture(scope="session")
def chrome() -> Iterator["Browser"]:
    from tests.play.web.browser import browser

    with browser() as opened:
        yield opened


@pytest.fixture
def sit(chrome: "Browser") -> Iterator["Sit"]:
    """Starts a server of a game, on which agents move at once, and returns a person at its page."""
    from benchmarks.play import served
    from tests.play.web.browser import PHONE, Person

    with ExitStack() as servers:

        def sit(game: str, *seats: str, phone: bool = False, **options: Any) -> "Person":
            of_server = {"pace": 0.0} | {name: options.pop(name) for name in ("pace", "make") if name in options}
            of_phone: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if phone else {}
            address = servers.enter_context(served(jaxgames.make(game), seats, **of_server))
            return Person(chrome, address, **of_phone, **options)

        yield sit
