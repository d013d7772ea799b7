"""The page's requests: games as the session has them, what the page shows of a game, positions, files, hints."""

import asyncio
import importlib
import json
import sys
import threading
from typing import Any

import pytest

import jaxgames
from jaxgames import agents
from jaxgames.play import Session, from_json, to_html, to_json, web
from jaxgames.play.web import allowed, routes
from jaxgames.play.web.live_games import GameServer
from jaxgames.play.web.snapshot import Look
from jaxgames.play.web.turns import trails, turns_of, written
from jaxgames.render import anchors, svg
from tests.play.test_session import Machine, check_session
from tests.play.web.client import GAME, PEOPLE, Page, moves_of, page

STAR = "chinese_checkers(size=1, num_players=3)"


# -- a game --------------------------------------------------------------------------------------------------------


class OverHttp(Machine):
    """Sends every change of the session to a server too, which answers with the same game or refuses as well."""

    here: Page
    with_agents = False
    id = ""

    def call(self, change: str, *arguments: Any) -> None:
        if not self.id:
            self.id = self.here.ask("new", seats=list(self.session.seats))["id"]
        names = {"play": ["action"], "jump": ["ply"], "resign": ["seat"]}.get(change, [])
        fields = dict(zip(names, arguments, strict=True)) | ({"ply": self.session.ply} if change == "play" else {})
        verb = {"undo_turn": "undo", "agree_on_draw": "draw"}.get(change, change)
        for _ in self.session.seats[1:] if verb == "draw" else ():
            self.here.post(verb, {"id": self.id})  # every person offers it
        response = self.here.post(verb, {"id": self.id, **fields})
        try:
            super().call(change, *arguments)
        except ValueError:
            assert response.status_code == 422, response.text
            raise
        assert response.status_code == 200, response.text
        view, session = response.json(), self.session
        assert (view["saved"], moves_of(view)) == (to_json(session), session.moves())
        assert (view["ply"], view["plies"], view["mover"]) == (session.ply, session.plies, session.mover)
        assert (view["over"], view["position"]) == (session.over, session.env.to_string(session.state))
        parts = ("action", "text", "source", "target", "kind")
        assert [[move[part] for part in parts] for move in view["legal"]] == [
            list(move[:5]) for move in session.legal()
        ]


def test_page_is_like_a_session(here: Page) -> None:
    check_session(jaxgames.make(GAME), 12, 20, OverHttp, here=here)


def test_position_is_drawn_from_the_side_of_a_person_with_the_persons_goal() -> None:
    with page(["first", "human", "first"], STAR) as here:
        id = here.ask("new", seats=["human", "first", "first"])["id"]
        env = jaxgames.make(STAR)
        for seat, theme in ((0, "light"), (1, "dark")):
            drawn = svg(env, env.init(), seat=seat, goal_of=0, width=400.0, caption=False, theme=theme).svg
            assert here.ask("show", id=id, seat=seat, theme=theme)["svg"] == drawn


