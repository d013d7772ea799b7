"""A person at the page: Chromium, driven by Playwright, and what a person does with mouse, fingers and keys."""

import json
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Playwright, Request, Route, ViewportSize, sync_playwright

from benchmarks import play
from jaxgames.play import Session, from_json

DESK, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)
BOXES, PEOPLE = "dots_and_boxes(rows=2, cols=2)", ("human", "human")
By = Literal["mouse", "touch", "keyboard"]
WAIT_SECONDS = 120.0
READY = "document.querySelector('.cell.source, .cell.edge, #extra button') || document.querySelector('#hint').disabled"


def chromium() -> str:
    """Returns the path of Chromium; skips the test, with the line that installs it, where it is missing."""
    path = play.find_chromium()
    if path is None:
        pytest.skip(play.MISSING)
    return path


@contextmanager
def browser() -> Generator[Browser]:
    """Yields Chromium without a window."""
    program = chromium()
    playwright: Playwright
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=play.OPTIONS)
        yield opened
        opened.close()


def check_page(page: Page) -> None:
    """Checks that axe-core finds nothing wrong and that nothing is wider than the window."""
    rules = Axe().run(page).response["violations"]
    assert [f"{rule['id']}: {[node['html'] for node in rule['nodes']]}" for rule in rules] == []
    assert page.viewport_size
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


