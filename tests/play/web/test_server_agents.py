"""Agents on the page's server: their moves, searches that are stopped, failures, hints, draws."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

import jaxgames
from jaxgames import agents
from jaxgames.play import Session
from jaxgames.play.web import snapshot
from jaxgames.play.web.live_games import GameServer
from tests.helpers.scripted_agents import HostAgent
from tests.play.web.client import GAME, PEOPLE, moves_of, page, run_in_thread

START = "0000000 .. 0"  # of GAME


def gated_agents() -> tuple[threading.Event, list[str], Callable[[str, Any], Any]]:
    """Returns a gate, what agents named "gated" were asked, and the function that makes agents.

    They play the first legal action and accept draws, once the test opens the gate; before, they think.
    """
    gate, begun = threading.Event(), list[str]()

    def make(text: str, env: Any) -> Any:
        def act(key: Any, states: Any) -> Any:
            begun.append("act")
            assert gate.wait(60)
            return agents.FirstAgent(env).act(key, states)

        def analyse(states: Any) -> agents.Analysis:
            begun.append("analyse")
            assert gate.wait(60)
            return agents.Analysis(jnp.zeros((1, env.num_actions)), jnp.zeros((1, env.num_players)))

        return HostAgent(act, analyse) if text == "gated" else agents.make(text, env)

    return gate, begun, make


# -- moves ---------------------------------------------------------------------------------------------------------


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


def test_offer_of_a_draw_is_considered() -> None:
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

    run_in_thread(run())
    assert not game.session.over
    assert game.offers == ()
