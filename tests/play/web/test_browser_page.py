"""The page in a real browser: accessibility, screens, reloading, security, a killed server, files."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

import jaxgames
from jaxgames.play import Session, from_json, to_html
from tests.play.web.browser import BOXES, DESK, PEOPLE, PHONE, Person, Sit, check_page

pytestmark = [pytest.mark.slow, pytest.mark.browser]

NARROW = ViewportSize(width=360, height=640)
ZOOMED = ViewportSize(width=640, height=400)  # what a window of 1280 x 800 shows at 200 percent


def ask_greedy(someone: Person) -> None:
    someone.find("#hint-agent").evaluate("field => { field.value = 'greedy'; }")
    someone.push("#hint")
    someone.find("#trails path.best").wait_for()


# -- everybody can use it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("game", jaxgames.list_games())
def test_page_is_accessible_and_fits_all_widths(sit: Sit, game: str, scheme: Literal["light", "dark"]) -> None:
    motion = "reduce" if scheme == "dark" else "no-preference"
    people = ["human"] * jaxgames.make(game).num_players
    someone = sit(game, *people, color_scheme=scheme, reduced_motion=motion)
    duration = someone.page.evaluate("getComputedStyle(document.querySelector('.cell')).transitionDuration")
    assert (duration == "0s") == (motion == "reduce")
    paper = someone.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 384) == (scheme == "light")
    ask_greedy(someone)
    someone.click(*someone.cells("source")[:1])
    for size in (DESK, NARROW, ZOOMED, PHONE):
        someone.page.set_viewport_size(size)
        check_page(someone.page)
    for part in ("#status", "#board", "#hint"):  # also on a phone
        expect(someone.find(part)).to_be_in_viewport(ratio=1)
    someone.push("#new-game")
    someone.wait_for("document.querySelectorAll('#new-seats input').length > 0")
    someone.push("#dialog summary")
    check_page(someone.page)
    someone.push("#close", "#how-to")
    someone.find("#rules[open]").wait_for()
    check_page(someone.page)
    for part in ("#rules-title", "#rules-close"):  # however long the rules are
        expect(someone.find(part)).to_be_in_viewport(ratio=1)
    pictures = "[...document.querySelectorAll('#rules img')]"
    someone.wait_for(f"{pictures}.length >= 2 && {pictures}.every(image => image.complete && image.naturalWidth > 0)")
    someone.push("#rules-close")
    for details in someone.find(".side details").all():
        details.evaluate("part => { part.open = true; }")
    check_page(someone.page)
    assert not someone.errors


# -- the page and its server ---------------------------------------------------------------------------------------


def test_game_is_found_again_by_a_reload_and_a_second_window_and_kept_if_it_cannot_be_continued(sit: Sit) -> None:
    someone = sit(BOXES, *PEOPLE)
    for _ in range(3):
        someone.move()
    before, id = someone.position, someone.memory["id"]
    someone.page.reload()
    someone.wait()
    assert (someone.position, someone.ply, someone.memory["id"]) == (before, 3, id)
    with someone.page.context.expect_page() as opened:
        someone.page.evaluate("open('/')")
    opened.value.locator(".cell.edge").first.click()
    someone.at(4)
    opened.value.close()
    changed = json.dumps(someone.memory | {"id": "gone", "saved": "{}"})
    someone.page.evaluate("memory => localStorage.setItem('jaxgames', memory)", changed)
    someone.page.reload()
    someone.wait()
    assert someone.text("#problem").startswith("The game before cannot be continued: the saved game is not")
    assert someone.page.evaluate("JSON.parse(localStorage.getItem('jaxgames refused')).saved") == "{}"
    someone.move()
    assert not someone.sees("#problem")


def test_foreign_script_and_foreign_page_can_do_nothing(sit: Sit) -> None:
    someone = sit(BOXES, *PEOPLE)
    someone.page.evaluate(
        "() => { const script = document.createElement('script'); script.textContent = 'window.injected = 1';"
        " document.body.append(script); const image = document.createElement('img');"
        " image.src = 'http://attacker.example/x.png'; document.body.append(image); }"
    )
    assert someone.page.evaluate("window.injected") is None
    assert sum("Content Security Policy" in error for error in someone.errors) == 2
    attacker = sit(BOXES, *PEOPLE)
    attacker.page.goto(f"{attacker.address}page/page.css")
    attempt = "options => fetch(options[0], options[1]).then(() => 'read', () => 'refused')"
    for path, options in (("api/new", {"method": "POST", "body": "{}"}), ("", {})):
        assert attacker.page.evaluate(attempt, [f"{someone.address}{path}", options]) == "refused"


def start_process(port: str = "0") -> tuple[subprocess.Popen[str], str]:
    """Starts the command that people type; returns it and its address."""
    command = (sys.executable, "-m", "jaxgames.play", BOXES, "--seats", "human,human", "--port", port, "--no-browser")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    (address,) = re.findall(r"http://\S+", process.stdout.readline())
    return process, address


def test_killed_server_is_noticed_and_the_game_goes_on_with_the_next_one(chrome: Browser) -> None:
    """Also if the next server is killed while the page comes back."""
    process, address = start_process()
    (port,) = re.findall(r":(\d+)", address)
    try:
        someone = Person(chrome, address)
        for _ in range(3):
            someone.move()
        before = someone.position
        process.kill()
        process.wait()
        someone.hears("server has stopped", "#problem")
        assert not someone.cells("edge"), "nothing can be played meanwhile"
        with someone.page.expect_request("**/api/load"):
            process, _ = start_process(port)
        process.kill()  # in the middle of the reply: the rules are compiled first
        process.wait()
        process, _ = start_process(port)
        someone.wait_for("document.querySelector('#problem').hidden")
        someone.wait()
        assert (someone.position, someone.ply) == (before, 3)
        someone.move()
        assert someone.session().plies == 4
    finally:
        process.kill()
        process.wait()


# -- files ---------------------------------------------------------------------------------------------------------


def test_game_and_still_page_are_saved_and_loaded(sit: Sit, tmp_path: Path) -> None:
    someone = sit(BOXES, *PEOPLE)
    for _ in range(4):
        someone.move()
    someone.page.locator("summary", has_text="Save and load").click()
    for button, suffix in (("#save", "json"), ("#still", "html")):
        with someone.page.expect_download() as download:
            someone.push(button)
        download.value.save_as(tmp_path / f"game.{suffix}")
    moves = someone.session().moves()
    assert from_json((tmp_path / "game.json").read_text()).moves() == moves
    for suffix in ("json", "html"):
        someone.press("ArrowLeft")
        someone.at(3)
        someone.find("#file").set_input_files(tmp_path / f"game.{suffix}")
        someone.at(4)
        assert someone.session().moves() == moves
    assert not someone.errors
    (tmp_path / "wrong.json").write_text((tmp_path / "game.json").read_text().replace("h(0,1)", "h(0,0)"))
    someone.find("#file").set_input_files(tmp_path / "wrong.json")
    someone.hears("of the saved game", "#problem")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_still_page_works_from_a_file(chrome: Browser, tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    session, file = Session("dots_and_boxes(rows=1, cols=2)", PEOPLE), tmp_path / "game.html"
    while not session.over:
        session.play(session.legal()[0].action)
    file.write_text(to_html(session), encoding="utf-8")
    page = chrome.new_context(color_scheme=scheme, viewport=NARROW, offline=True).new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else problems.append(request.url))
    page.goto(file.as_uri())
    slider = page.locator("input[type=range]")
    assert slider.input_value() == "7"
    for key, ply in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 7)):
        page.keyboard.press(key)
        assert slider.input_value() == str(ply)
    page.get_by_role("button", name="3. h(1,0)").click()
    assert page.inner_text("#words") == "3. h(1,0): Blue to move · 0 : 0"
    notes = page.locator("svg text[data-at]", has_text=re.compile(r"^\d+\. "))
    assert [note.text_content() for note in notes.all() if note.is_visible()] == ["3. h(1,0)"]
    page.locator("#autoplay").click()
    assert page.locator("#autoplay").get_attribute("aria-pressed") == "true"
    check_page(page)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert problems == []
