"""What the page's server does with the requests of its page: games, positions, agents, files."""

import asyncio
import importlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import jaxgames
import jaxgames.play
from jaxgames import agents
from jaxgames.play import Session, routes, tables
from jaxgames.play.tables import House
from tests.play.client import GAME, Page, page

PEOPLE = ["human", "human"]


@pytest.fixture(scope="module")
def here() -> Iterator[Page]:
    with page() as client:
        yield client


def shown(view: dict[str, Any]) -> tuple[Any, ...]:
    """What a page and a session must agree on."""
    legal = [(move["action"], move["text"], move["source"], move["target"], move["kind"]) for move in view["legal"]]
    return view["ply"], view["plies"], view["mover"], view["over"], legal, [each["text"] for each in view["history"]]


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
    session = Session.from_json(view["saved"])
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
    assert text == here.ask("show", table=table)["saved"]
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
    assert response.text == Session.from_json(view["saved"]).to_html()


# -- the server's limits -------------------------------------------------------------------------------------------


def test_oldest_table_gives_way_to_the_next_one_above_the_limit(here: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_TABLES", 3)
    first, second = (here.ask("new", seats=PEOPLE)["table"] for _ in range(2))
    here.ask("show", table=first)
    for _ in range(2):
        here.ask("new", seats=PEOPLE)
    here.ask("show", table=first)
    assert "restarted" in here.refusal("show", 404, table=second)


def test_start_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("starlette", "uvicorn"):
            monkeypatch.setitem(sys.modules, name, None)
    for name in ("server", "routes"):
        monkeypatch.delitem(sys.modules, f"jaxgames.play.{name}", raising=False)
        monkeypatch.delattr(jaxgames.play, name, raising=False)
    with pytest.raises(ImportError, match=r'missing; install it with: pip install "jaxgames\[play\]"$'):
        importlib.import_module("jaxgames.play.server")


# -- agents --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gated:
    """Plays the first legal action once the test opens the gate; before, it thinks."""

    on_device: ClassVar[bool] = False
    env: Any
    gate: threading.Event
    begun: list[str]  # the positions that it has been asked about

    def act(self, key: Any, states: Any) -> Any:
        self.begun.append(f"{int(states.edges.sum())} edges")
        assert self.gate.wait(60)
        return agents.FirstAgent(self.env).act(key, states)


class Failing:
    """Fails whatever it is asked."""

    on_device: ClassVar[bool] = False

    def act(self, key: Any, states: Any) -> Any:
        raise OSError("no disk")

    def analyse(self, states: Any) -> Any:
        raise OSError("no disk")


def test_agents_play_one_submove_at_a_time_until_a_person_is_to_move() -> None:
    with page(["human", "first"]) as here:
        table = here.ask("new", seats=["human", "first"])["table"]
        here.ask("play", table=table, action=6, ply=0)
        view = here.wait(table, lambda view: view["mover"] == 0 and view["ply"] == 2)
        assert [each["text"] for each in view["history"]] == ["v(0,2)", "h(0,0)"]
        assert view["thinking"] is None
        alone = here.ask("new", seats=["first", "random"])["table"]
        assert here.wait(alone, lambda view: view["over"])["plies"] == 7


def test_search_is_stopped_dropped_and_waited_for() -> None:
    gate, begun = threading.Event(), list[str]()

    def make(text: str, env: Any) -> Any:
        return Gated(env, gate, begun) if text == "gated" else agents.make(text, env)

    with page(["human", "gated"], make=make) as here:
        table = here.ask("new", seats=["human", "gated"])["table"]
        here.ask("play", table=table, action=0, ply=0)
        here.wait(table, lambda view: view["thinking"] == "gated" and len(begun) == 1)
        stopped = here.ask("stop", table=table)
        assert (stopped["thinking"], stopped["waits"], stopped["ply"]) == (None, True, 1)
        here.ask("undo", table=table)  # the search is still running, and nothing waits for it
        here.ask("play", table=table, action=3, ply=0)
        waiting = here.wait(table, lambda view: view["thinking"] == "gated")
        assert "after the search that was stopped" in waiting["status"]
        gate.set()
        view = here.wait(table, lambda view: view["ply"] == 2 and view["thinking"] is None)
        assert [each["text"] for each in view["history"]] == ["h(1,1)", "h(0,0)"], "the dropped search played nothing"


def test_agent_waits_in_an_earlier_position_until_a_person_lets_it_move() -> None:
    with page(["human", "first"]) as here:
        table = here.ask("new", seats=["human", "first"])["table"]
        here.ask("play", table=table, action=6, ply=0)
        here.wait(table, lambda view: view["ply"] == 2)
        assert here.ask("undo", table=table)["waits"]
        here.ask("go", table=table)
        view = here.wait(table, lambda view: view["ply"] == 2)
        assert (view["plies"], view["waits"]) == (2, False)


def test_failure_of_an_agent_is_shown_and_the_game_goes_on(here: Page) -> None:
    def make(text: str, env: Any) -> Any:
        if text == "broken":
            return Gated(env, threading.Event(), None)  # pyright: ignore[reportArgumentType]  # the agent fails with it
        return agents.make(text, env)

    with page(["human", "broken"], make=make) as other:
        table = other.ask("new", seats=["human", "broken"])["table"]
        other.ask("play", table=table, action=0, ply=0)
        view = other.wait(table, lambda view: view["problem"] != "")
        assert view["problem"].startswith("AttributeError")
        assert view["waits"]
        other.ask("seats", table=table, seats=["human", "first"])
        assert other.wait(table, lambda view: view["ply"] == 2)["problem"] == ""


def test_hint_has_probabilities_of_all_legal_moves_and_they_sum_to_one(here: Page) -> None:
    table = here.ask("new", seats=PEOPLE)["table"]
    here.ask("play", table=table, action=0, ply=0)
    hint = here.ask("hint", table=table, agent="random")
    assert {move["action"] for move in hint["moves"]} == set(range(1, 7))
    assert sum(move["probability"] for move in hint["moves"]) == pytest.approx(1)
    assert hint["values"] is None


def test_game_of_agents_stops_before_it_fills_the_memory(here: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_PLIES", 3)
    table = here.ask("new", seats=["first", "random"])["table"]
    view = here.wait(table, lambda view: view["problem"] != "")
    assert (view["ply"], view["waits"]) == (3, True)
    here.ask("seats", table=table, seats=PEOPLE)
    assert "ends after 3 submoves" in here.refusal("play", 422, table=table, action=view["legal"][0]["action"], ply=3)


def test_missing_extra_and_failure_of_an_agent_are_told_to_the_page() -> None:
    def make(text: str, env: Any) -> Any:
        if text == "greedy":
            raise ImportError("mctx is missing")
        return Failing()

    with page(["human", "failing"], make=make) as other:
        assert other.refusal("new", 422, seats=["human", "greedy"]) == "mctx is missing"
        table = other.ask("new", seats=["human", "failing"])["table"]
        assert other.refusal("hint", 422, table=table, agent="failing") == "failing failed with OSError: no disk"


# -- events --------------------------------------------------------------------------------------------------------


def test_events_tell_every_change_and_end_with_the_table() -> None:
    async def run() -> list[int]:
        house = House(GAME, ("human", "human"), 0, agents.make, 0.0)
        table = house.seat(Session(GAME, PEOPLE))
        plies: list[int] = []
        async for event in routes.events_of(house, table, "light"):
            plies.append(json.loads(event.removeprefix("data: "))["ply"])
            if len(plies) < 3:
                await table.change(lambda session: session.play(len(plies)))
            else:
                table.close()
        return plies

    assert sorted(set(asyncio.run(run()))) == [0, 1, 2]


def test_files_of_the_page_are_part_of_the_package() -> None:
    folder = Path(jaxgames.play.__file__).parent / "page"
    assert {file.name for file in folder.iterdir()} == {"page.html", *routes.FILES}
