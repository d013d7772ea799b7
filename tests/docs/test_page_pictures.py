"""The pictures of the page in docs/play.md are those that the command takes."""

import re
from pathlib import Path

from docs.make.page_pictures import PICTURES
from jaxgames import list_games

DOCS = Path(__file__).parents[2] / "docs"


def test_page_shows_a_picture_of_every_game() -> None:
    shown = re.findall(r"!\[.*?\]\(pictures/play_(\w+)\.png\)", (DOCS / "play.md").read_text())
    assert sorted(shown) == sorted(PICTURES) == sorted(list_games())
    assert {file.stem for file in (DOCS / "pictures").glob("play_*.png")} == {f"play_{name}" for name in PICTURES}
