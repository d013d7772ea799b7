"""Files and notebooks: SVG, PNG and GIF of pictures."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from jaxgames import render
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.render.animation import PAUSE
from jaxgames.render.theme import THEMES

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("resvg_py")

ENV = ChineseCheckers(size=1, num_players=2)
STATES = [
    ENV.from_string(text) for text in ("0/..../.../..../1 0 - 0", "./.0../.../..../1 1 - 0", "./.0../.../.1../. 0 - 1")
]


def test_files_have_the_size_and_frames_of_the_picture(tmp_path: Path) -> None:
    picture = render.animate(ENV, STATES, seconds_per_step=0.5, width=120, theme="dark")
    for suffix in ("svg", "png", "GIF"):
        picture.save(tmp_path / f"game.{suffix}")
    assert (tmp_path / "game.svg").read_text(encoding="utf-8") == picture.svg
    root = ElementTree.fromstring(picture.svg)
    size = (int(root.attrib["width"]), int(root.attrib["height"]))
    assert size[0] == 120
    with Image.open(tmp_path / "game.png") as png:
        assert png.size == size
    with Image.open(tmp_path / "game.GIF") as gif:
        assert gif.size == size
        assert gif.n_frames == len(STATES)
        milliseconds = []
        for frame in range(gif.n_frames):
            gif.seek(frame)
            milliseconds.append(gif.info["duration"])
        assert milliseconds == [500] * (len(STATES) - 1) + [500 + 1000 * PAUSE]
        assert gif.info["loop"] == 0


def test_peg_in_a_png_has_the_colour_of_its_seat(tmp_path: Path) -> None:
    render.svg(ENV, ENV.from_string("./..../.0./..../1 0 - 3"), width=400).save(str(tmp_path / "board.png"))
    with Image.open(tmp_path / "board.png") as png:
        red = tuple(int(THEMES["light"].seats[0][i : i + 2], 16) for i in (1, 3, 5))
        assert any(png.getpixel((200, y))[:3] == red for y in range(png.height // 3, png.height // 2 + 20))


def test_other_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"board\.jpg' must be one of \.svg, \.png, \.gif"):
        render.svg(ENV, STATES[0]).save(tmp_path / "board.jpg")


@pytest.mark.parametrize(
    ("package", "file"), [("resvg_py", "board.png"), ("resvg_py", "board.gif"), ("PIL", "board.gif")]
)
def test_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str, file: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "jaxgames\[render\]"'):
        render.svg(ENV, STATES[0]).save(tmp_path / file)


def test_notebook_displays_the_animated_picture() -> None:
    picture = render.animate(ENV, STATES)
    assert picture._repr_svg_() == picture.svg  # pyright: ignore[reportPrivateUsage]  # as a notebook calls it
    assert picture._repr_html_().startswith("<img")  # pyright: ignore[reportPrivateUsage]
