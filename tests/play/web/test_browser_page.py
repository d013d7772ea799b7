"""The page itself in a real browser: accessibility, widths, reloading, security, a killed server, files."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ViewportSize

from jaxgames.play import from_json
from tests.play.web.browser import DESK, PHONE, Person, browser, served

pytestmark = [pytest.mark.slow, pytest.mark.browser]

GAMES = (
    "checkers",
    "chinese_checkers(size=4, num_players=6)",
    "chinese_checkers_diamond",
    "dots_and_boxes(rows=5, cols=5)",
    "minichess",
)
BOXES = "dots_and_boxes(rows=2, cols=2)"
NARROW = ViewportSize(width=360, height=640)
ZOOMED = ViewportSize(width=640, height=400)  # what a window of 1280 x 800 shows at 200 percent


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def violations(someone: Person) -> list[str]:
    """Returns what axe-core finds wrong, with the elements."""
    rules = Axe().run(someone.page).response["violations"]
    return [f"{rule['id']}: {[node['html'] for node in rule['nodes']]}" for rule in rules]


# -- everybody can use it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.partition("(")[0])
def test_page_is_accessible_and_fits_all_widths(chrome: Browser, game: str, scheme: Literal["light", "dark"]) -> None:
    seats = ["human"] * (6 if "num_players=6" in game else 2)
    with served(game, seats) as address:
        someone = Person(chrome.new_context(viewport=DESK, color_scheme=scheme), address)
        paper = someone.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 384) == (scheme == "light")
        someone.page.locator("#hint-agent").evaluate("field => { field.value = 'greedy'; }")
        someone.press("h")
        someone.page.locator("#trails path.best").wait_for()
        if someone.cells("source"):
            someone.click(someone.cells("source")[0])
        assert violations(someone) == []
        for size in (DESK, PHONE, NARROW, ZOOMED):
            someone.page.set_viewport_size(size)
            assert someone.page.evaluate("document.documentElement.scrollWidth") <= size["width"], size
        someone.page.set_viewport_size(PHONE)
        assert violations(someone) == []
        someone.page.locator("#new-game").click()
        someone.wait_for("document.querySelectorAll('#new-seats input').length > 0")
        someone.page.locator("#dialog summary").click()
        assert violations(someone) == []
        assert someone.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        someone.page.locator("#close").click()
        someone.page.locator("#how-to").click()
        someone.page.locator("#rules[open]").wait_for()
        assert violations(someone) == []
        assert someone.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        someone.page.locator("#rules-close").click()
        for details in someone.page.locator(".side details").all():
            details.evaluate("part => { part.open = true; }")
        assert violations(someone) == []


def test_cells_are_one_stop_of_the_tab_key_and_are_read_out_in_words(chrome: Browser) -> None:
    with served("checkers", ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        assert someone.page.locator(".cell[tabindex='0']").count() == 1
        someone.walk("11")
        assert someone.page.locator(".cell[data-name='11']").get_attribute("aria-label") == "11, Black man, can move"
        someone.press("Enter")
        assert someone.page.locator(".cell[data-name='11']").get_attribute("aria-pressed") == "true"
        assert someone.page.locator(".cell[data-name='15']").get_attribute("aria-label") == "15, empty, target"
        someone.press("Escape")
        assert not someone.cells("selected")
        someone.press("Space")
        assert someone.cells("selected") == ["11"]
        someone.walk("15")
        someone.press("Enter")
        someone.wait_for("document.querySelector('#status').textContent === 'White to move. Black played 11-15'")
        assert someone.page.evaluate("document.activeElement.dataset.name") == "15", "the focus stays"


def test_nothing_moves_for_people_who_want_no_motion(chrome: Browser) -> None:
    with served(BOXES, ("human", "human")) as address:
        motions: tuple[Literal["reduce", "no-preference"], ...] = ("reduce", "no-preference")
        for motion in motions:
            someone = Person(chrome.new_context(viewport=DESK, reduced_motion=motion), address)
            duration = someone.page.evaluate("getComputedStyle(document.querySelector('.cell')).transitionDuration")
            assert (duration == "0s") == (motion == "reduce")


# -- the page and its server ---------------------------------------------------------------------------------------


def test_reload_shows_the_same_game(chrome: Browser) -> None:
    with served(BOXES, ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        for _ in range(3):
            someone.move(lambda cells: cells[0])
        before, id = someone.position, someone.page.evaluate("JSON.parse(localStorage.getItem('jaxgames')).id")
        someone.page.reload()
        someone.wait()
        assert (someone.position, someone.ply) == (before, 3)
        assert someone.page.evaluate("JSON.parse(localStorage.getItem('jaxgames')).id") == id
        other = Person(someone.page.context, address)
        other.move(lambda cells: cells[0])
        someone.wait_for("document.querySelector('#ply').value === '4'")  # both windows show one game


def test_foreign_script_and_foreign_page_can_do_nothing(chrome: Browser) -> None:
    with served(BOXES, ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        someone.page.evaluate(
            "() => { const script = document.createElement('script'); script.textContent = 'window.injected = 1';"
            " document.body.append(script); const image = document.createElement('img');"
            " image.src = 'http://attacker.example/x.png'; document.body.append(image); }"
        )
        assert someone.page.evaluate("window.injected") is None
        assert sum("Content Security Policy" in error for error in someone.errors) == 2
    with served(BOXES, ("human", "human")) as victim, served(BOXES, ("human", "human")) as attacker:
        page = chrome.new_context().new_page()
        page.goto(f"{attacker}page/page.css")
        attempt = "address => fetch(address, {method: 'POST', body: '{}'}).then(() => 'read', () => 'refused')"
        assert page.evaluate(attempt, f"{victim}api/new") == "refused"
        assert page.evaluate("address => fetch(address).then(() => 'read', () => 'refused')", victim) == "refused"


def start_process(port: int) -> subprocess.Popen[bytes]:
    """Starts the command that people type."""
    command = (sys.executable, "-m", "jaxgames.play", BOXES, "--seats", "human,human", "--port", str(port))
    return subprocess.Popen((*command, "--no-browser"), env=os.environ, stdout=subprocess.DEVNULL)


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_killed_server_is_noticed_and_the_game_goes_on_with_the_next_one(chrome: Browser) -> None:
    """Also if the next server is killed while the page comes back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = start_process(port)
    try:
        while not answers(port):
            assert process.poll() is None
            time.sleep(0.1)
        someone = Person(chrome.new_context(viewport=DESK), f"http://127.0.0.1:{port}/")
        for _ in range(3):
            someone.move(lambda cells: cells[0])
        before = someone.position
        process.kill()
        process.wait()
        someone.wait_for("document.querySelector('#problem').textContent.includes('server has stopped')")
        assert not someone.cells("edge"), "nothing can be played meanwhile"
        with someone.page.expect_request("**/api/load"):
            process = start_process(port)
        process.kill()  # in the middle of the reply: the rules are compiled first
        process.wait()
        process = start_process(port)
        someone.wait_for("document.querySelector('#problem').hidden")
        someone.wait()
        assert (someone.position, someone.ply) == (before, 3)
        someone.move(lambda cells: cells[0])
        assert someone.session().plies == 4
    finally:
        process.kill()
        process.wait()


