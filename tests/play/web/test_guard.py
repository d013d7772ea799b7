"""Requests that do not come from the server's own page are refused, and nothing foreign can run in the page."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from jaxgames.play.web import routes
from jaxgames.play.web.guard import HEADERS
from jaxgames.play.web.routes import FILES, VERBS
from jaxgames.play.web.server import app
from tests.play.web.client import GAME, PEOPLE, Page

# -- the page ------------------------------------------------------------------------------------------------------


def test_page_needs_no_inline_script_or_style_and_no_foreign_host(here: Page) -> None:
    html = here.client.get("/").text
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html)
    assert all("src=" in script for script in re.findall(r"<script[^>]*>", html))
    files = {file: here.client.get(f"/page/{file}").text for file in FILES}
    for text in (html, *files.values()):
        assert not re.search(r"https?://", text)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", text)
    used = {name for text in (html, *files.values()) for name in re.findall(r'(?:"/page/|from "\./)([^"]+)"', text)}
    folder = Path(routes.__file__).parent / "page"
    assert used == FILES.keys() == {file.name for file in folder.iterdir()} - {"page.html"}


@pytest.mark.parametrize("path", ["/", "/page/page.js", "/api/start", "/nothing"])
def test_every_response_has_the_headers_that_protect_the_page(here: Page, path: str) -> None:
    headers = here.client.get(path).headers
    assert HEADERS.items() <= dict(headers).items()
    assert "'unsafe" not in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]


# -- the guard -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"host": "attacker.example"}, 400),
        ({"host": "192.168.1.5"}, 400),
        ({"host": "127.0.0.1.attacker.example:8000"}, 400),
        ({"host": ""}, 400),
        ({"host": "[::1]attacker.example"}, 400),
        ({"host": "127.0.0.1:1@attacker.example"}, 400),
        ({"host": "localhost:"}, 400),
        ({"host": "::1"}, 400),
        ({"origin": "http://attacker.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9000"}, 403),
        ({"origin": "https://127.0.0.1:8000"}, 403),
        ({"origin": None}, 403),
        ({"x-jaxgames-token": None}, 403),
        ({"x-jaxgames-token": ""}, 403),
        ({"x-jaxgames-token": "é"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": None}, 415),
        ({}, 200),
        ({"host": "localhost:9000", "origin": "http://localhost:9000"}, 200),  # a tunnel of ssh
        ({"host": "[::1]:8000", "origin": "http://[::1]:8000"}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_request_is_checked(here: Page, changed: dict[str, str | None], status: int) -> None:
    given = {**here.headers, "host": "127.0.0.1:8000", "content-type": "application/json", **changed}
    headers = {name: value.encode() for name, value in given.items() if value is not None}
    body = json.dumps({"seats": PEOPLE}).encode()
    request = here.client.build_request("POST", "/api/new", content=body, headers=headers)
    for name in ("content-type", "origin"):
        if changed.get(name, "") is None:
            request.headers.pop(name, None)
    response = here.client.send(request)
    assert response.status_code == status, response.text
    assert ("error" in response.json()) == (status != 200)


def test_other_methods_are_refused(here: Page) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert here.client.request(method, "/api/new", headers=here.headers).status_code == 405
    assert here.client.get("/api/new", headers=here.headers).status_code == 405


def test_events_and_still_pages_need_the_token(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    for name in ("events", "still"):
        assert here.client.get(f"/api/{name}?id={id}").status_code == 403
        assert here.get(f"/api/{name}?id=other").status_code == 404


def test_seats_of_the_command_line_must_fit_the_game() -> None:
    with pytest.raises(ValueError, match="2 seats"):
        app(jaxgames.make(GAME), ["human"])


# -- malformed requests --------------------------------------------------------------------------------------------

FIELDS = ("game", "seats", "seed", "saved", "action", "ply", "text", "agent", "theme", "seat", "last")


def strange(random: random.Random, depth: int = 0) -> Any:
    """Returns a random JSON value."""
    numbers = (None, True, -1, 0, 3, 2**31, 10**400, 1.5)
    simple = (*numbers, "", "human", "x" * 500, "\ud800", "\x00", "random", "1e9", "a:b")
    kind = random.randrange(10)
    if kind == 0 and depth < 3:
        return [strange(random, depth + 1) for _ in range(random.randrange(4))]
    if kind == 1 and depth < 3:
        return {random.choice(("id", "game", "seats", "text")): strange(random, depth + 1)}
    return random.choice(simple)


def test_body_that_is_no_object_is_refused(here: Page) -> None:
    chance, headers = random.Random(0), {**here.headers, "content-type": "application/json"}
    bodies = (b"", b"{", b"[" * 60_000, b"[]", b"7", b'"new"', b"\xff\xfe", chance.randbytes(200), b'{"id": "\\ud800"}')
    for verb in (*VERBS, "hint", "describe", "nothing", "..", "%00", "new/new"):
        for body in bodies:
            response = here.client.post(f"/api/{verb}", content=body, headers=headers)
            assert 400 <= response.status_code < 500, (verb, body[:300], response.text)


def test_strange_value_in_any_field_is_refused_and_changes_nothing(here: Page) -> None:
    """The id and the theme are right here, so that every verb reads its own fields."""
    id = here.ask("new", seats=PEOPLE)["id"]
    headers = {**here.headers, "content-type": "application/json"}
    chance = random.Random(1)
    refused = dict.fromkeys((*VERBS, "hint", "describe"), 0)
    for number in range(250):
        verb = chance.choice([*refused])
        fields = {name: strange(chance) for name in FIELDS} | {"id": id, "theme": "dark"}
        response = here.client.post(f"/api/{verb}", content=json.dumps(fields).encode(), headers=headers)
        assert response.status_code < 500, (number, verb, fields, response.text)
        refused[verb] += response.status_code >= 400
    assert all(refused[verb] for verb in refused.keys() - {"show", "stop", "go"}), refused
    assert here.ask("show", id=id)["id"] == id
