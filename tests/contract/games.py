"""The cases of all games, and the marks that run a test once for each game.

The first parameter of each test is its game: `make test` runs the tests of one game in one worker process, which
compiles the game's programs once (`tests/conftest.py`).
"""

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from tests.helpers.cases import Cases

GAMES = Path(__file__).parent.parent / "games"
ALL: dict[str, Cases] = {
    id: importlib.import_module(f"tests.games.{id}.cases").CASES
    for id in jaxgames.list_games()
    if (GAMES / id / "cases.py").exists()
}


def of_each_game(argument: str, values: Callable[[Cases], Iterable[Any]]) -> pytest.MarkDecorator:
    """Parametrises a test with `cases` and one of the values of each game, game by game."""
    sets = [
        pytest.param(
            cases,
            value,
            id=f"{id}-{value if isinstance(value, str) else getattr(value, 'name', number)}",
            marks=pytest.mark.slow if getattr(value, "slow", False) else (),
        )
        for id, cases in ALL.items()
        for number, value in enumerate(values(cases))
    ]
    return pytest.mark.parametrize(("cases", argument), sets)


each_game = pytest.mark.parametrize("cases", [pytest.param(cases, id=id) for id, cases in ALL.items()])
