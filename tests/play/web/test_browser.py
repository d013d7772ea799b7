"""Games on the page in a real browser: with mouse and keys, chains, promotions, undo, positions, hints, many seats."""

import itertools
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import pytest
from playwright.sync_api import Browser, Route

import jaxgames
from jaxgames import agents
from jaxgames.play import Session, words
from jaxgames.play.web.turns import turns_of, written
from tests.play.web.browser import By, Person, at_desk, browser, on_phone, served

pytestmark = [pytest.mark.slow, pytest.mark.browser]

GAMES = {
    "checkers": "checkers(max_plies=40)",
    "chinese_checkers": "chinese_checkers(size=1, num_players=2)",
    "chinese_checkers_diamond": "chinese_checkers_diamond(size=4, pieces=3, max_plies=30)",
    "dots_and_boxes": "dots_and_boxes(rows=2, cols=3)",
    "minichess": "minichess(max_plies=30)",
}
SEATS = ("human", "random")


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def at_position(chrome: Browser, address: str, text: str) -> Person:
    """A person who has set up a position."""
    someone = at_desk(chrome, address)
    someone.set_up(text)
    return someone


# -- whole games ---------------------------------------------------------------------------------------------------


def test_examples_are_all_games() -> None:
    assert GAMES.keys() == set(jaxgames.list_games())


@pytest.mark.parametrize("by", ["mouse", "touch", "keyboard"])
@pytest.mark.parametrize("game", GAMES)
def test_game_is_played_to_its_end_against_an_agent(chrome: Browser, game: str, by: By) -> None:
    """Pieces are dragged with the mouse; the fingers tap on a phone."""
    chance = random.Random(1)
    with served(GAMES[game], SEATS) as address:
        someone = on_phone(chrome, address) if by == "touch" else at_desk(chrome, address)
        assert someone.text("#status").startswith("Your turn (")
        while not someone.over:
            someone.move(chance.choice, by)
        session = someone.session()
        assert session.over
        assert session.plies == someone.ply
        assert {session.movers()[ply] for ply in range(session.plies)} == {0, 1}, "both seats have moved"
        turns = [seat for seat, _ in itertools.groupby(session.movers()[: session.plies])]
        assert someone.page.locator("#moves li").count() == len(turns)
        assert someone.text("#status") == words.ending_of(session)
        assert someone.text("#status").split()[0] in ("You", "Draw:", "Draw", "No")
        assert someone.page.locator("#rematch").is_visible()
        assert not someone.errors
        assert all(url.startswith(address) for url in someone.requests), "no request to a foreign host"


def test_star_is_played_by_six_seats(chrome: Browser) -> None:
    chance = random.Random(6)
    with served(
        "chinese_checkers(size=2, num_players=6, max_rounds=3)", ["human", *["random"] * 4, "human"]
    ) as address:
        someone = at_desk(chrome, address)
        while not someone.over:
            someone.move(chance.choice)
        assert someone.page.locator("#players li").count() == 6
        assert set(someone.session().movers()) == set(range(6))
        assert someone.session().outcome.kind in ("truncated", "win")


# -- turns of several plies, and choices -----------------------------------------------------------------------------


def test_hop_chain_keeps_its_peg_and_ends_with_the_button_or_the_key(chrome: Browser) -> None:
    game = "chinese_checkers(size=2, num_players=2)"
    with served(game, ("human", "human")) as address:
        for with_key in (False, True):
            someone = at_position(chrome, address, "0/.0/...0.../....../...../....../...1.../1./1 0 - 1")
            someone.click("0")
            assert "7" in someone.cells("target")
            someone.click("7")
            someone.page.locator("#extra button").wait_for()
            assert someone.text("#extra button") == "End turn"
            assert someone.session().mover == 0, "the turn goes on"
            assert set(someone.cells("source")) <= {"7"}, "only the peg that hopped may go on"
            someone.press("e") if with_key else someone.page.locator("#extra button").click()
            someone.wait_for("document.querySelector('#ply').value === '2'")
            assert someone.session().mover == 1


