"""The still games of the docs: the files are those of the table, replay to their ends, and the pages link to them."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.make import still_games
from docs.make.still_games import GAMES, file_name
from jaxgames import make
from jaxgames.play import from_json
from jaxgames.play.static_page import game_of

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = DOCS / "pictures"
MAX_BYTES = 300_000


def test_files_are_those_of_the_table() -> None:
    assert {file.name for file in PICTURES.glob("still_*.html")} == {file_name(name) for name in GAMES}
    assert {game.page for game in GAMES.values()} == {page.stem for page in (DOCS / "games").glob("*.md")}


def saved(name: str) -> dict[str, Any]:
    return json.loads(game_of((PICTURES / file_name(name)).read_text(encoding="utf-8")))


def length(name: str, plies: int) -> str:
    """The length of a game in the words of its page."""
    return f"{plies} {'submoves' if name.startswith('chinese_checkers') else 'plies'}"


@pytest.mark.parametrize("name", GAMES)
def test_page_tells_length_and_agents_of_its_still_game(name: str) -> None:
    game, content = GAMES[name], saved(name)
    assert (PICTURES / file_name(name)).stat().st_size <= MAX_BYTES
    assert (content["env"], content["agents"], content["seed"]) == (str(make(game.game)), [*game.seats], game.seed)
    assert content["ply"] == 0, "the page opens at the start"
    page = (DOCS / "games" / f"{game.page}.md").read_text()
    (sentence,) = re.findall(rf"\]\(\.\./pictures/{re.escape(file_name(name))}\)(.*?)(?:\n\n|\n- )", page, re.DOTALL)
    assert length(name, len(content["moves"])) in " ".join(sentence.split())
    assert all(f"`{seat}`" in sentence for seat in game.seats)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "dots_and_boxes" else pytest.mark.slow) for name in GAMES]
)
def test_still_game_replays_to_its_end(name: str) -> None:
    session = from_json(json.dumps({**saved(name), "ply": None}))
    assert session.over
    page = (DOCS / "games" / f"{GAMES[name].page}.md").read_text()
    assert f"{length(name, session.plies)}; seat {session.outcome.winners[0]} wins." in " ".join(page.split())


@pytest.mark.slow
def test_command_makes_the_file_of_the_docs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["still_games", "--names", "chinese_checkers_2", "--output", str(tmp_path)])
    still_games.main()
    name = file_name("chinese_checkers_2")
    assert (tmp_path / name).read_text() == (PICTURES / name).read_text()
    assert "56 plies, won by seat 0" in capsys.readouterr().out


def test_unknown_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["still_games", "--names", "chess"])
    with pytest.raises(SystemExit, match="expected --names from checkers"):
        still_games.main()