class Person:
    """A person who plays on the page."""

    def __init__(self, chrome: Browser, address: str, *, before: Callable[[Page], Any] | None = None, **window: Any):
        options: dict[str, Any] = {"viewport": DESK, **window}
        self.page: Page = chrome.new_context(**options).new_page()
        self.page.set_default_timeout(60_000)
        self.address = address
        self.requests: list[str] = []
        self.unanswered: set[Any] = set()
        self.errors: list[str] = []
        self.page.on("request", self.count)
        self.page.on("requestfinished", lambda request: self.unanswered.discard(request))
        self.page.on("requestfailed", lambda request: self.unanswered.discard(request))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        if before:
            before(self.page)
        self.page.goto(address)
        self.wait()

    def count(self, request: Request) -> None:
        self.requests.append(request.url)
        if "/api/events" not in request.url:
            self.unanswered.add(request)

    # -- looking -------------------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Waits until a person is to move or the game is over."""
        self.wait_for(READY)

    def wait_for(self, condition: str) -> None:
        """Waits until a condition of JavaScript is true in the page.

        Playwright's own `wait_for_function` evaluates texts inside the page, which the page's policy forbids.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while not self.page.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"{condition}; status: {self.text('#status')}; {self.errors}"
            self.page.wait_for_timeout(5)

    def at(self, ply: int) -> None:
        """Waits until the page shows the position after so many plies."""
        self.wait_for(f"document.querySelector('#ply').value === '{ply}'")

    def hears(self, text: str, selector: str = "#status") -> None:
        """Waits until an element has a text in it."""
        self.wait_for(f"document.querySelector({selector!r}).textContent.includes({text!r})")

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def text(self, selector: str) -> str:
        return self.find(selector).inner_text()

    def sees(self, selector: str) -> bool:
        return self.find(selector).is_visible()

    @property
    def ply(self) -> int:
        return int(self.find("#ply").input_value())

    @property
    def over(self) -> bool:
        return self.find("#hint").is_disabled()

    @property
    def position(self) -> str:
        return self.find("#position").input_value()

    @property
    def memory(self) -> dict[str, Any]:
        """What the page remembers."""
        return json.loads(self.page.evaluate("localStorage.getItem('jaxgames')"))

    def session(self) -> Session:
        """Returns the game as the page remembers it, played again."""
        return from_json(self.memory["saved"])

    def cells(self, kind: str) -> list[str]:
        """Returns the names of the cells of a kind: "source", "target", "edge", "selected" or "forced"."""
        return self.page.eval_on_selector_all(f".cell.{kind}", "cells => cells.map(cell => cell.dataset.name)")

    def middle(self, cell: str) -> tuple[float, float]:
        """Returns where a cell is in the window."""
        box = self.page.evaluate(
            "name => document.querySelector(`.cell[data-name='${name}']`).getBoundingClientRect()", cell
        )
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def pieces_at(self, cell: str) -> int:
        """Returns how many visible pieces of the picture are in the middle of a cell."""
        return self.page.evaluate(
            "([x, y]) => [...document.querySelectorAll('#picture use:not([href$=-background])')].filter(piece => {"
            " const at = piece.getScreenCTM(); return piece.getAttribute('visibility') !== 'hidden'"
            " && Math.hypot(at.e - x, at.f - y) < 5; }).length",
            self.middle(cell),
        )

    def shown(self) -> list[str]:
        """Returns all that the page tells people who do not see it, as Chromium's accessibility tree has it, in lines.

        At the end are the kinds of the trails on the board, and the cell that has the focus.
        """
        trails = [path.get_attribute("class") for path in self.find("#trails path").all()]
        focus = self.page.evaluate("document.activeElement.dataset.name ?? ''")
        return [*self.find("body").aria_snapshot().split("\n"), f"trails: {trails}", f"focus: {focus}"]

    def settle(self) -> None:
        """Waits until all requests but the stream of events are answered, and nobody but a person is to move."""
        quiet = 0
        while quiet < 3:
            self.wait()
            self.page.wait_for_timeout(15)
            quiet = 0 if self.unanswered else quiet + 1

    # -- acting --------------------------------------------------------------------------------------------------

    def click(self, *cells: str) -> None:
        """Clicks with the mouse in the middle of cells."""
        for cell in cells:
            self.page.mouse.click(*self.middle(cell))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def push(self, *selectors: str) -> None:
        """Clicks on buttons."""
        for selector in selectors:
            self.find(selector).click()

    def accept(self) -> None:
        """Accepts the next question of the page."""
        self.page.once("dialog", lambda dialog: dialog.accept())

    def do(self, step: str) -> None:
        """Does a step of a script: "click 11 15", "keys 11", "drag 11 15", "press u", "push #undo".

        "choose #game = Checkers" chooses in a menu, "fill #ply = 3" types, and "set W:W22:B17" sets up a position.
        "accept push #resign" answers a question of the page with yes, "moves 3" plays three legal moves, and "wait 600"
        waits for milliseconds. "click 18 | wait 600" does both.
        """
        step, *then = step.split(" | ")
        verb, _, what = step.partition(" ")
        selector, _, text = what.partition(" = ")
        match verb:
            case "click":
                self.click(*what.split())
            case "keys":
                self.choose(what, "keyboard")
            case "drag":
                source, target = what.split()
                self.drag(source, lambda: target)
            case "press":
                self.press(*what.split())
            case "push":
                self.push(what)
            case "choose":
                self.find(selector).select_option(label=text)
            case "fill":
                self.find(selector).fill(text)
                self.find(selector).press("Tab")
            case "set":
                self.find("#advanced").evaluate("details => details.open = true")
                self.find("#position").fill(what)
                self.push("#set")
                self.page.evaluate("scrollTo(0, 0)")
            case "moves":
                for _ in range(int(what)):
                    if not self.over:
                        self.move()
            case "wait":
                self.page.wait_for_timeout(int(what))
            case _:
                assert verb == "accept", step
                self.accept()
                self.do(what)
        self.settle()
        for each in then:
            self.do(each)

    def walk(self, cell: str) -> None:
        """Moves the focus to a cell with the arrow keys, from the only one that the Tab key reaches."""
        (stop,) = self.find(".cell[tabindex='0']").all()
        stop.focus()
        for _ in range(60):
            here = self.page.evaluate("document.activeElement.dataset.name")
            right, down = np.subtract(self.middle(cell), self.middle(here))
            if here == cell:
                return
            vertical = "ArrowDown" if down > 0 else "ArrowUp"
            self.press(vertical if abs(down) > 2 else "ArrowRight" if right > 0 else "ArrowLeft")
        raise AssertionError(f"the arrow keys do not reach {cell}")

    def choose(self, cell: str, by: By = "mouse") -> None:
        """Chooses a cell with the mouse, a finger or the keys."""
        if by == "keyboard":
            self.walk(cell)
            self.press("Enter")
        elif by == "touch":
            self.page.touchscreen.tap(*self.middle(cell))
        else:
            self.click(cell)

    def press_button(self, selector: str, by: By) -> None:
        """Presses the first button that a selector finds; by the keyboard, it must have the focus already."""
        if by == "keyboard":
            self.press("Enter")
        else:
            button = self.find(selector).first
            button.tap() if by == "touch" else button.click()

    def drag(self, source: str, choose_target: Callable[[], str]) -> None:
        """Drags the piece on a cell with the mouse; its targets are visible when it has left its place."""
        x, y = self.middle(source)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + 8, y + 8)
        self.page.mouse.move(*self.middle(choose_target()))
        self.page.mouse.up()

    def move(self, choice: Callable[[list[str]], str] = itemgetter(0), by: By = "mouse") -> None:
        """Plays a legal move, one ply, and waits for the next turn; with the mouse, pieces are dragged."""
        before = self.ply
        if edges := self.cells("edge"):
            self.choose(choice(edges), by)
        elif sources := self.cells("source"):
            # without a target, the page has continued a capture by itself meanwhile
            if by == "mouse":
                source = choice(sources)
                self.drag(source, lambda: choice(self.cells("target") or [source]))
            else:
                if not self.cells("selected"):
                    self.choose(choice(sources), by)
                if targets := self.cells("target"):
                    self.choose(choice(targets), by)
            if self.find("#choices button").count():
                self.press_button("#choices button", by)
        elif by == "keyboard":
            self.press("e")
        else:
            self.press_button("#extra button", by)
        self.wait_for(f"Number(document.querySelector('#ply').value) > {before}")
        self.wait()


Sit = Callable[..., Person]  # (game, *seats, phone, options of the server and window): a person at a new server's page


class Held:
    """The next request of a page to a path; it waits until `release`, and with `reply` its reply does."""

    def __init__(self, page: Page, path: str, *, reply: bool = False) -> None:
        self.page, self.reply = page, reply
        self.held: list[tuple[Route, Any]] = []
        self.page.route(f"**/api/{path}", self.hold)

    def hold(self, route: Route) -> None:
        if self.held:  # only the first one waits
            route.continue_()
        else:
            self.held.append((route, route.fetch() if self.reply else None))

    def wait(self) -> None:
        while not self.held:
            self.page.wait_for_timeout(5)

    def release(self) -> None:
        self.wait()
        ((route, reply),) = self.held
        route.fulfill(response=reply) if self.reply else route.continue_()