def test_compulsory_capture_is_shown_and_goes_on_by_itself_until_it_is_undone(chrome: Browser) -> None:
    with served("checkers", ("human", "human")) as address:
        someone = at_position(chrome, address, "B:W15,23,32:B1,2,11")
        assert someone.cells("forced") == ["11"] == someone.cells("source"), "1 and 2 could step, but must not"
        assert "You must capture" in someone.text("#status")
        assert someone.cells("selected") == ["11"]
        assert someone.cells("target") == ["18"]
        someone.click("18")
        someone.wait_for("document.querySelector('#ply').value === '2'")
        assert someone.session().moves() == ["11x18", "18x27"], "the only way to go on"
        assert someone.session().mover == 1
        someone.page.locator("#previous").click()
        someone.wait_for("document.querySelector('#ply').value === '1'")
        someone.page.wait_for_timeout(1000)
        assert someone.ply == 1, "a capture that was taken back waits for the person"
        assert someone.cells("selected") == ["18"], "the same piece must jump again"
        someone.click("27")
        someone.wait_for("document.querySelector('#ply').value === '2'")
        someone.press("u")
        someone.wait_for("document.querySelector('#ply').value === '0'")


def test_capture_with_two_ways_waits_for_the_person(chrome: Browser) -> None:
    with served("checkers", ("human", "human")) as address:
        someone = at_position(chrome, address, "B:W15,22,23,32:B11")
        someone.click("18")
        someone.wait_for("document.querySelector('#ply').value === '1'")
        someone.page.wait_for_timeout(1000)
        assert someone.ply == 1
        assert sorted(someone.cells("target")) == ["25", "27"]


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_promotion_is_a_choice_of_the_person(chrome: Browser, by: By) -> None:
    with served("minichess", ("human", "human")) as address:
        someone = at_position(chrome, address, "4k/P4/5/5/4K w - - 0 1")
        someone.choose("a4", by)
        someone.choose("a5", by)
        choices = someone.page.locator("#choices button")
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
        someone.wait_for("document.querySelector('#ply').value === '1'")
        assert someone.session().moves() == ["a4a5n"]


# -- what cannot be played, undo, positions ------------------------------------------------------------------------


def test_click_on_a_cell_without_a_move_changes_nothing(chrome: Browser) -> None:
    with served("checkers", ("human", "human")) as address:
        someone = at_desk(chrome, address)
        before = someone.position
        reasons = {
            "1": "This piece cannot move now.",
            "21": "That piece is White's. You play Black.",
            "17": "There is no piece. Pick one with a ring.",
        }
        for cell, reason in reasons.items():
            someone.click(cell)
            assert someone.text("#status") == reason
        someone.click("11")
        someone.click("18")  # not a target of 11
        assert someone.text("#status") == "Your piece cannot go there."
        assert (someone.ply, someone.position, someone.cells("selected")) == (0, before, [])


def test_undo_slider_and_list_show_the_positions_of_the_session(chrome: Browser) -> None:
    chance = random.Random(3)
    with served(GAMES["dots_and_boxes"], ("human", "human")) as address:
        someone = at_desk(chrome, address)
        for _ in range(8):
            someone.move(chance.choice)
        session = someone.session()
        turns = turns_of(session)

        def agree() -> None:
            someone.wait_for(f"document.querySelector('#ply').value === '{session.ply}'")
            shown = f"document.querySelector('#position').value === '{session.env.to_string(session.state)}'"
            someone.wait_for(shown)

        steps: list[tuple[Any, Any]] = [
            (lambda: someone.press("u"), session.undo_turn),
            (lambda: someone.page.locator("#undo").click(), session.undo_turn),
            (lambda: someone.press("ArrowRight"), lambda: session.jump(session.ply + 1)),
            (lambda: someone.press("ArrowLeft"), lambda: session.jump(session.ply - 1)),
            (lambda: someone.page.locator("#first").click(), lambda: session.jump(0)),
            (lambda: someone.page.locator("#next").click(), lambda: session.jump(1)),
            (lambda: someone.page.locator("#last").click(), lambda: session.jump(8)),
            (lambda: someone.page.locator("#previous").click(), lambda: session.jump(7)),
            (lambda: someone.page.locator("#ply").fill("3"), lambda: session.jump(3)),
            (lambda: someone.page.locator("#moves button").nth(2).click(), lambda: session.jump(turns[2].ply)),
        ]
        for act, step in steps:
            act()
            step()
            agree()
        someone.page.locator("#autoplay").click()
        someone.wait_for("document.querySelector('#ply').value === '8'")
        someone.page.locator("#ply").fill("2")
        session.jump(2)
        agree()  # the slider alone shows 2 before the server has answered
        someone.move(chance.choice)
        assert someone.session().plies == 3, "a move in an earlier position drops what followed"


