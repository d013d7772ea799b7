"""The page's requests: games as the session has them, what the page shows of a game, positions, files, hints."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from jaxgames import agents
from jaxgames.play import Session, from_json, to_html, to_json
from jaxgames.play.web import allowed, routes
from jaxgames.play.web.live_games import GameServer
from jaxgames.play.web.snapshot import Look
from jaxgames.render import svg
from tests.helpers.scripted_agents import HostAgent
from tests.play.test_session import Machine, check_session
from tests.play.web.client import GAME, PEOPLE, Page, moves_of, page, run_in_thread

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


def test_move_in_another_position_than_the_shown_one_changes_nothing(here: Page) -> None:
    id = here.ask("new", seats=PEOPLE)["id"]
    view = here.ask("play", id=id, action=0, ply=0)
    here.refusal("play", 409, id=id, action=1, ply=0)
    assert here.ask("show", id=id) == view


# -- what is shown: stored texts, which `python -m tests.data pages` writes -----------------------------------------

FOLDER = Path(__file__).parents[2] / "data" / "pages"
AGAINST_FIRST = ["human", "first"]
CHAIN = "0/.0/...0.../....../...../....../...1.../1./1 0 - 1"

# (game, seats, requests, each with its only argument: the text of a move, a ply, a position, a seat, an agent)
PAGES: dict[str, tuple[str, list[str], list[str]]] = {
    "boxes": (
        *(GAME, AGAINST_FIRST),
        [
            *("hint last", "draw", "play v(0,2)", "hint last", "hint greedy", "hint random", "jump 1", "draw", "go"),
            *("undo", "play h(0,1)", "resign 0", "still", "jump 0", "undo", "seats random,human", "jump 0", "resign 0"),
        ],
    ),
    "boxes_of_people": (
        *(GAME, PEOPLE),
        [
            *("play h(0,0)", "jump 0", "jump 1", "draw", "play h(0,1)", "draw", "draw", "draw", "undo", "hint"),
            *("position 1100000 .. 1", "position 11x0000 .. 1", "resign", "jump 0"),
            *("position 1111001 .. 0", "play v(0,1)"),  # the only edge that is left is a move
        ],
    ),
    "boxes_reviewed": (  # the first edge loses the game; later ones lose nothing more
        *(GAME, PEOPLE),
        [f"play {edge}" for edge in ("h(0,0)", "v(0,0)", "h(1,0)", "v(0,1)", "h(0,1)", "h(1,1)", "v(0,2)")]
        + ["review"],
    ),
    "boxes_without_draws": ("dots_and_boxes(rows=1, cols=1)", AGAINST_FIRST, ["draw"]),
    "boxes_of_agents": (GAME, ["first", "first"], []),
    "boxes_at_a_level": (GAME, ["human", jaxgames.baselines.levels(jaxgames.make(GAME))["easy"]], []),
    "boxes_with_a_failing_agent": (  # from a position, agents answer offers at once
        *(GAME, ["human", "failing"]),
        [
            *("hint failing", "play h(0,0)", "seats human,mcts", "seats human,first", "seats human,failing"),
            *("position 0000000 .. 0", "draw", "draw"),
        ],
    ),
    "star": (  # no hop follows the first one, which ends the turn
        *("chinese_checkers(size=2, num_players=2)", PEOPLE),
        [f"position {CHAIN}", "play 2=>12", f"position {CHAIN}", "play 0=>7", "play end", "undo", "play 0->1"],
    ),
    "star_of_three": (STAR, ["first", "human", "first"], ["play 11->10", "show 0"]),
    "star_of_people": (
        *(STAR, ["human"] * 3),
        ["position ./..../.1./..20/. 0 - 2", "play 11=>9", "play 9=>3", "play 6->2"],
    ),
    "checkers": (
        *("checkers", ["human", "first"]),
        ["position B:W9,10,17,18,32:BK6,31", "play 6x15", "play 15x22", "show 1"],
    ),
    "minichess": ("minichess", PEOPLE, ["position k4/3P1/1K3/5/5 w - - 0 1", "play d4d5q"]),
}


def parts(view: dict[str, Any]) -> dict[str, Any]:
    """Returns what a view shows, but for pictures."""
    cells = {(cell["x"], cell["y"]): cell["name"] for cell in view["cells"]}
    flags, of_seat = ("over", "ended", "waits", "can_undo", "can_draw", "flips"), ("words", "name", "colour", "score")
    return {
        "status": view["status"],
        "turns": " | ".join(f"{turn['seat']} {turn['text']}" for turn in view["turns"]),
        "at": f"ply {view['ply']} of {view['plies']}, seat {view['mover']}, {view['position']}",
        "flags": ", ".join(flag for flag in flags if view[flag]),
        "seats": ", ".join(" ".join(seat[key] for key in of_seat).strip() for seat in view["seats"]),
        "bottom": view["bottom"],
        "cells": " ".join(f"{cell['name']}:{cell['owner']}" for cell in view["cells"] if cell["owner"] is not None),
        "trails": [(trail["seat"], *(cells[*at] for at in trail["points"])) for trail in view["trails"]],
        "legal": " ".join(move["text"] for move in view["legal"]),
        "problem": view["problem"],
    }


def is_settled(view: dict[str, Any]) -> bool:
    """Returns whether no agent is to move or to answer an offer of a draw."""
    players = [seat["player"] for seat in view["seats"]]
    asked = 0 < players.count("human") == len(view["offers"]) < len(players)
    return not asked and (view["over"] or view["waits"] or players[view["mover"]] == "human")


def page_text(here: Page, game: str, seats: list[str], requests: list[str]) -> str:
    """Returns the replies to requests: of a view what has changed, when no agent thinks any more."""
    view, before, lines = here.ask("new", game=game, seats=seats), dict[str, Any](), [f"{game}: {', '.join(seats)}"]
    for request in ["show", *requests]:
        verb, _, argument = request.partition(" ")
        fields: dict[str, Any] = {"id": view["id"]}
        match verb:
            case "play":
                legal = {move["text"]: move["action"] for move in view["legal"]}
                fields |= {"action": legal[argument], "ply": view["ply"]}
            case "hint":
                fields |= {"last": True} if argument == "last" else {"agent": argument or None}
            case "seats":
                fields |= {"seats": argument.split(",")}
            case "position":
                fields |= {"text": argument}
            case "jump":
                fields |= {"ply": int(argument)}
            case _:
                fields |= {"seat": int(argument)} if argument else {}
        lines += ["", f"> {request}"]
        if verb == "still":
            still = here.get(f"/api/still?id={view['id']}").text
            lines += re.sub(r"(?s)<(style|script)>.*?</\1>|sha256-[^']*", "", still).replace("><", ">\n<").split("\n")
            continue
        response = here.post(verb, fields)
        reply = response.json()
        if response.status_code != 200:
            lines.append(f"{response.status_code}: {reply['error']}")
        elif verb == "hint":
            shares = " ".join(f"{move['text']} {move['probability']:.2f}" for move in reply["moves"])
            lines.append(f"seat {reply['seat']}, chance {reply['chance']}, {reply['position']}: {shares}")
        elif verb == "review":
            lines += [reply["agent"], *map(str, reply["mistakes"])]
        else:
            view = here.wait(view["id"], is_settled)
            view = here.ask("show", **fields) if verb == "show" else view
            lines += [f"{name}: {part}" for name, part in parts(view).items() if before.get(name) != part]
            before = parts(view)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def fail(*_: Any) -> Any:
    raise OSError("no disk")


def make_failing(text: str, env: Any) -> Any:
    if text == "mcts":
        raise ImportError("mctx is missing")
    return HostAgent(fail, fail) if text == "failing" else agents.make(text, env)


def made_pages() -> dict[str, str]:
    with page(["human", "failing"], make=make_failing) as here:
        return {f"{name}.txt": page_text(here, *row) for name, row in PAGES.items()}


def test_pages_are_the_stored_ones() -> None:
    made = made_pages()
    assert made.keys() == {file.name for file in FOLDER.iterdir()}
    for name, text in made.items():
        assert text.split("\n") == (FOLDER / name).read_text(encoding="utf-8").split("\n"), name


# -- positions and files -------------------------------------------------------------------------------------------


def test_still_page_is_sent_as_a_text_so_that_it_cannot_run_here(here: Page) -> None:
    view = here.ask("new", seats=PEOPLE)
    view = here.ask("load", saved=here.ask("play", id=view["id"], action=3, ply=0)["saved"])
    response = here.get(f"/api/still?id={view['id']}")
    assert moves_of(view) == ["h(1,1)"]
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text == to_html(from_json(view["saved"]))
    assert "action 1" in here.refusal("load", 422, saved=json.dumps({**json.loads(view["saved"]), "actions": [7]}))


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

    assert run_in_thread(run()) == [[], ["h(0,1)"], ["h(0,1)", "h(1,0)"]]
