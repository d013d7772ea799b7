"""Agents on the page's server: their moves, searches that are stopped, failures, hints."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import pytest

import jaxgames
from jaxgames import agents
from jaxgames.play import Session
from jaxgames.play.web import snapshot
from jaxgames.play.web.live_games import GameServer
from tests.play.web.client import GAME, Page, moves_of, page

PEOPLE = ["human", "human"]
START = "0000000 .. 0"  # of GAME
HOPS = "chinese_checkers(size=2, num_players=2)"
BEFORE_HOPS = "0/.0/...0.../....../...../....../...1.../1./1 0 - 1"
LAST_HOP, LONGER_HOP = "2=>12", "0=>7"  # no hop follows the first one


@pytest.fixture(scope="module")
def here() -> Iterator[Page]:
    with page() as client:
        yield client


@dataclass(frozen=True)
class Gated:
    """Plays the first legal action and accepts draws, once the test opens the gate; before, it thinks."""

    on_device: ClassVar[bool] = False
    env: Any
    gate: threading.Event
    begun: list[str]  # the positions that it has been asked about

    def act(self, key: Any, states: Any) -> Any:
        self.begun.append(f"{int(states.edges.sum())} edges")
        assert self.gate.wait(60)
        return agents.FirstAgent(self.env).act(key, states)

    def analyse(self, states: Any) -> agents.Analysis:
        self.begun.append("analyse")
        assert self.gate.wait(60)
        return agents.Analysis(jnp.zeros((1, self.env.num_actions)), jnp.zeros((1, self.env.num_players)))


def gated_agents() -> tuple[threading.Event, list[str], Callable[[str, Any], Any]]:
    """Returns a gate, the positions that agents named "gated" were asked about, and the function that makes agents."""
    gate, begun = threading.Event(), list[str]()
    return gate, begun, lambda text, env: Gated(env, gate, begun) if text == "gated" else agents.make(text, env)


class Failing:
    """Fails whatever it is asked."""

    on_device: ClassVar[bool] = False

    def act(self, key: Any, states: Any) -> Any:
        raise OSError("no disk")

    def analyse(self, states: Any) -> Any:
        raise OSError("no disk")


def test_agents_play_one_ply_at_a_time_until_a_person_is_to_move() -> None:
    with page(["human", "first"]) as here:
        id = here.ask("new", seats=["human", "first"])["id"]
        here.ask("play", id=id, action=6, ply=0)
        view = here.wait(id, lambda view: view["mover"] == 0 and view["ply"] == 2)
        assert moves_of(view) == ["v(0,2)", "h(0,0)"]
        assert view["thinking"] is None
        alone = here.ask("new", seats=["first", "random"])["id"]
        assert here.wait(alone, lambda view: view["over"])["plies"] == 7


def test_person_resigns_while_an_agent_thinks() -> None:
    gate, begun, make = gated_agents()
    with page(["human", "gated"], make=make) as other:
        id = other.ask("new", seats=["human", "gated"])["id"]
        other.ask("play", id=id, action=0, ply=0)
        other.wait(id, lambda view: view["thinking"] == "gated" and len(begun) == 1)
        assert "only people resign" in other.refusal("resign", 422, id=id, seat=1)
        view = other.ask("resign", id=id, seat=0)
        assert (view["over"], view["thinking"], view["status"]) == (True, None, "You lost: you resigned")
        gate.set()
        later = other.ask("new", seats=["first", "human"])["id"]
        other.wait(later, lambda view: view["ply"] == 1)  # its agent moves after the search that was dropped
        assert other.ask("show", id=id)["plies"] == 1


def test_people_agree_on_a_draw_and_a_move_declines_it() -> None:
    with page() as here:
        id = here.ask("new", seats=["human", "human"])["id"]
        view = here.ask("draw", id=id)
        assert (view["offers"], view["over"], view["status"]) == ([0], False, "Red offers a draw. Red to move")
        assert here.ask("play", id=id, action=0, ply=0)["offers"] == []
        assert here.ask("draw", id=id)["offers"] == [1]
        view = here.ask("draw", id=id)
        assert (view["over"], view["status"]) == (True, "Draw: agreed by the players")
        assert json.loads(view["saved"])["agreed"]
        assert "no draw can be offered" in here.refusal("draw", 422, id=id)
        assert not here.ask("undo", id=id)["over"]


def test_agent_without_values_refuses_a_draw_until_the_next_change() -> None:
    with page(["human", "first"]) as here:
        id = here.ask("new", seats=["human", "first"])["id"]
        here.ask("draw", id=id)
        view = here.wait(id, lambda view: view["offers"] == [])
        assert not view["over"]
        assert view["status"] == "Blue refuses the draw. Your turn (Red)"
        here.ask("play", id=id, action=6, ply=0)
        view = here.wait(id, lambda view: view["ply"] == 2)
        assert view["status"] == "Your turn (Red). Blue played h(0,0)"


def test_page_says_that_an_offer_of_a_draw_is_considered() -> None:
    gate, begun, make = gated_agents()
    with page(["human", "gated"], make=make) as here:
        id = here.ask("new", seats=["human", "human"])["id"]
        here.ask("play", id=id, action=6, ply=0)
        here.ask("play", id=id, action=0, ply=1)
        here.ask("seats", id=id, seats=["human", "gated"])
        here.ask("draw", id=id)
        view = here.wait(id, lambda view: begun == ["analyse"] and view["offers"] == [0])
        assert view["status"] == "You offer a draw. Blue considers it"
        assert "a draw is offered already: wait for the answer" in here.refusal("draw", 422, id=id)
        gate.set()
        assert here.wait(id, lambda view: view["over"])["status"] == "Draw: agreed by the players"


def test_draw_is_offered_at_a_turn_of_a_person_in_a_game_that_can_be_drawn() -> None:
    with page(["human", "first"]) as here:
        view = here.ask("new", seats=["human", "first"])
        assert view["can_draw"]
        here.ask("play", id=view["id"], action=6, ply=0)
        here.wait(view["id"], lambda view: view["ply"] == 2)
        here.ask("jump", id=view["id"], ply=1)
        assert "no person is to move" in here.refusal("draw", 422, id=view["id"])
        odd = here.ask("new", game="dots_and_boxes(rows=1, cols=1)", seats=["human", "first"])
        assert not odd["can_draw"]
        assert "ends in a draw" in here.refusal("draw", 422, id=odd["id"])


def test_turn_of_a_person_that_cannot_go_on_ends_by_itself() -> None:
    with page(["human", "human"], HOPS) as here:
        for hop, ends in ((LAST_HOP, True), (LONGER_HOP, False)):
            id = here.ask("new", seats=["human", "human"])["id"]
            view = here.ask("position", id=id, text=BEFORE_HOPS)
            action = next(move["action"] for move in view["legal"] if move["text"] == hop)
            view = here.ask("play", id=id, action=action, ply=0)
            assert moves_of(view) == ([hop, "end"] if ends else [hop])
            assert (view["mover"] == 0) == (not ends)
            assert ("Hop on, or end your turn" in view["status"]) == (not ends)


def test_status_is_never_blank_while_an_agent_begins_to_think() -> None:
    seats = ("human", "first")
    game = GameServer(GAME, seats, 0, agents.make).add(Session(GAME, seats))
    game.session.play(6)
    view = snapshot.view(game, snapshot.Look())
    assert (view["thinking"], view["status"]) == (None, "Blue is thinking")


def test_offer_of_a_draw_ends_if_the_agent_fails() -> None:
    with page(["human", "failing"], make=lambda text, env: Failing()) as here:
        id = here.ask("new", seats=["human", "failing"])["id"]
        here.ask("position", id=id, text=START)  # where an agent also answers before every seat has moved
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


def test_agent_accepts_a_draw_in_a_lost_position() -> None:
    """Red has taken one box and takes the other with the last edge."""
    with page(["human", "alphabeta(depth=2)"]) as here:
        id = here.ask("new", seats=["human", "human"])["id"]
        here.ask("position", id=id, text="1111110 0. 0")
        here.ask("seats", id=id, seats=["human", "alphabeta(depth=2)"])
        here.ask("draw", id=id)
        assert here.wait(id, lambda view: view["over"])["status"] == "Draw: agreed by the players"


def test_page_shows_what_the_agent_of_the_last_move_thought() -> None:
    with page(["human", "random"]) as here:
        id = here.ask("new", seats=["human", "random"])["id"]
        assert "no agent has played the last move" in here.refusal("hint", 422, id=id, last=True)
        here.ask("play", id=id, action=6, ply=0)
        view = here.wait(id, lambda view: view["ply"] == 2)
        found = here.ask("hint", id=id, last=True)
        assert (len(found["moves"]), found["seat"], found["position"]) == (6, 1, view["position"])
        assert moves_of(view)[1] in [move["text"] for move in found["moves"]]


def test_search_is_stopped_dropped_and_waited_for() -> None:
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
        gate.set()
        view = here.wait(id, lambda view: view["ply"] == 2 and view["thinking"] is None)
        assert moves_of(view) == ["h(1,1)", "h(0,0)"], "the dropped search played nothing"


def test_agent_waits_in_an_earlier_position_until_a_person_lets_it_move() -> None:
    with page(["human", "first"]) as here:
        id = here.ask("new", seats=["human", "first"])["id"]
        here.ask("play", id=id, action=6, ply=0)
        here.wait(id, lambda view: view["ply"] == 2)
        assert here.ask("jump", id=id, ply=1)["waits"]
        here.ask("go", id=id)
        view = here.wait(id, lambda view: view["ply"] == 2)
        assert (view["plies"], view["waits"]) == (2, False)


def test_failure_of_an_agent_is_shown_and_the_game_goes_on() -> None:
    def make(text: str, env: Any) -> Any:
        return Failing() if text == "failing" else agents.make(text, env)

    with page(["human", "failing"], make=make) as other:
        id = other.ask("new", seats=["human", "failing"])["id"]
        other.ask("play", id=id, action=0, ply=0)
        view = other.wait(id, lambda view: view["problem"] != "")
        assert view["problem"] == "OSError: no disk"
        assert view["waits"]
        other.ask("seats", id=id, seats=["human", "first"])
        assert other.wait(id, lambda view: view["ply"] == 2)["problem"] == ""


def test_agents_are_made_outside_of_the_event_loop() -> None:
    threads: dict[str, str] = {}

    def make(text: str, env: Any) -> Any:
        threads[text] = threading.current_thread().name
        return agents.make("first" if text.startswith("alphabeta") else text, env)  # whose search takes long to load

    with page(["human", "human"], make=make) as other:
        id = other.ask("new", seats=["human", "first"])["id"]
        other.ask("seats", id=id, seats=["human", "greedy(epsilon=0.5)"])
        other.ask("agents", game=GAME)
    assert {"first", "greedy(epsilon=0.5)", "greedy", "baseline"} <= threads.keys()
    assert set(threads.values()) == {"files"}


def test_missing_extra_and_failure_of_an_agent_are_told_to_the_page() -> None:
    def make(text: str, env: Any) -> Any:
        if text == "greedy":
            raise ImportError("mctx is missing")
        return Failing()

    with page(["human", "failing"], make=make) as other:
        assert other.refusal("new", 422, seats=["human", "greedy"]) == "mctx is missing"
        id = other.ask("new", seats=["human", "failing"])["id"]
        assert other.refusal("hint", 422, id=id, agent="failing") == "failing failed with OSError: no disk"
