"""What the page shows of a game: turns in one line, trails of all seats, the person's side, hints and a review."""

from collections.abc import Iterator

import pytest

import jaxgames
from jaxgames.play import Session
from jaxgames.play.web.turns import trails, turns_of, written
from jaxgames.render import anchors
from tests.play.web.client import GAME, Page, page

STAR = "chinese_checkers(size=1, num_players=3)"
CHECKERS = "checkers"


@pytest.fixture(scope="module")
def here() -> Iterator[Page]:
    with page() as client:
        yield client


# -- turns and trails ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plies", "text"),
    [
        (["3=>16", "16=>18", "end"], "3→16→18"),
        (["3->10"], "3→10"),
        (["end"], "end turn"),
        (["22x15", "15x6"], "22x15x6"),
        (["0>8"], "0→8"),
        (["a4a5n"], "a4a5n"),
        (["h(0,0)", "v(0,1)"], "h(0,0) v(0,1)"),
    ],
)
def test_plies_of_a_turn_are_one_text(plies: list[str], text: str) -> None:
    assert written(plies) == text


def test_hops_of_a_turn_are_one_line_with_their_seat_and_one_trail() -> None:
    env = jaxgames.make(STAR)
    session = Session(env, ["human"] * 3)
    while not any(move.endswith("end") for move in session.moves()) or session.continues_turn:
        legal = session.legal()
        session.play(next((move for move in legal if move.kind in ("hop", "end turn")), legal[0]).action)
    turns = turns_of(session)
    assert [move for turn in turns for move in turn.moves] == session.moves()
    assert [turn.seat for turn in turns] == [seat % 3 for seat in range(len(turns))]
    assert turns[-1].ply == session.plies
    cells = anchors(env, session.state, 1).cells
    drawn = trails(session, turns, cells)
    assert [trail["seat"] for trail in drawn] == [turn.seat for turn in turns[-3:] if turn.seat != session.mover]
    chain = turns[-1].text.split("→")
    assert drawn[-1]["points"] == [[cells[cell].x, cells[cell].y] for cell in chain]
    assert len(chain) >= 2


def test_two_seats_have_no_trails() -> None:
    session = Session(CHECKERS, ["human", "human"])
    session.play(session.legal()[0].action)
    assert trails(session, turns_of(session), anchors(session.env, session.state).cells) == []


# -- the person's side ---------------------------------------------------------------------------------------------


def test_first_person_sits_at_the_bottom_and_the_board_can_be_flipped(here: Page) -> None:
    view = here.ask("new", game=CHECKERS, seats=["human", "human"])
    heights = {cell["name"]: cell["y"] for cell in view["cells"]}
    assert (view["bottom"], view["flips"]) == (0, True)
    assert heights["1"] > heights["32"], "Black has the squares 1 to 12"
    assert {cell["owner"] for cell in view["cells"]} == {0, 1, None}
    flipped = here.ask("show", id=view["id"], seat=1)
    heights = {cell["name"]: cell["y"] for cell in flipped["cells"]}
    assert (flipped["bottom"], heights["1"] < heights["32"]) == (1, True)
    assert here.ask("new", game=CHECKERS, seats=["random", "human"])["bottom"] == 1
    boxes = here.ask("new", seats=["human", "human"])
    assert not boxes["flips"]


def test_view_names_you_and_the_level_of_the_opponent(here: Page) -> None:
    level = jaxgames.baselines.levels(jaxgames.make(GAME))["easy"]
    view = here.ask("new", seats=["human", level])
    assert [seat["words"] for seat in view["seats"]] == ["You", "Easy"]
    assert [seat["name"] for seat in view["seats"]] == ["Red", "Blue"]
    assert [seat["score"] for seat in view["seats"]] == ["0", "0"]
    assert view["status"] == "Your turn (Red)"
    assert not view["can_undo"]
    here.ask("play", id=view["id"], action=0, ply=0)
    view = here.wait(view["id"], lambda view: view["mover"] == 0 and view["ply"] > 1)
    assert view["can_undo"]
    assert view["status"].startswith("Your turn (Red). Blue played ")


# -- hints and reviews ---------------------------------------------------------------------------------------------


def test_hint_has_one_chance_for_the_seat_to_move(here: Page) -> None:
    id = here.ask("new", seats=["human", "human"])["id"]
    hint = here.ask("hint", id=id, agent="mcts(simulations=20)")
    assert 0 <= hint["chance"] <= 1
    assert (hint["seat"], hint["position"]) == (0, here.ask("show", id=id)["position"])
    assert sum(move["probability"] for move in hint["moves"]) == pytest.approx(1, abs=1e-3)
    assert here.ask("hint", id=id, agent="random")["chance"] is None
    assert here.ask("hint", id=id)["chance"] is not None, "without a name, an agent that has values"


def test_review_names_the_moves_that_lost_most(here: Page) -> None:
    """In 1 x 2 boxes: the third side of a box, which gives it to the other seat."""
    view = here.ask("new", seats=["human", "human"])
    id = view["id"]
    for ply, move in enumerate(("h(0,0)", "v(0,0)", "h(1,0)", "v(0,1)", "h(0,1)", "h(1,1)", "v(0,2)")):
        (action,) = [each["action"] for each in view["legal"] if each["text"] == move]
        view = here.ask("play", id=id, action=action, ply=ply)
    assert view["over"]
    found = here.ask("review", id=id)
    assert found["agent"].startswith("alphabeta")
    assert 1 <= len(found["mistakes"]) <= 5
    worst = found["mistakes"][0]
    assert {"ply", "seat", "move", "best", "loss", "texts"} == worst.keys()
    assert worst["loss"] == max(mistake["loss"] for mistake in found["mistakes"]) > 0