# -- agents --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """Prefers the first legal action, with the probability 3/4, and expects 1 for seat 0 and -1 for seat 1."""

    on_device: ClassVar[bool] = False
    env: Any

    def act(self, key: Any, states: Any) -> Any:
        return agents.FirstAgent(self.env).act(key, states)

    def analyse(self, states: Any) -> agents.Analysis:
        first = agents.FirstAgent(self.env).analyse(states).probabilities
        others = agents.RandomAgent(self.env).analyse(states).probabilities
        return agents.Analysis((2 * first + others) / 3, jnp.array([[1.0, -1.0]]))


def served_with_judge() -> AbstractContextManager[str]:
    """The address of a page where a person plays against a `Judge`."""

    def make(text: str, env: Any) -> agents.Agent:
        return Judge(env) if text == "judge" else agents.make(text, env)

    game = "chinese_checkers(size=1, num_players=2, reward='win_loss')"
    return served(game, ("human", "judge"), make=make)


def test_hint_is_one_arrow_for_one_position(chrome: Browser) -> None:
    with served_with_judge() as address:
        someone = at_desk(chrome, address)
        arrows = someone.page.locator("#trails path.best")
        someone.press("h")
        arrows.wait_for()
        best = someone.session().legal()[0]
        assert someone.text("#status") == f"The computer would play {written([best.text])}. Your chance to win: 100 %"
        assert not someone.page.locator("#thoughts").is_visible()
        hinted = someone.page.locator(".cell[aria-label$='hint']")
        assert {cell.get_attribute("data-name") for cell in hinted.all()} == {best.source, best.target}
        someone.press("h")
        assert not arrows.count()
        someone.press("h")
        arrows.wait_for()
        someone.move(random.Random(0).choice)
        for _ in range(2):  # at the next turn, and in the next game
            assert not arrows.count()
            assert someone.page.locator("#hint").get_attribute("aria-pressed") == "false"
            someone.page.once("dialog", lambda dialog: dialog.accept())
            someone.press("h")
            arrows.wait_for()
            someone.page.locator("#resign").click()
            someone.page.locator("#rematch").click()
            someone.wait_for("document.querySelector('#after').hidden")
            someone.wait()


def test_move_ends_a_hint_that_is_computed(chrome: Browser) -> None:
    with served_with_judge() as address:
        someone = at_desk(chrome, address)
        held: list[Route] = []
        someone.page.route("**/api/hint", lambda route: held.append(route), times=1)
        someone.press("h")
        someone.wait_for("document.querySelector('#hint').ariaPressed === 'true'")
        before = someone.ply
        someone.move(random.Random(0).choice)
        assert someone.ply > before
        assert someone.page.locator("#hint").get_attribute("aria-pressed") == "false"
        assert someone.text("#status").startswith("Your turn (Red)")
        assert not someone.page.locator("#trails path.best").count()


def test_switch_shows_the_shares_of_a_hint(chrome: Browser) -> None:
    with served_with_judge() as address:
        someone = at_desk(chrome, address)
        someone.page.locator("#show-thoughts").evaluate("switch_ => { switch_.checked = true; }")
        someone.press("h")
        someone.page.locator("#thoughts").wait_for()
        percents = [int(text.removesuffix(" %")) for text in someone.page.locator("#tops .number").all_inner_texts()]
        assert 95 <= sum(percents) <= 105
        assert len(percents) == min(5, len(someone.session().legal()))
        assert someone.text("#chance-words") == "Your chance to win: 100 %"


