"""Visits of the page in a real browser: what it shows after each step, as stored texts.

A text has the accessibility tree of the page at first, and after each step the lines that have come and gone. So it has
everything that can be pressed or read: the status, the cells, buttons that are there or disabled, menus, lists.

`python -m tests.data visits` writes tests/data/visits again.
"""

import difflib
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest
from playwright.sync_api import Browser

import jaxgames
from benchmarks.play import served
from jaxgames import agents
from tests.helpers.registrations import temporary_registrations
from tests.helpers.scripted_agents import HostAgent
from tests.helpers.sticks import Sticks
from tests.play.web.browser import BOXES, PEOPLE, Person, browser

pytestmark = [pytest.mark.slow, pytest.mark.browser]

FOLDER = Path(__file__).parents[2] / "data" / "visits"
AGAINST_FIRST = ("human", "first")

# (game, seats, steps as `Person.do` takes them)
VISITS: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    # cells without a move are explained, a dropped piece is back at its place, and the board turns
    "checkers": (
        *("checkers", PEOPLE),
        [
            *("click 1", "click 21", "click 17", "click 11 18", "drag 12 19", "press Escape", "drag 12 16"),
            *("push #flip", "drag 22 18", "press f", "press u"),
        ],
    ),
    "checkers_by_keys": ("checkers", PEOPLE, ["keys 11", "press Escape", "press Space", "keys 15"]),
    # a capture that can go on in one way does so by itself, unless it was taken back
    "checkers_captures": (
        *("checkers", PEOPLE),
        [
            *("set B:W15,23,32:B1,2,11", "click 18 | wait 800", "push #previous | wait 800", "press u"),
            *("set B:W15,22,23,32:B11", "click 18 | wait 800"),
        ],
    ),
    "promotion": (
        *("minichess", PEOPLE),
        ["set 4k/P4/5/5/4K w - - 0 1", "click a4 a5", "press Escape", "click a5", "push text=promotion to knight"],
    ),
    "promotion_by_keys": (
        *("minichess", PEOPLE),
        ["set 4k/P4/5/5/4K w - - 0 1", "keys a4", "keys a5", "press Escape", "keys a5", "press Tab Enter"],
    ),
    "new_game": (
        *("checkers", AGAINST_FIRST),
        [
            *("push #new-game", "choose #opponent = Easy", "choose #game = Chinese Checkers"),
            *("choose #menus select >> nth=1 = 2", "choose #opponent = Easy", "choose #side = Blue", "push #start"),
            "push #advanced summary",
        ],
    ),
    # the baseline does not play the new board
    "new_game_typed": (
        *("dots_and_boxes(rows=5, cols=5)", PEOPLE),
        [
            *("push #new-game", "choose #opponent = Hard", "choose #menus select = 4 by 4 boxes"),
            *("push #dialog summary", "fill input[name=reward] = nothing", "fill input[name=reward] = boxes"),
            *("fill #new-seats input >> nth=1 = greedy(epsilon=0.25)", "push #start", "push #advanced summary"),
            *("fill #agent-fields input >> nth=1 = humn", "choose #players select >> nth=1 = Person"),
        ],
    ),
    "replay": (
        *("dots_and_boxes(rows=2, cols=3)", PEOPLE),
        [
            *("moves 8", "press u", "push #undo", "press ArrowRight", "press ArrowLeft", "push #first", "push #next"),
            *("push #last", "push #previous", "fill #ply = 3", "push #moves button >> nth=2", "fill #ply = 5"),
            *("push #autoplay | wait 3500", "fill #ply = 2", "moves 1"),
        ],
    ),
    "draw_of_people": (BOXES, PEOPLE, ["push #draw", "push #draw"]),
    # a mistake is looked at; the question whether the game is dropped there is answered with no
    "review": (
        *(BOXES, AGAINST_FIRST),
        [
            *(
                "push #draw",
                "moves 12",
                "push #ask-review",
                "push #mistakes button >> nth=0",
                "push .cell.edge >> nth=0",
            ),
            *("push #to-end", "push #rematch", "accept push #resign", "push #switch"),
        ],
    ),
    "without_pictures": ("sticks", ("human", "first", "human"), ["push #extra button >> nth=2", "moves 1", "moves 1"]),
    "hints": (
        *("chinese_checkers(size=1, num_players=2, reward='win_loss')", ("human", "judge")),
        [
            *("press h", "press h", "press h", "moves 1", "press h", "accept push #resign", "push #rematch"),
            *("push #advanced summary", "push #show-thoughts", "push #hint", "moves 1"),
        ],
    ),
}


def make_judge(text: str, env: Any) -> agents.Agent:
    """The judge plays the first legal action with the probability 3/4, and expects 1 for seat 0 and -1 for seat 1."""
    first, others = agents.FirstAgent(env), agents.RandomAgent(env)

    def analyse(states: Any) -> agents.Analysis:
        shares = (2 * first.analyse(states).probabilities + others.analyse(states).probabilities) / 3
        return agents.Analysis(shares, jnp.array([[1.0, -1.0]]))

    return HostAgent(first.act, analyse) if text == "judge" else agents.make(text, env)


def visit_text(chrome: Browser, game: str, seats: tuple[str, ...], steps: list[str]) -> str:
    """Returns what the page tells at first, and what changes with each step."""
    with temporary_registrations():
        jaxgames.register("sticks", Sticks)
        with served(jaxgames.make(game), seats, pace=0.0, make=make_judge) as address:
            someone = Person(chrome, address, before=lambda page: page.add_init_script("Math.random = () => 0.5"))
            someone.settle()
            shown = someone.shown()
            lines = [f"{game}: {', '.join(seats)}", *shown]
            for step in steps:
                someone.do(step)
                before, shown = shown, someone.shown()
                changes = list(difflib.unified_diff(before, shown, n=0, lineterm=""))[2:]
                lines += ["", f"> {step}", *(line for line in changes if not line.startswith("@@"))]
            assert all("status of 422" in error for error in someone.errors)
    return "\n".join(lines) + "\n"


def made_visits() -> dict[str, str]:
    with browser() as chrome:
        return {f"{name}.txt": visit_text(chrome, *visit) for name, visit in VISITS.items()}


@pytest.mark.parametrize("name", VISITS)
def test_visit_is_the_stored_one(chrome: Browser, name: str) -> None:
    assert {file.stem for file in FOLDER.iterdir()} == VISITS.keys()
    stored = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert visit_text(chrome, *VISITS[name]).split("\n") == stored.split("\n")
