"""Games on the page in a real browser: whole and new games, turns of several plies, late replies, undo, draws."""

import itertools
import json
import random
import re
from typing import Any

import pytest
from playwright.sync_api import Route

import jaxgames
from jaxgames import baselines
from jaxgames.play.web.turns import turns_of
from jaxgames.play.words import ending_of, game_title, offered_games
from tests.play.web.browser import BOXES, PEOPLE, By, Held, Sit

pytestmark = [pytest.mark.slow, pytest.mark.browser]

GAMES = {
    "checkers": "checkers(max_plies=40)",
    "chinese_checkers": "chinese_checkers(size=1, num_players=2)",
    "chinese_checkers_diamond": "chinese_checkers_diamond(size=4, pieces=3, max_plies=30)",
    "dots_and_boxes": "dots_and_boxes(rows=2, cols=3)",
    "minichess": "minichess(max_plies=30)",
}
SEATS = "JSON.parse(JSON.parse(localStorage.getItem('jaxgames')).saved).agents"


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


# -- the dialog of a new game --------------------------------------------------------------------------------------


def test_new_game_is_chosen_in_words(sit: Sit) -> None:
    someone = sit("checkers", "human", "first")
    someone.push("#new-game")
    assert someone.find("#game option").all_inner_texts() == list(map(game_title, offered_games()))
    someone.find("#opponent").select_option(label="Easy")
    someone.hears("against random moves.", "#strength")
    someone.find("#game").select_option(label="Chinese Checkers")
    someone.wait_for("document.querySelectorAll('#new-seats input').length === 3")
    someone.find("#menus select").nth(1).select_option(label="2")
    someone.wait_for("document.querySelectorAll('#new-seats input').length === 2")
    assert someone.find("#opponent option").all_inner_texts() == ["Another person", "Easy", "Medium", "Hard"]
    someone.find("#opponent").select_option(label="Easy")
    assert someone.find("#side option").all_inner_texts() == ["Red", "Blue", "Random"]
    someone.find("#side").select_option(label="Blue")
    someone.push("#start")
    someone.wait_for(f"{SEATS}[1] === 'human'")
    someone.wait()
    env = jaxgames.make("chinese_checkers(size=2, num_players=2)")
    assert someone.session().env == env
    assert someone.session().seats == (baselines.levels(env)["easy"], "human")
    assert someone.find("#players select").nth(1).input_value() == "human"
    labels = someone.find("#agent-fields label").all_text_contents()
    assert [label.strip() for label in labels] == ["Red", "Blue"], "the names of this game, not of the one before"


def test_agents_and_parameters_can_be_typed_under_advanced(sit: Sit) -> None:
    someone = sit("dots_and_boxes(rows=5, cols=5)", *PEOPLE)
    second = "document.querySelectorAll('#new-seats input')[1]?.value"
    someone.push("#new-game")
    someone.wait_for(f"{second} === 'human'")
    someone.find("#opponent").select_option("baseline")
    someone.find("#menus select").select_option(label="4 by 4 boxes")
    someone.wait_for(f"{second}.startsWith('alphabeta(')")  # the baseline does not play the new board
    someone.push("#dialog summary")
    reward = someone.find("input[name=reward]")
    reward.fill("nothing")
    reward.press("Tab")
    someone.hears("nothing", "#dialog-problem")
    reward.fill("boxes")
    reward.press("Tab")
    someone.wait_for("document.querySelector('#dialog-problem').hidden")
    someone.find("#new-seats input").nth(1).fill("greedy(epsilon=0.25)")
    someone.push("#start")
    someone.wait_for(f"{SEATS}[1] === 'greedy(epsilon=0.25)'")
    assert someone.session().env == jaxgames.make("dots_and_boxes(rows=4, cols=4, reward='boxes')")
    someone.push("#advanced summary")
    someone.find("#agent-fields input").nth(1).fill("humn")
    someone.find("#agent-fields input").nth(1).press("Tab")
    someone.find("#problem").wait_for()
    assert someone.text("#problem").count("baseline") == 1
    someone.find("#players select").nth(1).select_option(label="Person")
    someone.wait_for(f"{SEATS}[1] === 'human'")
    assert not someone.sees("#problem")


