"""Games on the page in a real browser: whole games by mouse, fingers and keys, late replies, agents that think."""

import itertools
import json
import random

import pytest
from playwright.sync_api import Route

import jaxgames
from jaxgames.play.words import ending_of
from tests.play.web.browser import BOXES, PEOPLE, By, Held, Sit

pytestmark = [pytest.mark.slow, pytest.mark.browser]

GAMES = {
    "checkers": "checkers(max_plies=40)",
    "chinese_checkers": "chinese_checkers(size=1, num_players=2)",
    "chinese_checkers_diamond": "chinese_checkers_diamond(size=4, pieces=3, max_plies=30)",
    "dots_and_boxes": "dots_and_boxes(rows=2, cols=3)",
    "minichess": "minichess(max_plies=30)",
}


@pytest.mark.parametrize("by", ["mouse", "touch", "keyboard"])
@pytest.mark.parametrize("game", jaxgames.list_games())
def test_game_is_played_to_its_end_against_an_agent(sit: Sit, game: str, by: By) -> None:
    """Pieces are dragged with the mouse; the fingers tap on a phone."""
    chance, someone = random.Random(1), sit(GAMES[game], "human", "random", phone=by == "touch")
    assert someone.text("#status").startswith("Your turn (")
    while not someone.over:
        someone.move(chance.choice, by)
    session = someone.session()
    assert session.over
    assert session.plies == someone.ply
    assert {session.movers()[ply] for ply in range(session.plies)} == {0, 1}, "both seats have moved"
    turns = [seat for seat, _ in itertools.groupby(session.movers()[: session.plies])]
    assert someone.find("#moves li").count() == len(turns)
    assert someone.text("#status") == ending_of(session)
    assert someone.sees("#rematch")
    assert not someone.errors
    assert all(url.startswith(someone.address) for url in someone.requests), "no request to a foreign host"


def test_finger_drags_a_piece_and_taps_the_nearest_target(sit: Sit) -> None:
    someone = sit("minichess", *PEOPLE, phone=True)
    devtools = someone.page.context.new_cdp_session(someone.page)
    (x, y), (to_x, to_y) = someone.middle("b2"), someone.middle("b3")
    way = [(x + share * (to_x - x), y + share * (to_y - y)) for share in (0, 0.3, 0.6, 1.0)]
    for kind, at in zip(("touchStart", "touchMove", "touchMove", "touchMove"), way, strict=True):
        points = [{"x": at[0], "y": at[1]}]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    someone.at(1)
    assert someone.session().moves() == ["b2b3"]
    assert someone.page.evaluate("scrollY") == 0

    someone = sit("chinese_checkers(size=4, num_players=2)", *PEOPLE, phone=True)
    move = next(move for move in someone.session().legal() if move.kind == "step")
    someone.choose(str(move.source), "touch")
    x, y = someone.middle(str(move.target))
    someone.page.touchscreen.tap(x, y + 12)  # more than half a cell below
    someone.at(1)
    assert someone.session().moves() == [move.text]


# -- late replies --------------------------------------------------------------------------------------------------


def test_piece_moves_at_once_other_clicks_wait_and_a_stale_move_is_taken_back_without_a_message(sit: Sit) -> None:
    someone = sit("minichess", *PEOPLE)

    def make_stale(route: Route) -> None:
        route.continue_(post_data=json.dumps({**json.loads(route.request.post_data or ""), "ply": 7}))

    someone.page.route("**/api/play", make_stale, times=1)
    someone.click("b2")
    with someone.page.expect_response("**/api/show"):
        someone.click("b3")
    someone.wait()
    assert (someone.pieces_at("b2"), someone.pieces_at("b3"), someone.ply) == (1, 0, 0)
    sent = Held(someone.page, "play")
    someone.click("b2", "b3")
    assert (someone.pieces_at("b2"), someone.pieces_at("b3")) == (0, 1)
    someone.click("b3", "c2", "c3")
    assert (someone.ply, someone.cells("source")) == (0, [])
    sent.release()
    someone.at(1)
    assert someone.session().moves() == ["b2b3"]
    assert not someone.sees("#problem")


def test_late_event_does_not_take_a_move_back(sit: Sit) -> None:
    """The first event of the game arrives after the person has moved, and before the server has the move."""
    held: list[Held] = []
    someone = sit(BOXES, *PEOPLE, before=lambda page: held.extend(Held(page, path) for path in ("events*", "play")))
    someone.click("h(0,0)")
    held[1].wait()
    held[0].release()
    someone.page.wait_for_timeout(500)
    assert someone.text("#status") == "Your move is sent."
    held[1].release()
    someone.at(1)


@pytest.mark.parametrize("then", ["#undo", "#rematch"])
def test_late_reply_neither_continues_a_capture_that_was_taken_back_nor_replaces_another_game(
    sit: Sit, then: str
) -> None:
    someone = sit("checkers", *PEOPLE)
    someone.do("set B:W15,23,32:B1,2,11")
    reply = Held(someone.page, "play", reply=True)
    someone.click("18")
    someone.at(1)  # by an event
    if then == "#rematch":
        someone.accept()
        someone.push("#resign")
    someone.push(then)
    someone.at(0)
    reply.release()
    someone.page.wait_for_timeout(1000)
    assert someone.ply == 0
    assert not someone.errors, "nothing that is stale was sent"


def test_late_hint_is_not_shown_in_the_next_position(sit: Sit) -> None:
    someone = sit(BOXES, *PEOPLE)
    reply = Held(someone.page, "hint", reply=True)
    someone.press("h")
    someone.move()
    reply.release()
    someone.settle()
    assert not someone.find("#trails path.best").count()
    assert someone.find("#hint").get_attribute("aria-pressed") == "false"


# -- the agent of the other seat ------------------------------------------------------------------------------------


def test_thinking_is_stopped_and_continued_and_ends_when_the_person_resigns(sit: Sit) -> None:
    for pace in (2.0, 60.0):
        someone = sit(BOXES, "human", "first", pace=pace)
        someone.click(someone.cells("edge")[-1])
        someone.find("#stop").wait_for()
        assert "Blue is thinking" in someone.text("#status")
        assert not someone.cells("edge"), "it is not the person's turn"
        if pace == 2:
            someone.push("#stop")
            someone.find("#go").wait_for()
            assert someone.ply == 1
            someone.press("g")
            someone.at(2)
    someone.accept()
    someone.push("#resign")
    someone.hears("You lost: you resigned")
    assert not someone.sees("#stop"), "the search was dropped"
    assert (someone.session().resigned, someone.session().plies) == (0, 1)
