"""Agents on the page's server: their moves, searches that are stopped, failures, hints, draws."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

import jaxgames
from jaxgames import agents
from jaxgames.play import Session
from jaxgames.play.web import snapshot
from jaxgames.play.web.live_games import GameServer
from tests.play.web.client import GAME, PEOPLE, Page, moves_of, page

START = "0000000 .. 0"  # of GAME


@dataclass(frozen=True)
class Gated:
    """Plays the first legal action and accepts draws, once the test opens the gate; before, it thinks."""

    on_device: ClassVar[bool] = False
    env: Any
    gate: threading.Event
    begun: list[str]  # what it has been asked

    def act(self, key: Any, states: Any) -> Any:
        self.begun.append("act")
        assert self.gate.wait(60)
        return agents.FirstAgent(self.env).act(key, states)

    def analyse(self, states: Any) -> agents.Analysis:
        self.begun.append("analyse")
        assert self.gate.wait(60)
        return agents.Analysis(jnp.zeros((1, self.env.num_actions)), jnp.zeros((1, self.env.num_players)))


class Failing:
    """Fails whatever it is asked."""

    on_device: ClassVar[bool] = False

    def act(self, key: Any, states: Any) -> Any:
        raise OSError("no disk")

    def analyse(self, states: Any) -> Any:
        raise OSError("no disk")


def gated_agents() -> tuple[threading.Event, list[str], Callable[[str, Any], Any]]:
    """Returns a gate, what agents named "gated" were asked, and the function that makes agents."""
    gate, begun = threading.Event(), list[str]()
    return gate, begun, lambda text, env: Gated(env, gate, begun) if text == "gated" else agents.make(text, env)


def make_failing(text: str, env: Any) -> Any:
    if text == "greedy":
        raise ImportError("mctx is missing")
    return Failing() if text == "failing" else agents.make(text, env)


# -- moves ---------------------------------------------------------------------------------------------------------


def test_agents_play_one_ply_at_a_time_until_a_person_is_to_move(here: Page) -> None:
    id = here.ask("new", seats=["human", "first"])["id"]
    here.ask("play", id=id, action=6, ply=0)
    view = here.wait(id, lambda view: view["mover"] == 0 and view["ply"] == 2)
    assert (moves_of(view), view["thinking"]) == (["v(0,2)", "h(0,0)"], None)
    assert here.ask("jump", id=id, ply=1)["waits"], "in an earlier position, until a person lets it move"
    here.ask("go", id=id)
    view = here.wait(id, lambda view: view["ply"] == 2)
    assert (view["plies"], view["waits"]) == (2, False)
    alone = here.ask("new", seats=["first", "random"])["id"]
    assert here.wait(alone, lambda view: view["over"])["plies"] == 7


def test_turn_of_a_person_that_cannot_go_on_ends_by_itself() -> None:
    with page(PEOPLE, "chinese_checkers(size=2, num_players=2)") as here:
        for hop, ends in (("2=>12", True), ("0=>7", False)):  # no hop follows the first one
            id = here.ask("new", seats=PEOPLE)["id"]
            view = here.ask("position", id=id, text="0/.0/...0.../....../...../....../...1.../1./1 0 - 1")
            action = next(move["action"] for move in view["legal"] if move["text"] == hop)
            view = here.ask("play", id=id, action=action, ply=0)
            assert moves_of(view) == ([hop, "end"] if ends else [hop])
            assert (view["mover"] == 0) == (not ends)
            assert ("Hop on, or end your turn" in view["status"]) == (not ends)


def test_search_is_stopped_dropped_and_waited_for_and_a_person_resigns_meanwhile() -> None:
    gate, begun, make = gated_agents()
    with page(["human", "gated"], make=make) as here:
        id = here.ask("new", seats=["human", "gated"])["id"]
        here.ask("play", id=id, action=0, ply=0)
        here.wait(id, lambda view: view["thinking"] == "gated" and len(begun) == 1)
        stopped = here.ask("stop", id=id)
        assert (stopped["thinking"], stopped["waits"], stopped["ply"]) == (None, True, 1)
        here.ask("undo", id=id)  # the search is still running, and nothing waits for it
        here.ask("play", id=id, action=3, ply=0)
        waiting = here.wait(id, lambda view: view["thinking"] == "gated")
        assert "after the search that was stopped" in waiting["status"]
        other = here.ask("new", seats=["human", "gated"])["id"]
        here.ask("play", id=other, action=0, ply=0)
        assert "only people resign" in here.refusal("resign", 422, id=other, seat=1)
        view = here.ask("resign", id=other, seat=0)
        assert (view["over"], view["thinking"], view["status"]) == (True, None, "You lost: you resigned")
        gate.set()
        view = here.wait(id, lambda view: view["ply"] == 2 and view["thinking"] is None)
        assert moves_of(view) == ["h(1,1)", "h(0,0)"], "the dropped search played nothing"
        assert here.ask("show", id=other)["plies"] == 1


def test_status_is_never_blank_while_an_agent_begins_to_think() -> None:
    seats = ("human", "first")
    game = GameServer(GAME, seats, 0, agents.make).add(Session(GAME, seats))
    game.session.play(6)
    view = snapshot.view(game, snapshot.Look())
    assert (view["thinking"], view["status"]) == (None, "Blue is thinking")


def test_page_shows_what_the_agent_of_the_last_move_thought(here: Page) -> None:
    id = here.ask("new", seats=["human", "random"])["id"]
    assert "no agent has played" in here.refusal("hint", 422, id=id, last=True)
    here.ask("play", id=id, action=6, ply=0)
    view = here.wait(id, lambda view: view["ply"] == 2)
    found = here.ask("hint", id=id, last=True)
    assert (len(found["moves"]), found["seat"], found["position"]) == (6, 1, view["position"])
    assert moves_of(view)[1] in [move["text"] for move in found["moves"]]


def test_failures_and_missing_extras_are_shown_and_the_game_goes_on() -> None:
    with page(["human", "failing"], make=make_failing) as here:
        assert here.refusal("new", 422, seats=["human", "greedy"]) == "mctx is missing"
        id = here.ask("new", seats=["human", "failing"])["id"]
        assert here.refusal("hint", 422, id=id, agent="failing") == "failing failed with OSError: no disk"
        here.ask("play", id=id, action=0, ply=0)
        view = here.wait(id, lambda view: view["problem"] != "")
        assert (view["problem"], view["waits"]) == ("OSError: no disk", True)
        here.ask("seats", id=id, seats=["human", "first"])
        assert here.wait(id, lambda view: view["ply"] == 2)["problem"] == ""


def test_agents_are_made_outside_of_the_event_loop() -> None:
    threads: dict[str, str] = {}

    def make(text: str, env: Any) -> Any:
        threads[text] = threading.current_thread().name
        return agents.make("first" if text.startswith("alphabeta") else text, env)  # whose search takes long to load

    with page(make=make) as here:
        id = here.ask("new", seats=["human", "first"])["id"]
        here.ask("seats", id=id, seats=["human", "greedy(epsilon=0.5)"])
        here.ask("agents", game=GAME)
    assert {"first", "greedy(epsilon=0.5)", "greedy", "baseline"} <= threads.keys()
    assert set(threads.values()) == {"files"}


# -- draws ---------------------------------------------------------------------------------------------------------


def test_people_agree_on_a_draw_and_a_move_declines_it(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    view = here.ask("draw", id=id)
    assert (view["offers"], view["over"], view["status"]) == ([0], False, "Red offers a draw. Red to move")
    assert here.ask("play", id=id, action=0, ply=0)["offers"] == []
    assert here.ask("draw", id=id)["offers"] == [1]
    view = here.ask("draw", id=id)
    assert (view["over"], view["status"]) == (True, "Draw: agreed by the players")
    assert json.loads(view["saved"])["agreed"]
    here.refusal("draw", 422, id=id)
    assert not here.ask("undo", id=id)["over"]


def test_draw_is_offered_at_a_turn_of_a_person_and_refused_by_an_agent_without_values(here: Page) -> None:
    view = here.ask("new", seats=["human", "first"])
    id = view["id"]
    assert view["can_draw"]
    here.ask("draw", id=id)
    view = here.wait(id, lambda view: view["offers"] == [])
    assert (view["over"], view["status"]) == (False, "Blue refuses the draw. Your turn (Red)")
    here.ask("play", id=id, action=6, ply=0)
    view = here.wait(id, lambda view: view["ply"] == 2)
    assert view["status"] == "Your turn (Red). Blue played h(0,0)"
    here.ask("jump", id=id, ply=1)
    assert "no person is to move" in here.refusal("draw", 422, id=id)
    odd = here.ask("new", game="dots_and_boxes(rows=1, cols=1)", seats=["human", "first"])
    assert not odd["can_draw"]
    assert "ends in a draw" in here.refusal("draw", 422, id=odd["id"])


def test_offer_of_a_draw_is_considered_and_ends_if_the_agent_fails() -> None:
    gate, begun, make = gated_agents()
    with page(["human", "gated"], make=make) as here:
        id = here.ask("new", seats=PEOPLE)["id"]
        here.ask("position", id=id, text=START)  # where an agent also answers before every seat has moved
        here.ask("seats", id=id, seats=["human", "gated"])
        here.ask("draw", id=id)
        view = here.wait(id, lambda view: begun == ["analyse"] and view["offers"] == [0])
        assert view["status"] == "You offer a draw. Blue considers it"
        here.refusal("draw", 422, id=id)
        gate.set()
        assert here.wait(id, lambda view: view["over"])["status"] == "Draw: agreed by the players"
    with page(["human", "failing"], make=make_failing) as here:
        id = here.ask("new", seats=["human", "failing"])["id"]
        here.ask("position", id=id, text=START)
        for _ in range(2):
            here.ask("draw", id=id)
            view = here.wait(id, lambda view: view["offers"] == [])
            assert view["problem"] == "ValueError: failing failed with OSError: no disk"


def test_answer_to_an_offer_of_a_draw_does_not_end_another_game() -> None:
    """The other game has no plies either, and the person offers a draw only once."""
    gate, begun, make = gated_agents()
    seats = ("human", "gated")
    server = GameServer(GAME, seats, 0, make)
    game = server.add(Session(GAME, seats, state=jaxgames.make(GAME).from_string(START)))

    async def run() -> None:
        game.offer_draw()
        while not begun:
            await asyncio.sleep(0.001)
        game.change(lambda session: Session("dots_and_boxes(rows=2, cols=2)", seats))
        gate.set()
        await server.agents.run(lambda: None)  # after the answer

    asyncio.run(run())
    assert not game.session.over
    assert game.offers == ()