# -- moves ---------------------------------------------------------------------------------------------------------


def test_compulsory_capture_goes_on_by_itself_until_it_is_undone_or_has_two_ways(sit: Sit) -> None:
    someone = sit("checkers", *PEOPLE)
    someone.set_up("B:W15,23,32:B1,2,11")
    someone.wait_for("document.querySelectorAll('.cell.forced').length === 1")
    assert someone.cells("forced") == ["11"] == someone.cells("source"), "1 and 2 could step, but must not"
    assert "You must capture" in someone.text("#status")
    someone.click("18")
    someone.at(2)
    assert someone.session().moves() == ["11x18", "18x27"], "the only way to go on"
    someone.push("#previous")
    someone.at(1)
    someone.page.wait_for_timeout(1000)
    assert someone.ply == 1, "a capture that was taken back waits for the person"
    reply = Held(someone.page, "play", reply=True)
    someone.click("27")
    someone.at(2)  # by an event
    someone.push("#previous")
    someone.at(1)
    reply.release()
    someone.page.wait_for_timeout(1000)
    assert someone.ply == 1, "nor does a late reply continue it"
    someone.press("u")
    someone.at(0)
    someone.set_up("B:W15,22,23,32:B11")  # with two ways to go on
    someone.click("18")
    someone.at(1)
    someone.page.wait_for_timeout(1000)
    assert (someone.ply, sorted(someone.cells("target"))) == (1, ["25", "27"])


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_promotion_is_a_choice_of_the_person(sit: Sit, by: By) -> None:
    someone = sit("minichess", *PEOPLE)
    someone.set_up("4k/P4/5/5/4K w - - 0 1")
    someone.choose("a4", by)
    someone.choose("a5", by)
    choices = someone.find("#choices button")
    kinds = choices.all_inner_texts()
    assert sorted(kinds) == [f"promotion to {piece}" for piece in ("bishop", "knight", "queen", "rook")]
    assert someone.ply == 0
    knight = kinds.index("promotion to knight")
    if by == "keyboard":
        someone.press("Escape")
        assert not choices.count()
        someone.choose("a5", by)
        someone.press(*["Tab"] * knight, "Enter")
    else:
        choices.nth(knight).click()
    someone.at(1)
    assert someone.session().moves() == ["a4a5n"]


def test_cell_without_a_move_is_explained_and_changes_nothing(sit: Sit) -> None:
    someone = sit("checkers", *PEOPLE)
    before = someone.position
    for cells, reason in (
        (["1"], "cannot move now"),
        (["21"], "White's"),
        (["17"], "no piece"),
        (["11", "18"], "there"),
    ):
        someone.click(*cells)
        assert reason in someone.text("#status")
    someone.drag("12", lambda: "19")
    assert someone.pieces_at("12") == 1, "a dropped piece is back at its place"
    assert (someone.ply, someone.position, someone.cells("selected")) == (0, before, ["12"])
    someone.press("Escape")
    someone.drag("12", lambda: "16")
    someone.at(1)
    assert (someone.pieces_at("12"), someone.pieces_at("16")) == (0, 1)


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


def test_late_reply_of_the_game_before_does_not_replace_the_new_one(sit: Sit) -> None:
    someone = sit(BOXES, *PEOPLE)
    reply = Held(someone.page, "play", reply=True)
    someone.click("h(0,0)")
    someone.at(1)
    someone.push("#new-game")
    someone.wait_for("document.querySelectorAll('#new-seats input').length === 2")
    someone.find("#opponent").select_option("human")
    someone.push("#start")
    someone.at(0)
    reply.release()
    someone.page.wait_for_timeout(300)
    assert someone.ply == 0


