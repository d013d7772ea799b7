"""Files and records from anybody: no module is imported for them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from jaxgames import _files as _game_files
from jaxgames import arena, registry, solvers
from jaxgames.arena.records import GameRecord
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.policies import file as exported
from jaxgames.solvers.exact import solution
from train.data import positions

MODULE = """
from pathlib import Path
import jaxgames
from jaxgames.games.dots_and_boxes import DotsAndBoxes

class OfFile(DotsAndBoxes):
    id = "of_file"

Path(__file__).with_name("imported").touch()
jaxgames.register("of_file", OfFile)
"""
GAME = "game_of_file:of_file(rows=1, cols=1)"


class OfFile(DotsAndBoxes):
    """A game whose text names a module."""

    def __str__(self) -> str:
        return GAME


def forged(kind: _game_files.FileKind, path: Path) -> Path:
    """A file whose game is of a module, with a checksum that fits."""
    _game_files.write_file(kind, path, OfFile(rows=1, cols=1), {})
    return path


def record(_: Path) -> str:
    return json.dumps(dict.fromkeys(GameRecord.__annotations__) | {"env": GAME, "actions": []})


READERS: dict[str, tuple[Callable[[Path], Any], Callable[[Any], Any]]] = {
    "solution": (lambda path: forged(vars(solution)["_file_kind"](), path), solvers.load),
    "policy": (lambda path: forged(exported.KIND, path), exported.read),
    "positions": (lambda path: forged(positions.KIND, path), positions.load),
    "record": (record, arena.replay),
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that can be imported and registers a game."""
    path = tmp_path / "game_of_file.py"
    path.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_module_that_a_file_names_is_not_imported(reader: str, module: Path) -> None:
    make, read = READERS[reader]
    with pytest.raises(ValueError, match="needs the module 'game_of_file', which files cannot import"):
        read(make(module.with_name("file")))
    assert not module.with_name("imported").exists()


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("how", ["import", "make"])
def test_game_of_an_imported_module_is_made(how: str) -> None:
    if how == "import":
        __import__("game_of_file")
    else:
        jaxgames.make(GAME)
    assert registry.make_named_in_file(GAME).id == "of_file"
    with pytest.raises(jaxgames.ParameterError, match="needs the module 'os'"):
        registry.make_named_in_file("os:system(size=2)")