def test_earlier_position_says_that_it_is_the_past(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    here.ask("play", id=id, action=0, ply=0)
    assert here.ask("jump", id=id, ply=0)["status"] == "Red to move, at the start. A new move drops the later ones"
    here.ask("jump", id=id, ply=1)
    ended = here.ask("resign", id=id)
    assert (ended["over"], ended["ended"]) == (True, True)
    past = here.ask("jump", id=id, ply=0)
    assert (past["over"], past["ended"], past["status"]) == (False, True, "Looking back at the start")


def test_move_in_another_position_than_the_shown_one_changes_nothing(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    view = here.ask("play", id=id, action=0, ply=0)
    here.refusal("play", 409, id=id, action=1, ply=0)
    assert here.ask("show", id=id) == view


# -- what is shown -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plies", "text"),
    [
        (["3=>16", "16=>18", "end"], "3→16→18"),
        (["3->10"], "3→10"),
        (["end"], "end turn"),
        (["22x15", "15x6"], "22x15x6"),
        (["a4a5n"], "a4a5n"),
        (["h(0,0)", "v(0,1)"], "h(0,0) v(0,1)"),
    ],
)
def test_plies_of_a_turn_are_one_text(plies: list[str], text: str) -> None:
    assert written(plies) == text


def test_hops_of_a_turn_are_one_line_with_their_seat_and_one_trail() -> None:
    session = Session(STAR, ["human"] * 3)
    while not any(move.endswith("end") for move in session.moves()) or session.continues_turn:
        legal = session.legal()
        session.play(next((move for move in legal if move.kind in ("hop", "end turn")), legal[0]).action)
    turns, cells = turns_of(session), anchors(session.env, session.state, 1).cells
    assert [move for turn in turns for move in turn.moves] == session.moves()
    assert [turn.seat for turn in turns] == [seat % 3 for seat in range(len(turns))]
    assert turns[-1].ply == session.plies
    drawn = trails(session, turns, cells)
    assert [trail["seat"] for trail in drawn] == [turn.seat for turn in turns[-3:] if turn.seat != session.mover]
    chain = turns[-1].text.split("→")
    assert drawn[-1]["points"] == [[cells[cell].x, cells[cell].y] for cell in chain]
    assert len(chain) >= 2
    two = Session(GAME, PEOPLE)
    two.play(0)
    assert trails(two, turns_of(two), anchors(two.env, two.state).cells) == [], "two seats have no trails"


def test_first_person_sits_at_the_bottom_and_the_board_can_be_flipped(here: Page) -> None:
    view = here.ask("new", game="checkers", seats=PEOPLE)
    flipped = here.ask("show", id=view["id"], seat=1)
    for shown, bottom in ((view, 0), (flipped, 1)):
        heights = {cell["name"]: cell["y"] for cell in shown["cells"]}
        assert (shown["bottom"], heights["1"] > heights["32"]) == (bottom, bottom == 0), "Black has 1 to 12"
    assert view["flips"]
    assert {cell["owner"] for cell in view["cells"]} == {0, 1, None}
    assert here.ask("new", game="checkers", seats=["random", "human"])["bottom"] == 1
    assert not here.ask("new", seats=PEOPLE)["flips"]


def test_view_names_you_and_the_level_of_the_opponent(here: Page) -> None:
    level = jaxgames.baselines.levels(jaxgames.make(GAME))["easy"]
    view = here.ask("new", seats=["human", level])
    assert [(seat["words"], seat["name"], seat["score"]) for seat in view["seats"]] == [
        ("You", "Red", "0"),
        ("Easy", "Blue", "0"),
    ]
    assert not view["can_undo"]
    here.ask("play", id=view["id"], action=0, ply=0)
    view = here.wait(view["id"], lambda view: view["mover"] == 0 and view["ply"] > 1)
    assert view["can_undo"]
    assert view["status"].startswith("Your turn (Red). Blue played ")


def test_hint_has_one_chance_for_the_seat_to_move(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    hint = here.ask("hint", id=id, agent="mcts(simulations=20)")
    assert 0 <= hint["chance"] <= 1
    assert (hint["seat"], hint["position"]) == (0, here.ask("show", id=id)["position"])
    assert sum(move["probability"] for move in hint["moves"]) == pytest.approx(1, abs=1e-3)
    assert here.ask("hint", id=id, agent="random")["chance"] is None
    assert here.ask("hint", id=id)["chance"] is not None, "without a name, an agent that has values"


def test_review_names_the_moves_that_lost_most(here: Page) -> None:
    """In 1 x 2 boxes: the third side of a box, which gives it to the other seat."""
    view = here.ask("new", seats=PEOPLE)
    id = view["id"]
    for ply, move in enumerate(("h(0,0)", "v(0,0)", "h(1,0)", "v(0,1)", "h(0,1)", "h(1,1)", "v(0,2)")):
        (action,) = [each["action"] for each in view["legal"] if each["text"] == move]
        view = here.ask("play", id=id, action=action, ply=ply)
    assert view["over"]
    found = here.ask("review", id=id)
    assert found["agent"].startswith("alphabeta")
    assert 1 <= len(found["mistakes"]) <= 5
    assert {"ply", "seat", "move", "best", "loss", "texts"} == found["mistakes"][0].keys()
    losses = [mistake["loss"] for mistake in found["mistakes"]]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 0


# -- positions and files -------------------------------------------------------------------------------------------


def test_position_is_set_up(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    view = here.ask("position", id=id, text="1100000 .. 1")
    assert (view["position"], view["ply"], view["mover"]) == ("1100000 .. 1", 0, 1)
    with pytest.raises(ValueError, match="expected") as raised:
        jaxgames.make(GAME).from_string("11x0000 .. 1")
    assert here.refusal("position", 422, id=id, text="11x0000 .. 1") == str(raised.value)


@pytest.mark.parametrize(
    ("changed", "needle"),
    [
        ({"actions": [0, 0]}, "action 2"),
        ({"env": "os:dots_and_boxes"}, "the game must be one of"),
        ({"agents": ["human", "a:b"]}, "expected one of human, random"),
    ],
)
def test_saved_game_is_refused_with_its_reason(here: Page, changed: dict[str, Any], needle: str) -> None:
    saved = json.dumps({**json.loads(to_json(Session(GAME, PEOPLE))), **changed})
    assert needle in here.refusal("load", 422, saved=saved)


def test_still_page_is_sent_as_a_text_so_that_it_cannot_run_here(here: Page) -> None:
    view = here.ask("new", seats=PEOPLE)
    view = here.ask("load", saved=here.ask("play", id=view["id"], action=3, ply=0)["saved"])
    response = here.get(f"/api/still?id={view['id']}")
    assert moves_of(view) == ["h(1,1)"]
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text == to_html(from_json(view["saved"]))


def test_others_are_answered_while_a_game_is_loaded(here: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, gate, load = threading.Event(), threading.Event(), allowed.load

    def slow(server: GameServer, saved: str) -> Session:
        begun.set()
        assert gate.wait(60)
        return load(server, saved)

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


def test_start_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("starlette", "uvicorn"):
            monkeypatch.setitem(sys.modules, name, None)
    for name in ("server", "routes"):
        monkeypatch.delitem(sys.modules, f"jaxgames.play.web.{name}")
        monkeypatch.delattr(web, name)
    with pytest.raises(ImportError, match=r'pip install "jaxgames\[play\]"$'):
        importlib.import_module("jaxgames.play.web.server")


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
