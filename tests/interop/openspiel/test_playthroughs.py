"""Short games that are stored as OpenSpiel writes them, played again: see tests/data/playthroughs/README.md."""

import pytest

import jaxgames
from tests.interop.openspiel.playthroughs import FOLDER, GAMES, replayed


def test_every_game_has_a_playthrough() -> None:
    assert sorted(GAMES) == jaxgames.list_games()
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(GAMES)


FAST = "dots_and_boxes"


@pytest.mark.parametrize("id", [FAST, *(pytest.param(id, marks=pytest.mark.slow) for id in GAMES if id != FAST)])
def test_playthrough_is_the_stored_one(id: str) -> None:
    stored = (FOLDER / f"{id}.txt").read_text()
    assert replayed(stored) == stored
    assert GAMES[id] in stored
