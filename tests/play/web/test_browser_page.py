"""The page in a real browser: accessibility, screens, hints, reloading, security, a killed server, files."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import jax.numpy as jnp
import pytest
from playwright.sync_api import Browser, ViewportSize

import jaxgames
from jaxgames import agents
from jaxgames.play import Session, from_json, to_html
from jaxgames.play.web.turns import written
from tests.helpers.registrations import temporary_registrations
from tests.helpers.scripted_agents import HostAgent
from tests.helpers.sticks import Sticks
from tests.play.web.browser import BOXES, DESK, PEOPLE, PHONE, Held, Person, Sit, check_page

pytestmark = [pytest.mark.slow, pytest.mark.browser]

GAMES = (
    "checkers",
    "chinese_checkers(size=4, num_players=6)",
    "chinese_checkers_diamond",
    "dots_and_boxes(rows=5, cols=5)",
    "minichess",
)
NARROW = ViewportSize(width=360, height=640)
ZOOMED = ViewportSize(width=640, height=400)  # what a window of 1280 x 800 shows at 200 percent


def ask_greedy(someone: Person) -> None:
    someone.find("#hint-agent").evaluate("field => { field.value = 'greedy'; }")
    someone.push("#hint")
    someone.find("#trails path.best").wait_for()


# -- everybody can use it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.partition("(")[0])
def test_page_is_accessible_and_fits_all_widths(sit: Sit, game: str, scheme: Literal["light", "dark"]) -> None:
    someone = sit(game, *["human"] * jaxgames.make(game).num_players, color_scheme=scheme)
    paper = someone.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 384) == (scheme == "light")
    ask_greedy(someone)
    someone.click(*someone.cells("source")[:1])
    for size in (DESK, NARROW, ZOOMED, PHONE):
        someone.page.set_viewport_size(size)
        check_page(someone.page)
    someone.push("#new-game")
    someone.wait_for("document.querySelectorAll('#new-seats input').length > 0")
    someone.push("#dialog summary")
    check_page(someone.page)
    someone.push("#close", "#how-to")
    someone.find("#rules[open]").wait_for()
    check_page(someone.page)
    assert someone.is_on_screen("#rules-title")
    assert someone.is_on_screen("#rules-close"), "however long the rules are"
    pictures = "[...document.querySelectorAll('#rules img')]"
    someone.wait_for(f"{pictures}.length >= 2 && {pictures}.every(image => image.complete && image.naturalWidth > 0)")
    someone.push("#rules-close")
    for details in someone.find(".side details").all():
        details.evaluate("part => { part.open = true; }")
    check_page(someone.page)
    assert not someone.errors


def test_cells_are_one_stop_of_the_tab_key_and_are_read_out_in_words(sit: Sit) -> None:
    someone = sit("checkers", *PEOPLE)
    assert someone.find(".cell[tabindex='0']").count() == 1
    someone.walk("11")
    assert someone.find(".cell[data-name='11']").get_attribute("aria-label") == "11, Black man, can move"
    someone.press("Enter")
    assert someone.find(".cell[data-name='11']").get_attribute("aria-pressed") == "true"
    assert someone.find(".cell[data-name='15']").get_attribute("aria-label") == "15, empty, target"
    someone.press("Escape")
    assert not someone.cells("selected")
    someone.press("Space")
    assert someone.cells("selected") == ["11"]
    someone.choose("15", "keyboard")
    someone.hears("White to move. Black played 11-15")
    assert someone.page.evaluate("document.activeElement.dataset.name") == "15", "the focus stays"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_for_people_who_want_no_motion(sit: Sit, motion: str) -> None:
    someone = sit(BOXES, *PEOPLE, reduced_motion=motion)
    duration = someone.page.evaluate("getComputedStyle(document.querySelector('.cell')).transitionDuration")
    assert (duration == "0s") == (motion == "reduce")


@pytest.mark.parametrize("game", ["minichess", "chinese_checkers(size=4, num_players=6)"])
def test_board_hint_and_its_result_are_on_one_screen_of_a_phone(sit: Sit, game: str) -> None:
    someone = sit(game, "human", *["first"] * (jaxgames.make(game).num_players - 1), phone=True)
    ask_greedy(someone)
    assert all(someone.is_on_screen(part) for part in ("#status", "#board", "#hint"))
    assert not someone.sees("#position")
    assert not someone.sees("#replay"), "nothing has been played"


def test_person_sits_at_the_bottom_and_a_button_flips_the_board(sit: Sit) -> None:
    someone = sit("checkers", *PEOPLE)
    assert someone.middle("1")[1] > someone.middle("32")[1], "Black, who moves first, is at the bottom"
    someone.push("#flip")
    someone.wait_for("document.querySelector(\".cell[data-name='1']\").getBoundingClientRect().y < 200")
    someone.drag("11", lambda: "15")
    someone.at(1)
    someone.page.wait_for_timeout(200)
    assert someone.middle("1")[1] < someone.middle("32")[1], "the board stays as the person has turned it"
    someone.press("f")
    someone.wait_for("document.querySelector(\".cell[data-name='1']\").getBoundingClientRect().y > 300")
    assert not sit(BOXES, *PEOPLE).sees("#flip"), "no seat has a side"


def test_game_without_pictures_is_played_with_a_text_and_buttons(sit: Sit) -> None:
    with temporary_registrations():
        jaxgames.register("sticks", Sticks)
        someone, session = sit("sticks", "human", "first", "human"), Session(Sticks(), ["human"] * 3)
        buttons = someone.find("#extra button")
        for turn in ((2, 0), (1,), (0,)):  # the actions of a person and of the agent behind; 7 sticks are taken
            assert someone.text("#picture pre") == session.to_text()
            assert buttons.all_inner_texts() == [move.text for move in session.legal()]
            buttons.nth(turn[0]).click()
            for action in turn:
                session.play(action)
            someone.at(session.ply)
            someone.wait()
        assert someone.text("#status") == "Player 1 wins: no sticks left"


# -- what agents think ----------------------------------------------------------------------------------------------


def beside_a_judge(sit: Sit) -> Person:
    """The judge plays the first legal action with the probability 3/4, and expects 1 for seat 0 and -1 for seat 1."""

    def make(text: str, env: Any) -> agents.Agent:
        first, others = agents.FirstAgent(env), agents.RandomAgent(env)

        def analyse(states: Any) -> agents.Analysis:
            shares = (2 * first.analyse(states).probabilities + others.analyse(states).probabilities) / 3
            return agents.Analysis(shares, jnp.array([[1.0, -1.0]]))

        return HostAgent(first.act, analyse) if text == "judge" else agents.make(text, env)

    return sit("chinese_checkers(size=1, num_players=2, reward='win_loss')", "human", "judge", make=make)


def test_hint_is_one_arrow_for_one_position(sit: Sit) -> None:
    someone = beside_a_judge(sit)
    arrows = someone.find("#trails path.best")
    someone.press("h")
    arrows.wait_for()
    best = someone.session().legal()[0]
    assert someone.text("#status") == f"The computer would play {written([best.text])}. Your chance to win: 100 %"
    hinted = someone.find(".cell[aria-label$='hint']")
    assert {cell.get_attribute("data-name") for cell in hinted.all()} == {best.source, best.target}
    assert not someone.sees("#thoughts")
    someone.press("h")
    assert not arrows.count()
    held = Held(someone.page, "hint")
    someone.press("h")
    held.wait()
    someone.move()  # ends the hint that is computed
    for _ in range(2):  # at the next turn, and in the next game
        assert not arrows.count()
        assert someone.find("#hint").get_attribute("aria-pressed") == "false"
        someone.accept()
        someone.press("h")
        arrows.wait_for()
        someone.push("#resign", "#rematch")
        someone.wait_for("document.querySelector('#after').hidden")
        someone.wait()


def test_switch_shows_the_shares_of_hints_and_of_the_computers_last_move(sit: Sit) -> None:
    someone = beside_a_judge(sit)
    someone.find("#advanced").evaluate("details => details.open = true")
    someone.find("#show-thoughts").check()
    someone.push("#hint")
    someone.find("#thoughts").wait_for()
    percents = [int(text.removesuffix(" %")) for text in someone.find("#tops .number").all_inner_texts()]
    assert 95 <= sum(percents) <= 105
    assert len(percents) == min(5, len(someone.session().legal()))
    someone.move()
    someone.hears("Blue's chance to win: 0 %", "#chance-words")
    played = written(someone.session().moves()[-1:])
    assert someone.find("#tops th").first.inner_text() == played, "it plays what it likes best"
    assert not someone.find("#trails path.best").count(), "its move is not on the board of the person"


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
        someone = Person(chrome, f"http://127.0.0.1:{port}/")
        for _ in range(3):
            someone.move()
        before = someone.position
        process.kill()
        process.wait()
        someone.hears("server has stopped", "#problem")
        assert not someone.cells("edge"), "nothing can be played meanwhile"
        with someone.page.expect_request("**/api/load"):
            process = start_process(port)
        process.kill()  # in the middle of the reply: the rules are compiled first
        process.wait()
        process = start_process(port)
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
