"""A game is a folder: no module outside of it names the game, so everything else works without it."""

import ast
import re
from pathlib import Path

from jaxgames.registry import BUILT_IN

ROOT = Path(__file__).parents[1]
CLASSES = [id.title().replace("_", "") for id in BUILT_IN]
NAMED = re.compile(rf"(?<!\w)({'|'.join([*BUILT_IN, *CLASSES])})(State)?(?!\w)")

# Modules that name games, by the reason. All others ask the record of a game.
STILL_NAMED = {
    "the lists of the games of the package": ["games/__init__.py", "registry.py"],
    "an engine of one game": ["interop/uci.py"],
}
ALLOWED = tuple(path for paths in STILL_NAMED.values() for path in paths)


def names_in(path: Path) -> list[str]:
    """The imports, identifiers and keys of a module that name a game; docstrings and sentences may."""
    module = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    found: list[str] = []
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom():
                found += [node.module or "", *(alias.name for alias in node.names)]
            case ast.Import():
                found += [alias.name for alias in node.names]
            case ast.Name() | ast.Attribute() | ast.FunctionDef() | ast.ClassDef() | ast.arg() | ast.keyword():
                found += [value for _, value in ast.iter_fields(node) if isinstance(value, str)]
            case ast.Constant(value=str(text)) if id(node) not in docs and " " not in text:
                found.append(text)
            case _:
                pass
    return [name for name in found if NAMED.search(name)]


def test_no_module_outside_of_the_folder_of_a_game_names_it() -> None:
    named: set[str] = set()
    for path in (ROOT / "jaxgames").rglob("*.py"):
        name = str(path.relative_to(ROOT / "jaxgames"))
        if not name.startswith(tuple(f"games/{game}/" for game in BUILT_IN)) and (NAMED.search(name) or names_in(path)):
            named.add(name)
    assert {name for name in named if not name.startswith(ALLOWED)} == set()
    assert {allowed for allowed in ALLOWED if allowed not in named} == set()
