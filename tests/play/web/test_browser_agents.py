"""Agents on the page in a real browser: hints, what they think, draws, resignation, a review after the game."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import pytest

from jaxgames import agents
from jaxgames.play.web.turns import written
from tests.play.web.browser import BOXES, PEOPLE, Held, Person, Sit

pytestmark = [pytest.mark.slow, pytest.mark.browser]


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


def beside_a_judge(sit: Sit) -> Person:
    def make(text: str, env: Any) -> agents.Agent:
        return Judge(env) if text == "judge" else agents.make(text, env)

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
    someone.wait_for("JSON.parse(JSON.parse(localStorage.getItem('jaxgames')).saved).agents[1] === 'human'")
    someone.wait()
    assert someone.session().seats == ("first", "human")
