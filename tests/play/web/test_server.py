"""Requests of the page to its server: games, positions, agents, files."""

import asyncio
import contextlib
import importlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jaxgames
import jaxgames.play
from benchmarks.play import served
from jaxgames import agents
from jaxgames.play import Session
from jaxgames.play.web import allowed as offers
from jaxgames.play.web import live_games as tables
from jaxgames.play.web import routes, server
from jaxgames.play.web import threads as workers
from jaxgames.play.web.live_games import House
from tests.play.web.client import GAME, Page, moves_of, page, saved_game

PEOPLE = ["human", "human"]


@pytest.fixture(scope="module")
def here() -> Iterator[Page]:
    with page() as client:
        yield client


def shown(view: dict[str, Any]) -> tuple[Any, ...]:
    """The parts of a view that must be those of a session."""
    legal = [(move["action"], move["text"], move["source"], move["target"], move["kind"]) for move in view["legal"]]
    return view["ply"], view["plies"], view["mover"], view["over"], legal, moves_of(view)


def of_session(session: Session) -> tuple[Any, ...]:
    legal = [tuple(move[:5]) for move in session.legal()]
    return session.ply, session.plies, session.mover, session.over, legal, session.moves()


# -- a game --------------------------------------------------------------------------------------------------------


def test_page_shows_what_the_session_has_at_every_move_and_at_the_end(here: Page) -> None:
    session = Session(GAME, PEOPLE)
    view = here.ask("new", seats=PEOPLE)
    while not session.over:
        assert shown(view) == of_session(session)
        assert view["position"] == session.env.to_string(session.state)
        assert len(view["cells"]) == session.env.num_actions
        action = session.legal()[-1].action
        session.play(action)
        view = here.ask("play", table=view["table"], action=action, ply=view["ply"])
    assert shown(view) == of_session(session)
    assert view["status"].startswith("Seat")
    assert "wins" in view["status"]
    assert here.refusal("play", 422, table=view["table"], action=0, ply=7).endswith("none, the game is over")


def test_undo_redo_and_jump_are_those_of_the_session(here: Page) -> None:
    session = Session(GAME, PEOPLE)
    table = here.ask("new", seats=PEOPLE)["table"]
    for action in (0, 2, 4, 5):
        session.play(action)
        here.ask("play", table=table, action=action, ply=session.ply - 1)
    steps: list[tuple[str, dict[str, Any], Any]] = [
        ("undo", {}, session.undo),
        ("undo", {"turn": True}, session.undo_turn),
        ("redo", {}, session.redo),
        ("jump", {"ply": 4}, lambda: session.jump(4)),
        ("jump", {"ply": 1}, lambda: session.jump(1)),
        ("play", {"action": 6, "ply": 1}, lambda: session.play(6)),  # drops what followed
    ]
    for verb, fields, step in steps:
        step()
        assert shown(here.ask(verb, table=table, **fields)) == of_session(session), verb
    here.refusal("redo", 422, table=table)
    here.refusal("jump", 422, table=table, ply=3)


def test_illegal_and_late_moves_change_nothing_and_the_reason_names_the_legal_ones(here: Page) -> None:
    table = here.ask("new", seats=PEOPLE)["table"]
    view = here.ask("play", table=table, action=0, ply=0)
    reason = here.refusal("play", 422, table=table, action=0, ply=1)
    assert reason == "action 0 is not legal here; the legal moves are h(0,1), h(1,0), h(1,1), v(0,0), v(0,1), v(0,2)"
    here.refusal("play", 409, table=table, action=1, ply=0)
    here.refusal("play", 422, table=table, action=10**6, ply=1)
    assert here.ask("show", table=table) == view


def test_person_resigns_and_takes_it_back(here: Page) -> None:
    table = here.ask("new", seats=PEOPLE)["table"]
    resigned = here.ask("resign", table=table)
    assert resigned["status"] == "Seat 1 wins: Seat 0 resigned"
    assert "Seat 1 wins: Seat 0 resigned" in resigned["svg"]
    assert "to move" not in resigned["svg"]
    undone = here.ask("undo", table=table)
    assert not undone["over"]
    assert "seat 0 to move" in undone["svg"]


