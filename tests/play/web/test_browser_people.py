"""The page as people use it without docs: sides of the board, dragging, undo, the New game dialog, rules, a review."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

import jaxgames
from jaxgames import baselines
from jaxgames.play.words import game_title, offered_games
from tests.play.web.browser import Person, at_desk, browser, on_phone, served

pytestmark = [pytest.mark.slow, pytest.mark.browser]

BOXES = "dots_and_boxes(rows=2, cols=2)"
STAR = "chinese_checkers(size=1, num_players=3)"
SEATS = "JSON.parse(JSON.parse(localStorage.getItem('jaxgames')).saved).agents"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def pieces_at(someone: Person, cell: str) -> int:
    """How many visible pieces of the picture are in the middle of a cell."""
    x, y = someone.middle(cell)
    return someone.page.evaluate(
        "([x, y]) => [...document.querySelectorAll('#picture use:not([href$=-background])')].filter(piece => {"
        " const at = piece.getScreenCTM(); return piece.getAttribute('visibility') !== 'hidden'"
        " && Math.hypot(at.e - x, at.f - y) < 5; }).length",
        [x, y],
    )


def is_seen(someone: Person, selector: str) -> bool:
    """Whether an element is in the window as a whole."""
    return someone.page.locator(selector).evaluate(
        "node => { const box = node.getBoundingClientRect(); return box.height > 0 && box.top >= 0"
        " && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth; }"
    )


# -- sides and pieces ----------------------------------------------------------------------------------------------


def test_person_sits_at_the_bottom_and_a_button_flips_the_board(chrome: Browser) -> None:
    with served("checkers", ("human", "human")) as address:
        someone = at_desk(chrome, address)
        assert someone.middle("1")[1] > someone.middle("32")[1], "Black, who moves first, is at the bottom"
        someone.page.locator("#flip").click()
        someone.wait_for("document.querySelector(\".cell[data-name='1']\").getBoundingClientRect().y < 200")
        assert someone.middle("1")[1] < someone.middle("32")[1]
        someone.drag("11", lambda: "15")
        someone.wait_for("document.querySelector('#ply').value === '1'")
        someone.page.wait_for_timeout(200)
        assert someone.middle("1")[1] < someone.middle("32")[1], "the board stays as the person has turned it"
        someone.press("f")
        someone.wait_for("document.querySelector(\".cell[data-name='1']\").getBoundingClientRect().y > 300")
    with served(BOXES, ("human", "human")) as address:
        assert not at_desk(chrome, address).page.locator("#flip").is_visible(), "no seat has a side"


def test_dropped_piece_moves_only_to_a_legal_target(chrome: Browser) -> None:
    with served("checkers", ("human", "human")) as address:
        someone = at_desk(chrome, address)
        someone.drag("11", lambda: "18")
        assert (someone.ply, someone.cells("selected")) == (0, ["11"]), "it is picked, and back at its place"
        assert pieces_at(someone, "11") == 1
        someone.drag("12", lambda: "16")
        someone.wait_for("document.querySelector('#ply').value === '1'")
        assert someone.session().moves() == ["12-16"]
        someone.page.mouse.move(*someone.middle("22"))
        someone.page.mouse.down()
        someone.page.mouse.up()
        assert someone.cells("selected") == ["22"], "a press without a drag is a click"


def test_finger_drags_a_piece_without_scrolling_the_page(chrome: Browser) -> None:
    with served("minichess", ("human", "human")) as address:
        someone = on_phone(chrome, address)
        devtools = someone.page.context.new_cdp_session(someone.page)

        def touch(kind: str, at: tuple[float, float] | None) -> None:
            points = [] if at is None else [{"x": at[0], "y": at[1]}]
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        (x, y), (to_x, to_y) = someone.middle("b2"), someone.middle("b3")
        touch("touchStart", (x, y))
        for share in (0.3, 0.6, 1.0):
            touch("touchMove", (x + share * (to_x - x), y + share * (to_y - y)))
        touch("touchEnd", None)
        someone.wait_for("document.querySelector('#ply').value === '1'")
        assert someone.session().moves() == ["b2b3"]
        assert someone.page.evaluate("scrollY") == 0


def test_piece_moves_at_once_and_other_clicks_wait_for_the_server(chrome: Browser) -> None:
    with served("minichess", ("human", "human")) as address:
        someone = at_desk(chrome, address)
        held: list[Route] = []
        someone.page.route("**/api/play", lambda route: held.append(route), times=1)
        someone.click("b2")
        someone.click("b3")
        assert (pieces_at(someone, "b2"), pieces_at(someone, "b3")) == (0, 1)
        for cell in ("b3", "c2", "c3"):
            someone.click(cell)
        assert someone.ply == 0
        assert not someone.cells("source")
        while not held:
            someone.page.wait_for_timeout(5)
        held[0].continue_()
        someone.wait_for("document.querySelector('#ply').value === '1'")
        assert someone.session().moves() == ["b2b3"]
        assert not someone.page.locator("#problem").is_visible()


def test_stale_move_is_dropped_without_a_message(chrome: Browser) -> None:
    with served("minichess", ("human", "human")) as address:
        someone = at_desk(chrome, address)

        def make_stale(route: Route) -> None:
            sent = json.loads(route.request.post_data or "")
            route.continue_(post_data=json.dumps({**sent, "ply": 7}))

        someone.page.route("**/api/play", make_stale, times=1)
        someone.click("b2")
        with someone.page.expect_response("**/api/show"):
            someone.click("b3")
        someone.wait_for("document.querySelector('.cell.source')")
        assert (pieces_at(someone, "b2"), pieces_at(someone, "b3"), someone.ply) == (1, 0, 0)
        assert not someone.page.locator("#problem").is_visible()
        someone.drag("b2", lambda: "b3")
        someone.wait_for("document.querySelector('#ply').value === '1'")


def test_undo_goes_back_to_the_own_last_decision(chrome: Browser) -> None:
    with served("checkers", ("human", "first")) as address:
        someone = at_desk(chrome, address)
        assert someone.page.locator("#undo").is_disabled()
        for _ in range(2):
            someone.move(random.Random(1).choice)
        assert someone.ply >= 4
        someone.page.locator("#undo").click()
        someone.wait()
        assert someone.session().mover == 0
        place = r"Your turn \(Black\), at (the start|move \d+ of \d+)\. A new move drops the later ones"
        assert re.fullmatch(place, someone.text("#status"))
        before = someone.ply
        someone.move(random.Random(2).choice)
        assert someone.ply >= before + 2, "the agent has replied"


# -- games of more than two seats --------------------------------------------------------------------------------


def test_star_shows_the_last_turn_of_every_seat_and_hops_as_one_line(chrome: Browser) -> None:
    chance = random.Random(3)
    with served("chinese_checkers(size=2, num_players=3)", ("human", "greedy", "greedy")) as address:
        someone = at_desk(chrome, address)
        while someone.page.locator("#moves li").count() < 7:
            someone.move(chance.choice)
        while someone.session().continues_turn:
            someone.press("e")
            someone.page.wait_for_timeout(100)
            someone.wait()
        colours = someone.page.eval_on_selector_all(".trail", "lines => lines.map(line => line.getAttribute('stroke'))")
        assert sorted(colours) == sorted(set(colours))
        assert len(colours) == 2, "of both other seats"
        lines = someone.page.locator("#moves button").all_inner_texts()
        assert "end" not in lines
        assert any(line.count("→") > 1 for line in lines), "a chain"
        goal = someone.page.locator("#picture path[stroke-dasharray]")
        assert goal.count() == 1
        board = someone.page.locator("#board").bounding_box()
        box = goal.bounding_box()
        assert board is not None
        assert box is not None
        assert box["y"] + box["height"] < board["y"] + board["height"] / 2, "the goal is opposite the person"


# -- dialogs -------------------------------------------------------------------------------------------------------


def test_new_game_is_chosen_in_words(chrome: Browser) -> None:
    with served("checkers", ("human", "first")) as address:
        someone = at_desk(chrome, address)
        page = someone.page
        page.locator("#new-game").click()
        assert page.locator("#game option").all_inner_texts() == list(map(game_title, offered_games()))
        page.locator("#game").select_option(label="Chinese Checkers")
        someone.wait_for("document.querySelectorAll('#new-seats input').length === 3")
        assert page.locator("#menus label").first.inner_text().startswith("Board")
        page.locator("#menus select").nth(1).select_option(label="2")
        someone.wait_for("document.querySelectorAll('#new-seats input').length === 2")
        words = page.locator("#opponent option").all_inner_texts()
        assert words == ["Another person", "Easy", "Medium", "Hard"]
        page.locator("#opponent").select_option(index=1)
        assert page.locator("#side option").all_inner_texts() == ["Red", "Blue", "Random"]
        page.locator("#side").select_option(label="Blue")
        page.locator("#start").click()
        someone.wait_for(f"{SEATS}[1] === 'human'")
        someone.wait()
        env = jaxgames.make("chinese_checkers(size=2, num_players=2)")
        assert someone.session().env == env
        assert someone.session().seats == (baselines.levels(env)["easy"], "human")
        assert someone.page.locator("#players select").nth(1).input_value() == "human"
        labels = someone.page.eval_on_selector_all(
            "#agent-fields label", "labels => labels.map(each => each.textContent)"
        )
        assert [label.strip() for label in labels] == ["Red", "Blue"], "the names of this game, not of the one before"


def test_strength_of_a_level_fits_a_phone(chrome: Browser) -> None:
    with served("checkers", ("human", "first")) as address:
        someone = on_phone(chrome, address)
        someone.page.locator("#new-game").tap()
        someone.wait_for("document.querySelector('#strength').textContent !== ''")
        for level, other in (("Easy", "random moves"), ("Medium", "Easy"), ("Hard", "Medium")):
            someone.page.locator("#opponent").select_option(label=level)
            assert re.fullmatch(rf"Wins .* against {other}\.", someone.text("#strength"))
            lines = someone.page.locator("#strength").evaluate("text => text.clientHeight / 22.4")
            assert lines == pytest.approx(2, abs=0.1)
        someone.page.locator("#opponent").select_option(label="Another person")
        assert someone.text("#strength") == ""


def test_board_stays_in_its_place_during_a_game_and_the_status_is_never_blank(chrome: Browser) -> None:
    """Each change of the status and the place of the board are recorded by the page."""
    with served("dots_and_boxes(rows=2, cols=2)", ("human", "greedy")) as address:
        someone = on_phone(chrome, address)
        someone.page.evaluate(
            "() => { window.seen = []; const look = () => seen.push([document.querySelector('#status').textContent,"
            " document.querySelector('#board').getBoundingClientRect().y + scrollY]); look();"
            " new MutationObserver(look).observe(document.querySelector('#status'), {childList: true}); }"
        )
        someone.page.locator("#hint-agent").evaluate("field => { field.value = 'greedy'; }")
        someone.page.locator("#hint").tap()
        someone.page.locator("#trails path.best").wait_for()
        chance = random.Random(5)
        while not someone.over:
            someone.move(chance.choice, "touch")
        seen: list[tuple[str, float]] = someone.page.evaluate("window.seen")
        assert len(seen) > 8
        assert "" not in {status for status, _ in seen}
        assert len({round(y) for _, y in seen}) == 1


def test_agents_and_parameters_can_be_typed_under_advanced(chrome: Browser) -> None:
    with served("dots_and_boxes(rows=1, cols=2)", ("human", "first")) as address:
        someone = at_desk(chrome, address)
        page = someone.page
        page.locator("#new-game").click()
        someone.wait_for("document.querySelectorAll('#new-seats input').length === 2")
        page.locator("#dialog summary").click()
        page.locator("input[name=reward]").fill("nothing")
        page.locator("input[name=reward]").press("Tab")
        page.locator("#dialog-problem").wait_for()
        assert "nothing" in someone.text("#dialog-problem")
        page.locator("input[name=reward]").fill("boxes")
        page.locator("input[name=reward]").press("Tab")
        someone.wait_for("document.querySelector('#dialog-problem').hidden")
        page.locator("#new-seats input").nth(1).fill("greedy(epsilon=0.25)")
        page.locator("#start").click()
        someone.wait_for(f"{SEATS}[1] === 'greedy(epsilon=0.25)'")
        assert someone.session().env == jaxgames.make("dots_and_boxes(rows=1, cols=2, reward='boxes')")
        page.locator("#advanced summary").click()
        page.locator("#agent-fields input").nth(1).fill("humn")
        page.locator("#agent-fields input").nth(1).press("Tab")
        page.locator("#problem").wait_for()
        assert someone.text("#problem").count("baseline") == 1
        page.locator("#players select").nth(1).select_option(label="Person")
        someone.wait_for(f"{SEATS}[1] === 'human'")
        assert not page.locator("#problem").is_visible()


@pytest.mark.parametrize("game", jaxgames.list_games())
def test_rules_are_one_button_away(chrome: Browser, game: str) -> None:
    small = {"dots_and_boxes": BOXES, "chinese_checkers": STAR}.get(game, game)
    with served(small, ["human"] * jaxgames.make(small).num_players) as address:
        someone = on_phone(chrome, address)
        someone.page.locator("#how-to").tap()
        someone.page.locator("#rules[open]").wait_for()
        assert someone.text("#rules-title").startswith("How to play ")
        assert someone.text("#goal")
        assert is_seen(someone, "#rules-title")
        assert is_seen(someone, "#rules-close"), "however long the rules are"
        pictures = "[...document.querySelectorAll('#rules img')]"
        someone.wait_for(f"{pictures}.length >= 2 && {pictures}.every(image => image.complete)")
        assert someone.page.evaluate(f"{pictures}.every(image => image.naturalWidth > 0)")
        someone.page.locator("#rules-close").tap()
        assert not someone.page.locator("#rules").is_visible()
        assert not someone.errors


# -- after the game --------------------------------------------------------------------------------------------------


def test_rematch_switched_sides_and_review_follow_the_game(chrome: Browser) -> None:
    with served(BOXES, ("human", "first")) as address:
        someone = at_desk(chrome, address)
        page = someone.page
        assert not page.locator("#after").is_visible()
        chance = random.Random(4)
        while not someone.over:
            someone.move(chance.choice)
        assert page.locator("#after").is_visible()
        page.locator("#ask-review").click()
        page.locator("#mistakes").wait_for()
        rows = page.locator("#mistakes button")
        assert 1 <= rows.count() <= 5
        row = rows.first.inner_text()
        assert row.startswith("You played ")
        assert re.search(r", which lost \d+ % of the chance to win\. Better: ", row)
        assert "chance to win" in row
        before: Any = someone.session()
        rows.first.click()
        someone.wait_for("document.querySelector('#ply').value !== document.querySelector('#ply').max")
        ply = someone.ply
        assert before.movers()[ply] == 0, "the position in which the person decided"
        assert before.moves()[ply] in row
        assert someone.text("#status").startswith("Looking back at ")
        assert page.locator("path.mistake").count() == page.locator("path.best").count() == 1, "played and better"
        assert page.locator("#rematch").is_visible()
        page.once("dialog", lambda dialog: dialog.dismiss())
        someone.click(someone.cells("edge")[0])
        assert someone.session().plies == before.plies, "nothing is dropped without a question"
        page.locator("#to-end").click()
        someone.wait_for("document.querySelector('#to-end').hidden")
        page.locator("#rematch").click()
        someone.wait_for("document.querySelector('#after').hidden")
        someone.wait()
        assert (someone.session().seats, someone.ply) == (("human", "first"), 0)
        page.once("dialog", lambda dialog: dialog.accept())
        page.locator("#resign").click()
        page.locator("#switch").click()
        someone.wait_for(f"{SEATS}[1] === 'human'")
        someone.wait()
        assert someone.session().seats == ("first", "human")


# -- on a phone ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["minichess", "chinese_checkers(size=4, num_players=6)"])
def test_board_hint_and_its_result_are_on_one_screen_of_a_phone(chrome: Browser, game: str) -> None:
    seats = jaxgames.make(game).num_players
    with served(game, ["human", *["first"] * (seats - 1)]) as address:
        someone = on_phone(chrome, address)
        someone.page.locator("#hint-agent").evaluate("field => { field.value = 'greedy'; }")
        someone.page.locator("#hint").tap()
        someone.page.locator("#trails path.best").wait_for()
        for part in ("#status", "#board", "#hint"):
            assert is_seen(someone, part), part
        assert someone.page.locator("#trails path.best").count() == 1, "the best move is an arrow"
        assert someone.text("#status").startswith("The computer would play ")
        assert not someone.page.locator("#position").is_visible()
        assert not someone.page.locator("#replay").is_visible(), "nothing has been played"