def test_switch_shows_what_the_computer_thought_of_its_move(chrome: Browser) -> None:
    with served_with_judge() as address:
        someone = at_desk(chrome, address)
        someone.page.locator("#advanced").evaluate("details => details.open = true")
        someone.page.locator("#show-thoughts").check()
        someone.move(random.Random(0).choice)
        someone.page.locator("#thoughts").wait_for()
        assert someone.text("#tops-caption") == "What the computer thought of its last move"
        played = written(someone.session().moves()[-1:])
        assert someone.page.locator("#tops th").first.inner_text() == played, "it plays what it likes best"
        assert someone.text("#chance-words") == "Blue's chance to win: 0 %"
        assert not someone.page.locator("#trails path.best").count(), "its move is not on the board of the person"


def test_thinking_is_shown_can_be_stopped_and_goes_on(chrome: Browser) -> None:
    with served("dots_and_boxes(rows=2, cols=2)", ("human", "first"), pace=2.0) as address:
        someone = at_desk(chrome, address)
        someone.click(someone.cells("edge")[-1])
        someone.page.locator("#stop").wait_for()
        assert "Blue is thinking" in someone.text("#status")
        assert not someone.cells("edge"), "it is not the person's turn"
        someone.page.locator("#stop").click()
        someone.page.locator("#go").wait_for()
        assert someone.ply == 1
        someone.press("g")
        someone.wait_for("document.querySelector('#ply').value === '2'")


def test_person_resigns_while_an_agent_thinks_and_the_page_says_so(chrome: Browser) -> None:
    with served("dots_and_boxes(rows=2, cols=2)", ("human", "first"), pace=60.0) as address:
        someone = at_desk(chrome, address)
        someone.click(someone.cells("edge")[-1])
        someone.page.locator("#stop").wait_for()
        someone.page.once("dialog", lambda dialog: dialog.accept())
        someone.page.locator("#resign").click()
        someone.wait_for("document.querySelector('#hint').disabled")
        assert someone.text("#status") == "You lost: you resigned"
        assert not someone.page.locator("#stop").is_visible(), "the search was dropped"
        assert not someone.page.locator("#resign").is_visible()
        assert (someone.session().resigned, someone.session().plies) == (0, 1)


def test_people_agree_on_a_draw_and_the_page_says_so(chrome: Browser) -> None:
    with served("dots_and_boxes(rows=2, cols=2)", ("human", "human")) as address:
        someone = at_desk(chrome, address)
        someone.page.locator("#draw").click()
        someone.wait_for("document.querySelector('#draw').textContent === 'Accept draw'")
        assert someone.text("#status") == "Red offers a draw. Red to move"
        someone.page.locator("#draw").click()
        someone.wait_for("document.querySelector('#hint').disabled")
        assert someone.text("#status") == "Draw: agreed by the players"
        assert not someone.page.locator("#draw").is_visible()
        assert someone.session().outcome.kind == "draw"


def test_agent_refuses_a_draw_and_the_page_says_so(chrome: Browser) -> None:
    with served("dots_and_boxes(rows=2, cols=2)", ("human", "first")) as address:
        someone = at_desk(chrome, address)
        someone.page.locator("#draw").click()
        someone.wait_for("document.querySelector('#status').textContent === 'Blue refuses the draw. Your turn (Red)'")
        assert not someone.page.locator("#draw").is_disabled(), "the offer has ended"
        assert not someone.errors
        someone.click(someone.cells("edge")[-1])
        someone.wait_for("document.querySelector('#ply').value === '2'")
        assert not someone.over


def test_tap_beside_a_small_cell_means_the_nearest_legal_target(chrome: Browser) -> None:
    with served("chinese_checkers(size=4, num_players=2)", ("human", "human")) as address:
        someone = on_phone(chrome, address)
        session: Session = someone.session()
        move = next(move for move in session.legal() if move.kind == "step")
        assert move.source is not None
        assert move.target is not None
        x, y = someone.middle(move.source)
        someone.page.touchscreen.tap(x, y)
        assert someone.cells("selected") == [move.source]
        x, y = someone.middle(move.target)
        someone.page.touchscreen.tap(x, y + 12)  # more than half a cell below
        someone.wait_for("document.querySelector('#ply').value === '1'")
        assert someone.session().moves() == [move.text]