def test_last_turn_is_marked_in_both_themes(here: Page) -> None:
    table = here.ask("new", seats=PEOPLE)["table"]
    for action in (0, 2, 4, 5):  # the fourth edge completes a box, so seat 1 moves again
        view = here.ask("play", table=table, action=action, ply=here.ask("show", table=table)["ply"])
    session = Session.from_json(saved_game(view))
    for theme in ("light", "dark"):
        drawn = jaxgames.render.svg(session.env, session.state, last="v(0,1)", theme=theme).svg
        assert here.ask("show", table=table, theme=theme)["svg"] == drawn


# -- positions and files -------------------------------------------------------------------------------------------


def test_position_is_set_up_and_a_wrong_one_shows_the_error_of_the_game(here: Page) -> None:
    table = here.ask("new", seats=PEOPLE)["table"]
    view = here.ask("position", table=table, text="1100000 .. 1")
    assert (view["position"], view["ply"], view["mover"]) == ("1100000 .. 1", 0, 1)
    with pytest.raises(ValueError, match="expected") as raised:
        jaxgames.make(GAME).from_string("11x0000 .. 1")
    assert here.refusal("position", 422, table=table, text="11x0000 .. 1") == str(raised.value)
    assert here.ask("show", table=table)["position"] == "1100000 .. 1"


def test_saved_game_is_loaded_and_one_that_does_not_replay_is_refused_with_its_move(here: Page) -> None:
    table = here.ask("new", seats=PEOPLE)["table"]
    for action in (0, 3):
        here.ask("play", table=table, action=action, ply=here.ask("show", table=table)["ply"])
    text = here.get(f"/api/game?table={table}").text
    assert json.loads(text) == json.loads(saved_game(here.ask("show", table=table)))
    loaded = here.ask("load", saved=text)
    assert loaded["table"] != table
    assert shown(loaded) == shown(here.ask("show", table=table))
    twice = json.dumps({**json.loads(text), "moves": ["h(0,0)", "h(0,0)"]})
    assert "move 2 of the saved game, 'h(0,0)'" in here.refusal("load", 422, saved=twice)
    for wrong in (
        "",
        "[]",
        "{}",
        "x",
        text.replace("dots_and_boxes", "os:dots_and_boxes"),
        text.replace("human", "a:b"),
    ):
        here.refusal("load", 422, saved=wrong)


def test_still_page_is_sent_as_a_text_so_that_it_cannot_run_here(here: Page) -> None:
    view = here.ask("new", seats=PEOPLE)
    response = here.get(f"/api/still?table={view['table']}")
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text == Session.from_json(saved_game(view)).to_html()


