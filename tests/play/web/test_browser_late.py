"""Replies that come late, and games without pictures, on the page in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route

import jaxgames
from jaxgames.play import Session
from tests.helpers.registrations import temporary_registrations
from tests.helpers.sticks import Sticks
from tests.play.web.browser import DESK, Person, browser, served

pytestmark = [pytest.mark.slow, pytest.mark.browser]

BOXES = "dots_and_boxes(rows=2, cols=2)"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


class Held:
    """The reply to the next ply of a page, which waits until `release`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.replies: list[tuple[Route, APIResponse]] = []
        page.route("**/api/play", self.hold, times=1)

    def hold(self, route: Route) -> None:
        self.replies.append((route, route.fetch()))

    def release(self) -> None:
        while not self.replies:
            self.page.wait_for_timeout(5)
        ((route, reply),) = self.replies
        route.fulfill(response=reply)


# -- late replies --------------------------------------------------------------------------------------------------


def test_capture_that_was_undone_before_its_reply_is_not_continued(chrome: Browser) -> None:
    with served("checkers", ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        someone.set_up("B:W15,23,32:B1,2,11")
        someone.wait_for("document.querySelectorAll('.cell.forced').length === 1")
        someone.click("18")
        someone.wait_for("document.querySelector('#ply').value === '2'")
        someone.page.locator("#previous").click()
        someone.wait_for("document.querySelector('#ply').value === '1'")
        reply = Held(someone.page)
        someone.click("27")
        someone.wait_for("document.querySelector('#ply').value === '2'")  # by an event
        someone.page.locator("#previous").click()
        someone.wait_for("document.querySelector('#ply').value === '1'")
        reply.release()
        someone.page.wait_for_timeout(1000)
        assert someone.ply == 1


def test_late_event_does_not_take_a_move_back(chrome: Browser) -> None:
    """The first event of the game arrives after the person has moved, and before the server has the move."""
    with served(BOXES, ("human", "human")) as address:
        context = chrome.new_context(viewport=DESK)
        events, moves = list[Route](), list[Route]()
        context.route("**/api/events*", lambda route: events.append(route))
        context.route("**/api/play", lambda route: moves.append(route))
        someone = Person(context, address)
        someone.click("h(0,0)")
        while not (events and moves):
            someone.page.wait_for_timeout(5)
        events[0].continue_()
        someone.page.wait_for_timeout(500)
        assert someone.text("#status") == "Your move is sent."
        moves[0].continue_()
        someone.wait_for("document.querySelector('#ply').value === '1'")


def test_late_reply_of_the_game_before_does_not_replace_the_new_one(chrome: Browser) -> None:
    with served(BOXES, ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        reply = Held(someone.page)
        someone.click(someone.cells("edge")[0])
        someone.wait_for("document.querySelector('#ply').value === '1'")
        someone.page.locator("#new-game").click()
        someone.wait_for("document.querySelectorAll('#new-seats input').length === 2")
        someone.page.locator("#opponent").select_option("human")
        someone.page.locator("#start").click()
        someone.wait_for("document.querySelector('#ply').value === '0'")
        reply.release()
        someone.page.wait_for_timeout(300)
        assert someone.ply == 0


def test_kept_agent_that_does_not_play_the_new_board_is_replaced(chrome: Browser) -> None:
    with served("dots_and_boxes(rows=5, cols=5)", ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        second = "document.querySelectorAll('#new-seats input')[1]?.value"
        someone.page.locator("#new-game").click()
        someone.wait_for(f"{second} === 'human'")
        someone.page.locator("#opponent").select_option("baseline")
        assert someone.page.evaluate(second) == "baseline"
        someone.page.locator("#menus select").select_option(label="4 by 4 boxes")
        someone.wait_for(f"{second}.startsWith('alphabeta(')")


# -- without pictures ----------------------------------------------------------------------------------------------


@pytest.fixture
def sticks() -> Iterator[str]:
    """The name of a game without pictures, which is registered for one test."""
    with temporary_registrations():
        jaxgames.register("sticks", Sticks)
        yield "sticks"


def test_game_without_pictures_is_played_with_a_text_and_buttons(chrome: Browser, sticks: str) -> None:
    with served(sticks, ("human", "first", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        session = Session(Sticks(), ["human"] * 3)
        buttons = someone.page.locator("#extra button")
        for turn in ((2, 0), (1,), (0,)):  # the actions of a person and of the agent behind; 7 sticks are taken
            assert someone.text("#picture pre") == session.to_text()
            assert buttons.all_inner_texts() == [move.text for move in session.legal()]
            buttons.nth(turn[0]).click()
            for action in turn:
                session.play(action)
            someone.wait_for(f"document.querySelector('#ply').value === '{session.ply}'")
            someone.wait()
        assert someone.text("#status") == "Player 1 wins: no sticks left"
        assert not someone.errors