# -- earlier positions ---------------------------------------------------------------------------------------------


def test_undo_slider_and_list_show_the_positions_of_the_session(sit: Sit) -> None:
    chance, someone = random.Random(3), sit(GAMES["dots_and_boxes"], *PEOPLE)
    for _ in range(8):
        someone.move(chance.choice)
    session = someone.session()
    turns = turns_of(session)
    steps: list[tuple[Any, Any]] = [
        (lambda: someone.press("u"), session.undo_turn),
        (lambda: someone.push("#undo"), session.undo_turn),
        (lambda: someone.press("ArrowRight"), lambda: session.jump(session.ply + 1)),
        (lambda: someone.press("ArrowLeft"), lambda: session.jump(session.ply - 1)),
        (lambda: someone.push("#first"), lambda: session.jump(0)),
        (lambda: someone.push("#next"), lambda: session.jump(1)),
        (lambda: someone.push("#last"), lambda: session.jump(8)),
        (lambda: someone.push("#previous"), lambda: session.jump(7)),
        (lambda: someone.find("#ply").fill("3"), lambda: session.jump(3)),
        (lambda: someone.find("#moves button").nth(2).click(), lambda: session.jump(turns[2].ply)),
        (lambda: someone.push("#autoplay"), lambda: session.jump(8)),
        (lambda: someone.find("#ply").fill("2"), lambda: session.jump(2)),
    ]
    for act, step in steps:
        act()
        step()
        someone.at(session.ply)
        someone.wait_for(f"document.querySelector('#position').value === '{session.env.to_string(session.state)}'")
    someone.move(chance.choice)
    assert someone.session().plies == 3, "a move in an earlier position drops what followed"


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


def test_draw_is_offered_refused_and_agreed(sit: Sit) -> None:
    someone = sit(BOXES, "human", "first")
    someone.push("#draw")
    someone.hears("Blue refuses the draw. Your turn (Red)")
    assert not someone.find("#draw").is_disabled(), "the offer has ended"
    someone = sit(BOXES, *PEOPLE)
    someone.push("#draw")
    someone.hears("Accept draw", "#draw")
    someone.push("#draw")
    someone.hears("Draw: agreed by the players")
    assert not someone.sees("#draw")
    assert someone.session().outcome.kind == "draw"


def test_review_rematch_and_switched_sides_follow_the_game(sit: Sit) -> None:
    someone = sit(BOXES, "human", "first")
    assert not someone.sees("#after")
    while not someone.over:
        someone.move()
    someone.push("#ask-review")
    someone.find("#mistakes").wait_for()
    rows = someone.find("#mistakes button")
    assert 1 <= rows.count() <= 5
    row, before = rows.first.inner_text(), someone.session()
    assert re.match(r"You played .*, which lost \d+ % of the chance to win\. Better: ", row)
    rows.first.click()
    someone.wait_for("document.querySelector('#ply').value !== document.querySelector('#ply').max")
    assert before.movers()[someone.ply] == 0, "the position in which the person decided"
    assert before.moves()[someone.ply] in row
    assert someone.find("path.mistake").count() == someone.find("path.best").count() == 1, "played and better"
    someone.page.once("dialog", lambda dialog: dialog.dismiss())
    someone.click(someone.cells("edge")[0])
    assert someone.session().plies == before.plies, "nothing is dropped without a question"
    someone.push("#to-end")
    someone.wait_for("document.querySelector('#to-end').hidden")
    someone.push("#rematch")
    someone.wait_for("document.querySelector('#after').hidden")
    someone.wait()
    assert (someone.session().seats, someone.ply) == (("human", "first"), 0)
    someone.accept()
    someone.push("#resign", "#switch")
    someone.wait_for(f"{SEATS}[1] === 'human'")
    someone.wait()
    assert someone.session().seats == ("first", "human")