def test_others_are_answered_while_a_game_is_loaded(here: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(house: House, saved: str) -> Session:
        begun.set()
        assert gate.wait(60)
        return load(house, saved)

    load = offers.load
    monkeypatch.setattr(offers, "load", slow)
    view = here.ask("new", seats=PEOPLE)
    replies: list[dict[str, Any]] = []
    loader = threading.Thread(target=lambda: replies.append(here.ask("load", saved=saved_game(view))))
    loader.start()
    assert begun.wait(60)
    assert here.ask("play", table=view["table"], action=0, ply=0)["ply"] == 1
    gate.set()
    loader.join(60)
    assert [reply["ply"] for reply in replies] == [0]


# -- the server's limits -------------------------------------------------------------------------------------------


def test_oldest_table_gives_way_to_the_next_one_above_the_limit(here: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_TABLES", 3)
    first, second = (here.ask("new", seats=PEOPLE)["table"] for _ in range(2))
    here.ask("show", table=first)
    for _ in range(2):
        here.ask("new", seats=PEOPLE)
    here.ask("show", table=first)
    assert "restarted" in here.refusal("show", 404, table=second)


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection; waits for it until the connection's timeout."""
    try:
        return connection.recv(2**16) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET "])
def test_connection_whose_headers_do_not_end_is_closed(first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.5)
    with served(jaxgames.make(GAME), PEOPLE) as address:
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=0.1) as connection:
            connection.sendall(first)
            for _ in range(100):
                if is_closed(connection):
                    return
                if first:
                    with contextlib.suppress(ConnectionError):
                        connection.sendall(b"a")  # one more byte of the headers
    raise AssertionError("the connection is still open")


def test_saved_game_above_the_limit_is_refused(here: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(GAME, PEOPLE)
    for action in (0, 3):
        session.play(action)
    monkeypatch.setattr(tables, "MAX_PLIES", 2)
    assert here.ask("load", saved=session.to_json())["plies"] == 2
    monkeypatch.setattr(tables, "MAX_PLIES", 1)
    assert "1 submoves at most, not 2" in here.refusal("load", 422, saved=session.to_json())


def test_start_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("starlette", "uvicorn"):
            monkeypatch.setitem(sys.modules, name, None)
    for name in ("server", "routes"):
        monkeypatch.delitem(sys.modules, f"jaxgames.play.{name}", raising=False)
        monkeypatch.delattr(jaxgames.play, name, raising=False)
    with pytest.raises(ImportError, match=r'missing; install it with: pip install "jaxgames\[play\]"$'):
        importlib.import_module("jaxgames.play.web.server")


# -- what a page knows ---------------------------------------------------------------------------------------------


def moves_after(view: dict[str, Any], moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The submoves of a page that had `moves` and is sent a view."""
    begin, after = view["history"]["begin"], view["history"]["after"]
    assert after == (moves[begin - 1]["serial"] if begin else 0)
    return [*moves[:begin], *view["history"]["moves"]]


def test_page_is_sent_only_the_submoves_that_it_does_not_know(here: Page) -> None:
    view = here.ask("new", seats=PEOPLE)
    table, moves = view["table"], list[dict[str, Any]]()
    steps: list[tuple[str, dict[str, Any], int]] = [
        ("play", {"action": 0, "ply": 0}, 1),
        ("play", {"action": 2, "ply": 1}, 1),
        ("undo", {}, 0),
        ("redo", {}, 0),
        ("jump", {"ply": 1}, 0),
        ("play", {"action": 6, "ply": 1}, 1),  # in place of the second one
        ("seats", {"seats": ["human", "human"]}, 0),
        ("jump", {"ply": 0}, 0),
        ("resign", {}, 0),  # drops all
        ("undo", {}, 0),
        ("play", {"action": 1, "ply": 0}, 1),
        ("position", {"text": "1100000 .. 1"}, 0),
        ("play", {"action": 5, "ply": 0}, 1),
    ]
    for verb, fields, new in steps:
        known = moves[-1]["serial"] if moves else 0
        view = here.ask(verb, table=table, known=known, **fields)
        assert len(view["history"]["moves"]) == new, verb
        moves = moves_after(view, moves)
        whole = here.ask("show", table=table)
        assert moves == whole["history"]["moves"]
        assert moves_of(whole) == Session.from_json(here.get(f"/api/game?table={table}").text).moves()


# -- events --------------------------------------------------------------------------------------------------------


def test_events_tell_every_change_and_end_with_the_table() -> None:
    async def run() -> list[int]:
        house = House(GAME, ("human", "human"), 0, agents.make, 0.0)
        table = house.seat(Session(GAME, PEOPLE))
        plies, moves, sent = list[int](), list[dict[str, Any]](), list[int]()
        async for event in routes.events_of(house, table, "light"):
            view = json.loads(event.removeprefix("data: "))
            plies.append(view["ply"])
            moves[:] = moves_after(view, moves)
            sent.append(len(view["history"]["moves"]))
            if len(plies) < 3:
                await table.change(lambda session: session.play(len(plies)))
            else:
                table.close()
        assert [move["text"] for move in moves] == table.session.moves()
        assert sum(sent) == 2, "each submove is sent once"
        return plies

    assert sorted(set(asyncio.run(run()))) == [0, 1, 2]


def test_events_end_if_too_many_requests_are_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[str]:
        house = House(GAME, ("human", "human"), 0, agents.make, 0.0)
        table = house.seat(Session(GAME, PEOPLE))
        monkeypatch.setattr(workers, "MAX_WAITING", -1)
        return [event async for event in routes.events_of(house, table, "light")]

    assert asyncio.run(run()) == []


def test_server_has_every_file_of_the_page() -> None:
    folder = Path(jaxgames.play.__file__).parent / "page"
    assert {file.name for file in folder.iterdir()} == {"page.html", *routes.FILES}
