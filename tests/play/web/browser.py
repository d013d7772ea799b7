"""A person at the page: Chromium, driven by Playwright, and what a person does with mouse, fingers and keys."""

import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, ViewportSize, sync_playwright

import jaxgames
from benchmarks.play import MISSING, OPTIONS, find_chromium
from benchmarks.play import served as serving
from jaxgames.play import Session, from_json

DESK, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)
By = Literal["mouse", "touch", "keyboard"]
WAIT_SECONDS = 120.0
READY = "document.querySelector('.cell.source, .cell.edge, #extra button') || document.querySelector('#hint').disabled"


def chromium() -> str:
    """Returns the path of Chromium; skips the test, with the line that installs it, where it is missing."""
    path = find_chromium()
    if path is None:
        pytest.skip(MISSING)
    return path


@contextmanager
def browser() -> Generator[Browser]:
    """Yields Chromium without a window."""
    program = chromium()
    playwright: Playwright
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield opened
        opened.close()


@contextmanager
def served(game: str, seats: Sequence[str], **arguments: Any) -> Generator[str]:
    """Yields the address of a server in this process, on which agents move at once."""
    with serving(jaxgames.make(game), seats, **{"pace": 0.0, **arguments}) as address:
        yield address


def at_desk(chrome: Browser, address: str) -> "Person":
    """Returns a person with a wide window and a mouse."""
    return Person(chrome.new_context(viewport=DESK), address)


def on_phone(chrome: Browser, address: str) -> "Person":
    """Returns a person with a phone, who touches it."""
    return Person(chrome.new_context(viewport=PHONE, has_touch=True, is_mobile=True), address)


class Person:
    """A person who plays on the page."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.address = address
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(address)
        self.wait()

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

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    @property
    def ply(self) -> int:
        return int(self.page.locator("#ply").input_value())

    @property
    def over(self) -> bool:
        return self.page.locator("#hint").is_disabled()

    @property
    def position(self) -> str:
        return self.page.locator("#position").input_value()

    def set_up(self, text: str) -> None:
        """Sets up a position, and scrolls back to the board."""
        self.page.locator("#advanced").evaluate("details => details.open = true")
        self.page.locator("#position").fill(text)
        self.page.locator("#set").click()
        self.wait_for("JSON.parse(JSON.parse(localStorage.getItem('jaxgames')).saved).opening !== null")
        self.page.evaluate("scrollTo(0, 0)")

    def session(self) -> Session:
        """Returns the game as the page remembers it, played again."""
        memory: dict[str, Any] = json.loads(self.page.evaluate("localStorage.getItem('jaxgames')"))
        return from_json(memory["saved"])

    def cells(self, kind: str) -> list[str]:
        """Returns the names of the cells of a kind: "source", "target", "edge", "selected" or "forced"."""
        return self.page.eval_on_selector_all(f".cell.{kind}", "cells => cells.map(cell => cell.dataset.name)")

    def middle(self, cell: str) -> tuple[float, float]:
        """Returns where a cell is in the window."""
        at = self.page.evaluate(
            "name => { const box = document.querySelector(`.cell[data-name='${name}']`).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; }",
            cell,
        )
        return at[0], at[1]

    # -- acting --------------------------------------------------------------------------------------------------

    def click(self, cell: str) -> None:
        """Clicks with the mouse in the middle of a cell."""
        self.page.mouse.click(*self.middle(cell))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def walk(self, cell: str) -> None:
        """Moves the focus from the cell that the Tab key reaches to another one, with the arrow keys."""
        self.press(*self.way(cell))
        reached = self.page.evaluate("document.activeElement.dataset.name")
        assert reached == cell, f"the arrow keys lead to {reached}, not to {cell}"

    def way(self, cell: str) -> list[str]:
        """Returns the arrow keys that lead to a cell: first to its row, then along the row."""
        rows = self.page.evaluate(
            "() => { const rows = new Map(); for (const cell of document.querySelectorAll('.cell')) {"
            " const y = Math.round(parseFloat(cell.style.top) * 10);"
            " if (!rows.has(y)) rows.set(y, []); rows.get(y).push([parseFloat(cell.style.left), cell.dataset.name]); }"
            " return [...rows].sort((a, b) => a[0] - b[0]).map(row => row[1].sort((a, b) => a[0] - b[0])); }"
        )
        self.page.locator(".cell[tabindex='0']").focus()
        row_of = {name: row for row, cells in enumerate(rows) for _, name in cells}
        here = self.page.evaluate("document.activeElement.dataset.name")
        down = row_of[cell] - row_of[here]
        self.press(*["ArrowDown" if down > 0 else "ArrowUp"] * abs(down))
        names = [name for _, name in rows[row_of[cell]]]
        here = self.page.evaluate("document.activeElement.dataset.name")
        right = names.index(cell) - names.index(here)
        return ["ArrowRight" if right > 0 else "ArrowLeft"] * abs(right)

    def press_button(self, selector: str, by: By) -> None:
        """Presses the first button that a selector finds; by the keyboard, it must have the focus already."""
        if by == "keyboard":
            self.press("Enter")
        else:
            button = self.page.locator(selector).first
            button.tap() if by == "touch" else button.click()

    def choose(self, cell: str, by: By = "mouse") -> None:
        """Chooses a cell with the mouse, a finger or the keys."""
        if by == "keyboard":
            self.walk(cell)
            self.press("Enter")
        elif by == "touch":
            self.page.touchscreen.tap(*self.middle(cell))
        else:
            self.click(cell)

    def drag(self, source: str, choose_target: Callable[[], str]) -> None:
        """Drags the piece on a cell with the mouse; its targets are visible when it has left its place."""
        x, y = self.middle(source)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + 8, y + 8)
        self.page.mouse.move(*self.middle(choose_target()))
        self.page.mouse.up()

    def move(self, choice: Any, by: By = "mouse") -> None:
        """Plays a random legal move, one ply, and waits for the next turn; `choice` is `random.choice`.

        With the mouse, pieces are dragged.
        """
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
            if self.page.locator("#choices button").count():
                self.press_button("#choices button", by)
        elif by == "keyboard":
            self.press("e")
        else:
            self.press_button("#extra button", by)
        self.wait_for(f"Number(document.querySelector('#ply').value) > {before}")
        self.wait()
