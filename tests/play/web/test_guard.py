"""Requests of others than the page are refused, and nothing foreign runs in it; the games and agents that it may name.

These are all registered games, and the agents that read no file and import no module from outside.
"""

import builtins
import io
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from jaxgames import agents, baselines, registry, render
from jaxgames.play import Session, from_json, to_json
from jaxgames.play.web import allowed, routes
from jaxgames.play.web.guard import HEADERS
from jaxgames.play.web.live_games import GameServer
from jaxgames.play.web.routes import FILES, VERBS
from jaxgames.play.web.server import app
from tests.helpers.scripted_engine import command
from tests.play.web.client import GAME, PEOPLE, Page, page

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
        *(
            ({"host": host}, 400)
            for host in (
                *("attacker.example", "192.168.1.5", "127.0.0.1.attacker.example:8000", "", "[::1]attacker.example"),
                *("127.0.0.1:1@attacker.example", "localhost:", "::1"),
            )
        ),
        *(
            ({"origin": origin}, 403)
            for origin in ("http://attacker.example", "null", "http://127.0.0.1:9000", "https://127.0.0.1:8000", None)
        ),
        *(({"x-jaxgames-token": token}, 403) for token in (None, "", "é")),
        *(({"content-type": kind}, 415) for kind in ("text/plain", "application/x-www-form-urlencoded", None)),
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


def strange(random: random.Random) -> Any:
    """Returns a random JSON value."""
    simple = (None, True, -1, 0, 3, 2**31, 10**400, 1.5, "", "human", "x" * 500, "\ud800", "\x00", "1e9", "a:b")
    value = random.choice(simple)
    return random.choice((value, value, value, [value] * random.randrange(4), {"id": [{"text": value}]}))


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


# -- the games and agents that the page may name -------------------------------------------------------------------

SAVED: dict[str, Any] = json.loads(to_json(Session(GAME, PEOPLE)))


def test_page_offers_the_agents_that_play_a_game() -> None:
    def make_agent(text: str, env: Any) -> Any:
        """Makes agents; a search in Dots and Boxes, which takes seconds to load, is replaced."""
        quick = text.startswith("alphabeta") and env.id == "dots_and_boxes"
        return agents.make("first" if quick else text, env)

    with page(make=make_agent) as client:
        boxes = client.ask("agents", game="dots_and_boxes(rows=2, cols=2)")["agents"]
        star = client.ask("agents", game="chinese_checkers(size=2)")["agents"]
    assert {"human", "random", "greedy", "alphabeta(depth=4)"} <= set(boxes)
    assert len(set(boxes)) == len(boxes)
    assert "alphabeta(depth=4)" not in star


@pytest.mark.parametrize("game", jaxgames.list_games())
def test_page_offers_a_game_and_describes_it_in_words(here: Page, game: str) -> None:
    offered = here.get("/api/start").json()["games"]
    assert offered.keys() == set(jaxgames.list_games())
    assert [each["name"] for each in offered[game]["parameters"]] == [each.name for each in registry.parameters(game)]
    assert offered[game]["menus"]
    about = here.ask("describe", game=game)
    env = jaxgames.make(game)
    assert about["names"] == render.seat_names(env)
    assert [level["agent"] for level in about["levels"]] == list(baselines.levels(env).values())
    assert [level["words"] for level in about["levels"]] == ["Easy", "Medium", "Hard"]
    id = here.ask("new", game=game, seats=["human"] * env.num_players)["id"]
    for level in about["levels"]:  # the page may name all of them
        allowed.check_agent(GameServer(game, ("human", "human"), 0, agents.make), level["agent"])
    rules = here.ask("rules", game=game, theme="dark")
    assert rules["title"].startswith(here.ask("show", id=id)["title"])
    assert rules["title"].startswith(offered[game]["title"])
    assert rules["goal"]
    assert len(rules["paragraphs"]) >= 3
    assert len(rules["pictures"]) >= 2
    assert all(picture["svg"].startswith("<svg") and picture["caption"].endswith(".") for picture in rules["pictures"])


