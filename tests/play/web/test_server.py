"""Requests of the page to its server: games, positions, agents, files."""

import asyncio
import functools
import importlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from jaxgames import agents
from jaxgames.play import Session, from_json, to_html, to_json, web
from jaxgames.play.web import allowed, routes
from jaxgames.play.web.live_games import GameServer
from jaxgames.play.web.snapshot import Look
from tests.play.web.client import GAME, Page, moves_of, page

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
        if session.ply == 1:
            drawn = functools.partial(jaxgames.render.svg, session.env, session.state, seat=0, caption=False)
            assert view["svg"] == drawn(last=session.moves()[0]).svg
            dark = drawn(last=session.moves()[0], theme="dark").svg
            assert here.ask("show", id=view["id"], theme="dark")["svg"] == dark
        assert view["position"] == session.env.to_string(session.state)
        assert len(view["cells"]) == session.env.num_actions
        action = session.legal()[-1].action
        session.play(action)
        view = here.ask("play", id=view["id"], action=action, ply=view["ply"])
    assert shown(view) == of_session(session)
    assert view["saved"] == to_json(session)
    assert view["status"] == "Blue wins 2 : 0"
    assert here.refusal("play", 422, id=view["id"], action=0, ply=7).startswith("the game is over")


def test_undo_and_jump_are_those_of_the_session(here: Page) -> None:
    session = Session(GAME, PEOPLE)
    id = here.ask("new", seats=PEOPLE)["id"]
    for action in (0, 2, 4, 5):
        session.play(action)
        here.ask("play", id=id, action=action, ply=session.ply - 1)
    steps: list[tuple[str, dict[str, Any], Any]] = [
        ("undo", {}, session.undo_turn),
        ("jump", {"ply": 4}, lambda: session.jump(4)),
        ("jump", {"ply": 1}, lambda: session.jump(1)),
        ("play", {"action": 6, "ply": 1}, lambda: session.play(6)),  # drops what followed
    ]
    for verb, fields, step in steps:
        step()
        assert shown(here.ask(verb, id=id, **fields)) == of_session(session), verb
    here.refusal("jump", 422, id=id, ply=3)


def test_earlier_position_of_a_finished_game_says_that_it_is_the_past(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    here.ask("play", id=id, action=0, ply=0)
    assert here.ask("jump", id=id, ply=0)["status"] == "Red to move, at the start. A new move drops the later ones"
    here.ask("jump", id=id, ply=1)
    ended = here.ask("resign", id=id)
    assert (ended["over"], ended["ended"]) == (True, True)
    past = here.ask("jump", id=id, ply=0)
    assert (past["over"], past["ended"], past["status"]) == (False, True, "Looking back at the start")


def test_outlined_goal_is_the_persons_whichever_side_is_at_the_bottom() -> None:
    game = "chinese_checkers(size=1, num_players=3)"
    env = jaxgames.make(game)
    with page(["first", "human", "first"], game) as client:
        id = client.ask("new", seats=["human", "first", "first"])["id"]
        for seat in (0, 1):
            drawn = jaxgames.render.svg(env, env.init(), seat=seat, goal_of=0, width=400.0, caption=False).svg
            assert client.ask("show", id=id, seat=seat)["svg"] == drawn


def test_refused_move_changes_nothing(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    view = here.ask("play", id=id, action=0, ply=0)
    reason = here.refusal("play", 422, id=id, action=0, ply=1)
    assert reason == "action 0 is illegal here; the legal moves are h(0,1), h(1,0), h(1,1), v(0,0), v(0,1), v(0,2)"
    here.refusal("play", 409, id=id, action=1, ply=0)
    here.refusal("play", 422, id=id, action=10**6, ply=1)
    assert here.ask("show", id=id) == view


# -- positions and files -------------------------------------------------------------------------------------------


def test_position_is_set_up(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    view = here.ask("position", id=id, text="1100000 .. 1")
    assert (view["position"], view["ply"], view["mover"]) == ("1100000 .. 1", 0, 1)
    with pytest.raises(ValueError, match="expected") as raised:
        jaxgames.make(GAME).from_string("11x0000 .. 1")
    assert here.refusal("position", 422, id=id, text="11x0000 .. 1") == str(raised.value)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"actions": [0, 0]}, "action 2 of the saved game cannot be played"),
        ({"env": "os:dots_and_boxes"}, "the game must be one of"),
        ({"agents": ["human", "a:b"]}, "expected one of human, random"),
    ],
)
def test_saved_game_is_refused_with_its_reason(here: Page, changed: dict[str, Any], reason: str) -> None:
    saved = json.dumps({**json.loads(to_json(Session(GAME, PEOPLE))), **changed})
    assert reason in here.refusal("load", 422, saved=saved)


def test_still_page_is_sent_as_a_text_so_that_it_cannot_run_here(here: Page) -> None:
    view = here.ask("new", seats=PEOPLE)
    view = here.ask("load", saved=here.ask("play", id=view["id"], action=3, ply=0)["saved"])
    response = here.get(f"/api/still?id={view['id']}")
    assert moves_of(view) == ["h(1,1)"]
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text == to_html(from_json(view["saved"]))


def test_others_are_answered_while_a_game_is_loaded(here: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(server: GameServer, saved: str) -> Session:
        begun.set()
        assert gate.wait(60)
        return load(server, saved)

    load = allowed.load
    monkeypatch.setattr(allowed, "load", slow)
    view = here.ask("new", seats=PEOPLE)
    replies: list[dict[str, Any]] = []
    loader = threading.Thread(target=lambda: replies.append(here.ask("load", saved=view["saved"])))
    loader.start()
    assert begun.wait(60)
    assert here.ask("play", id=view["id"], action=0, ply=0)["ply"] == 1
    gate.set()
    loader.join(60)
    assert [reply["ply"] for reply in replies] == [0]


# -- starting and ending -----------------------------------------------------------------------------------------------


def test_start_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("starlette", "uvicorn"):
            monkeypatch.setitem(sys.modules, name, None)
    for name in ("server", "routes"):
        monkeypatch.delitem(sys.modules, f"jaxgames.play.web.{name}")
        monkeypatch.delattr(web, name)
    with pytest.raises(ImportError, match=r'missing; install it with: pip install "jaxgames\[play\]"$'):
        importlib.import_module("jaxgames.play.web.server")


# -- events --------------------------------------------------------------------------------------------------------


def test_events_tell_every_change_until_the_game_is_closed() -> None:
    async def run() -> list[list[str]]:
        game = GameServer(GAME, ("human", "human"), 0, agents.make, 0.0).add(Session(GAME, PEOPLE))
        moves: list[list[str]] = []
        async for event in routes.events_of(game, Look()):
            moves.append(moves_of(json.loads(event.removeprefix("data: "))))
            if len(moves) < 3:
                game.change(lambda session: session.play(len(moves)))
            else:
                game.close()
        return moves

    assert asyncio.run(run()) == [[], ["h(0,1)"], ["h(0,1)", "h(1,0)"]]


def test_server_has_every_file_of_the_page() -> None:
    folder = Path(routes.__file__).parent / "page"
    assert {file.name for file in folder.iterdir()} == {"page.html", *routes.FILES}
