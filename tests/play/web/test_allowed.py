"""The page may ask for all registered games, and for the agents that read no file and import no module from outside."""

import sys
from collections.abc import Iterator

import pytest

import jaxgames
from tests.play.web.client import Page, page

PEOPLE = ["human", "human"]


@pytest.fixture(scope="module")
def here() -> Iterator[Page]:
    with page() as client:
        yield client


def test_page_offers_all_games_and_the_agents_that_play_them(here: Page) -> None:
    offered = here.get("/api/start").json()
    assert offered["games"].keys() == set(jaxgames.list_games())
    assert {"name": "rows", "default": "5"} in offered["games"]["dots_and_boxes"]
    described = here.ask("describe", game="dots_and_boxes(rows=2, cols=2)")
    assert described["seats"] == 2
    assert {"human", "random", "greedy", "alphabeta(depth=4)"} <= set(described["agents"])
    assert "alphabeta(depth=4)" not in here.ask("describe", game="chinese_checkers(size=2)")["agents"]


@pytest.mark.parametrize(
    "game", ["os:path", "tests.helpers.sticks:sticks", "nim", "dots_and_boxes(rows=99)", "", "x" * 301]
)
def test_page_cannot_name_a_module_or_an_unknown_game(here: Page, game: str) -> None:
    before = set(sys.modules)
    here.refusal("new", 422, game=game, seats=PEOPLE)
    here.refusal("describe", 422, game=game)
    assert set(sys.modules) == before, "nothing was imported"


@pytest.mark.parametrize(
    "agent",
    [
        *("solver(/etc/passwd)", "exported(x)", "os:path", "tests.helpers.hash_agent:hash", "nobody", ""),
        "random" + " " * 300,
    ],
)
def test_page_cannot_name_an_agent_that_reads_files_or_imports_modules(here: Page, agent: str) -> None:
    table = here.ask("new", seats=PEOPLE)["table"]
    before = set(sys.modules)
    for verb, fields in (("new", {"seats": ["human", agent]}), ("seats", {"table": table, "seats": [agent, "human"]})):
        here.refusal(verb, 422, **fields)
    here.refusal("hint", 422, table=table, agent=agent)
    assert set(sys.modules) == before, "nothing was imported"


def test_page_cannot_name_an_agent_that_thinks_without_end(here: Page) -> None:
    for agent in ("mcts(simulations=100000)", "alphabeta(depth=60)", "alphabeta(milliseconds=1e9)"):
        assert "must be at most" in here.refusal("new", 422, seats=["human", agent])