@pytest.mark.parametrize(
    "game",
    [
        *("os:path", "made_for_this_test:x", "tests.helpers.sticks:sticks", "nim", "dots_and_boxes(rows=99)", ""),
        "x" * 301,
    ],
)
def test_page_cannot_name_a_module_or_an_unknown_game(
    here: Page, game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_module(tmp_path, monkeypatch)
    before = set(sys.modules)
    here.refusal("new", 422, game=game, seats=PEOPLE)
    for verb in ("describe", "agents", "rules"):
        here.refusal(verb, 422, game=game)
    here.refusal("load", 422, saved=json.dumps(SAVED | {"env": game}))
    assert set(sys.modules) == before, "nothing was imported"


def refuse(here: Page, id: str, agent: str) -> None:
    """Checks that no request can name the agent."""
    seats = ["human", agent]
    here.refusal("new", 422, seats=seats)
    here.refusal("seats", 422, id=id, seats=seats)
    here.refusal("load", 422, saved=json.dumps(SAVED | {"agents": seats}))
    here.refusal("hint", 422, id=id, agent=agent)


def engine(program: str) -> str:
    return f'uci(command="{program}")'


def make_engine_or_first(text: str, env: Any) -> Any:
    """Makes engines; other agents, which can take seconds to load, are replaced."""
    return agents.make(text if text.startswith("uci") else "first", env)


ENGINE = engine(command("b2b3"))


@pytest.mark.parametrize("seats", [["human", ENGINE], PEOPLE], ids=["engine", "people"])
def test_page_has_the_engine_of_the_command_line_and_can_start_no_program(seats: list[str], tmp_path: Path) -> None:
    """The game is minichess, which engines play. An engine of the server cannot get another command either."""
    touched = tmp_path / "touched"
    with page(seats, "minichess", make=make_engine_or_first) as client:
        for text in (engine(f"touch {touched}"), f"mcts(playout='uci(command=\"touch {touched}\")')"):
            loaded = {"env": "minichess", "agents": ["human", text]}
            assert client.refusal("new", 422, game="minichess", seats=["human", text]).startswith("expected one of ")
            assert client.refusal("load", 422, saved=json.dumps(SAVED | loaded)).startswith("expected one of ")
        offered = {game: client.ask("agents", game=game)["agents"] for game in ("minichess", GAME)}
    assert not touched.exists()
    assert [text for text in offered["minichess"] if "uci" in text] == [text for text in seats if text == ENGINE]
    assert not any("uci" in text for text in offered[GAME])


def make_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a module `made_for_this_test`, which is not imported yet."""
    (folder / "made_for_this_test.py").touch()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "made_for_this_test", raising=False)


FOREIGN = ("made_for_this_test:x", "solver(made.npz)", "exported(made.npz)", "race(made.npz)")


@pytest.mark.parametrize("agent", [*allowed.SAFE_AGENTS, *FOREIGN, "", "nobody", "os:path", "uci(command=touch)"])
def test_page_cannot_name_an_agent_that_reads_files_or_imports_modules(
    here: Page, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as a parameter of an agent that it may name, whatever the parameter is called."""
    opened: list[str] = []
    open_file = io.open

    def recorded(file: Any, *arguments: Any, **options: Any) -> Any:
        opened.append(str(file))
        return open_file(file, *arguments, **options)

    make_module(tmp_path, monkeypatch)
    monkeypatch.setattr(io, "open", recorded)
    monkeypatch.setattr(builtins, "open", recorded)
    id = here.ask("new", seats=PEOPLE)["id"]
    if agent in allowed.SAFE_AGENTS:
        (parameters,) = re.findall("parameters are (.+)", here.refusal("new", 422, seats=["human", f"{agent}(x=1)"]))
        assert agent != "mcts" or {"playout", "simulations"} <= {*parameters.split(", ")}
        for parameter in parameters.split(", "):
            for value in (*FOREIGN[1:], *(f"mcts(playout={text!r})" for text in FOREIGN), "made.npz"):
                here.refusal("new", 422, seats=["human", f"{agent}({parameter}={value!r})"])
            refuse(here, id, f"{agent}({parameter}={FOREIGN[0]!r})")
    else:
        refuse(here, id, agent)
    assert "made_for_this_test" not in sys.modules
    assert "made.npz" not in opened


def test_reading_a_saved_game_imports_no_module_that_its_seats_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_module(tmp_path, monkeypatch)
    seats = ["made_for_this_test:x", "mcts(playout='made_for_this_test:x')"]
    game = Session(GAME, seats)
    game.play(0)
    assert from_json(to_json(game)).seats == tuple(seats)
    assert "made_for_this_test" not in sys.modules


def test_agent_inside_an_agent_may_be_one_that_does_not_search(here: Page) -> None:
    here.ask("new", seats=["human", "mcts(simulations=2, playout='greedy(epsilon=0.5)')"])
    reason = here.refusal("new", 422, seats=["human", "mcts(simulations=2, playout='mcts(simulations=2)')"])
    assert reason.startswith("expected one of random, first, greedy, baseline, not 'mcts(simulations=2)'")
    here.refusal("new", 422, seats=["human", "mcts(playout=5)"])
