"""Agents on the page's server: their moves, searches that are stopped, failures, hints."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from jaxgames import agents
from jaxgames.play import Session
from jaxgames.play.web import live_games as tables
from jaxgames.play.web import snapshot as views
from jaxgames.play.web.live_games import House, Table, Thinking
from tests.play.web.client import GAME, Page, moves_of, page

PEOPLE = ["human", "human"]


@pytest.fixture(scope="module")
def here() -> Iterator[Page]:
    with page() as client:
        yield client


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
        assert moves_of(view) == ["v(0,2)", "h(0,0)"]
        assert view["thinking"] is None
        alone = here.ask("new", seats=["first", "random"])["table"]
        assert here.wait(alone, lambda view: view["over"])["plies"] == 7


def test_person_resigns_while_an_agent_thinks() -> None:
    gate, begun = threading.Event(), list[str]()

    def make(text: str, env: Any) -> Any:
        return Gated(env, gate, begun) if text == "gated" else agents.make(text, env)

    with page(["human", "gated"], make=make) as other:
        table = other.ask("new", seats=["human", "gated"])["table"]
        other.ask("play", table=table, action=0, ply=0)
        other.wait(table, lambda view: view["thinking"] == "gated" and len(begun) == 1)
        assert "only people resign" in other.refusal("resign", 422, table=table, seat=1)
        view = other.ask("resign", table=table, seat=0)
        assert (view["over"], view["thinking"], view["status"]) == (True, None, "Seat 1 wins: Seat 0 resigned")
        gate.set()
        later = other.ask("new", seats=["first", "human"])["table"]
        other.wait(later, lambda view: view["ply"] == 1)  # its agent moves after the search that was dropped
        assert other.ask("show", table=table)["plies"] == 1


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
        assert moves_of(view) == ["h(1,1)", "h(0,0)"], "the dropped search played nothing"


def test_agent_waits_in_an_earlier_position_until_a_person_lets_it_move() -> None:
    with page(["human", "first"]) as here:
        table = here.ask("new", seats=["human", "first"])["table"]
        here.ask("play", table=table, action=6, ply=0)
        here.wait(table, lambda view: view["ply"] == 2)
        assert here.ask("undo", table=table)["waits"]
        here.ask("go", table=table)
        view = here.wait(table, lambda view: view["ply"] == 2)
        assert (view["plies"], view["waits"]) == (2, False)


def test_failure_of_an_agent_is_shown_and_the_game_goes_on() -> None:
    def make(text: str, env: Any) -> Any:
        return Failing() if text == "failing" else agents.make(text, env)

    with page(["human", "failing"], make=make) as other:
        table = other.ask("new", seats=["human", "failing"])["table"]
        other.ask("play", table=table, action=0, ply=0)
        view = other.wait(table, lambda view: view["problem"] != "")
        assert view["problem"] == "OSError: no disk"
        assert view["waits"]
        other.ask("seats", table=table, seats=["human", "first"])
        assert other.wait(table, lambda view: view["ply"] == 2)["problem"] == ""


def test_view_is_made_of_one_moment_while_a_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = [None, Thinking(1, "first", waits=False)]
    seats = ["human", "first"]
    house = House(GAME, tuple(seats), 0, agents.make)
    table = house.seat(Session(GAME, seats))
    table.session.play(0)
    monkeypatch.delattr(table, "thinking")
    monkeypatch.setattr(Table, "thinking", property(lambda table: searches.pop()), raising=False)
    view = views.view(table, "light")
    assert (view["thinking"], view["waits"], view["status"]) == ("first", False, "Seat 1: first is thinking")


def test_agents_are_made_outside_of_the_thread_of_the_rules() -> None:
    threads: dict[str, str] = {}

    def make(text: str, env: Any) -> Any:
        threads[text] = threading.current_thread().name
        return agents.make(text, env)

    with page(["human", "human"], make=make) as other:
        table = other.ask("new", seats=["human", "first"])["table"]
        other.ask("seats", table=table, seats=["human", "greedy(epsilon=0.5)"])
        other.ask("describe", game=GAME)
    assert {"first", "greedy(epsilon=0.5)", "greedy", "baseline"} <= threads.keys()
    assert set(threads.values()) == {"files"}


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