def test_game_that_cannot_be_continued_is_named_and_kept(chrome: Browser) -> None:
    with served(BOXES, ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        someone.page.evaluate(
            "() => { const memory = JSON.parse(localStorage.getItem('jaxgames'));"
            " localStorage.setItem('jaxgames', JSON.stringify({...memory, id: 'gone', saved: '{}'})); }"
        )
        someone.page.reload()
        someone.wait()
        assert someone.text("#problem").startswith("The game before cannot be continued: the saved game is not")
        assert someone.page.evaluate("JSON.parse(localStorage.getItem('jaxgames refused')).saved") == "{}"
        someone.move(lambda cells: cells[0])
        assert not someone.page.locator("#problem").is_visible()


# -- files ---------------------------------------------------------------------------------------------------------


def test_game_and_still_page_are_downloaded_and_open(chrome: Browser, tmp_path: Path) -> None:
    with served(BOXES, ("human", "human")) as address:
        someone = Person(chrome.new_context(viewport=DESK), address)
        for _ in range(4):
            someone.move(lambda cells: cells[0])
        someone.page.locator("summary", has_text="Save and load").click()
        for button, suffix in (("#save", "json"), ("#still", "html")):
            with someone.page.expect_download() as download:
                someone.page.locator(button).click()
            download.value.save_as(tmp_path / f"game.{suffix}")
        saved = from_json((tmp_path / "game.json").read_text())
        assert saved.moves() == someone.session().moves()
        someone.press("ArrowLeft")
        someone.page.locator("#file").set_input_files(tmp_path / "game.json")
        someone.wait_for("document.querySelector('#ply').value === '4'")
        someone.press("ArrowLeft", "ArrowLeft")
        someone.wait_for("document.querySelector('#ply').value === '2'")
        someone.page.locator("#file").set_input_files(tmp_path / "game.html")
        someone.wait_for("document.querySelector('#ply').value === '4'")
        assert someone.session().moves() == saved.moves()
        assert not someone.errors
        (tmp_path / "empty.html").write_text("<!DOCTYPE html>")
        someone.page.locator("#file").set_input_files(tmp_path / "empty.html")
        someone.wait_for("document.querySelector('#problem').textContent.includes('must be a JSON object')")
        (tmp_path / "wrong.json").write_text((tmp_path / "game.json").read_text().replace("h(0,1)", "h(0,0)"))
        someone.page.locator("#file").set_input_files(tmp_path / "wrong.json")
        someone.wait_for("document.querySelector('#problem').textContent.includes('of the saved game')")
    context = chrome.new_context(viewport=PHONE, offline=True)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "game.html").as_uri())
    slider = page.locator("input[type=range]")
    assert slider.input_value() == "4"
    before = page.locator("#words").inner_text()
    page.locator("#first").click()
    assert slider.input_value() == "0"
    assert page.locator("#words").inner_text() != before
    page.keyboard.press("ArrowRight")
    assert slider.input_value() == "1"
    assert requests == [(tmp_path / "game.html").as_uri()]
    assert Axe().run(page).violations_count == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
