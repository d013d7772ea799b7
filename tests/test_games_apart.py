"""A game is a folder: without it everything else works, and no module outside of it names the game."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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

# Imports all modules that neither name games nor need an extra, and plays a game that is left.
USE = """
import importlib, pathlib, sys, jaxgames
from jaxgames import agents, baselines, render
from jaxgames.testing import check_env
allowed, game = tuple(sys.argv[2:]), sys.argv[1]
root = pathlib.Path(jaxgames.__file__).parent
for path in sorted(root.rglob("*.py")):
    name = str(path.relative_to(root))
    if path.name != "__main__.py" and not name.startswith((*allowed, "interop/", "play/web/", "games/")):
        importlib.import_module(".".join(("jaxgames", *path.relative_to(root).with_suffix("").parts)))
assert game not in jaxgames.list_games()
for other in jaxgames.list_games():
    env = jaxgames.make(other)
    assert render.svg(env, env.init()).svg and baselines.levels(env)
    agents.make("greedy", env)
    record = jaxgames.registry.record_of(other)
    assert record.part("drawing") and record.part("words")
check_env(env, games=1)
"""


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


@pytest.mark.parametrize("game", [BUILT_IN[0], *(pytest.param(game, marks=pytest.mark.slow) for game in BUILT_IN[1:])])
def test_everything_else_works_without_the_folder_of_a_game(game: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "jaxgames", tmp_path / "jaxgames", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "jaxgames" / "games" / game)
    registry = tmp_path / "jaxgames" / "registry.py"
    registry.write_text(re.sub(rf'(BUILT_IN = .*?)"{game}",? ?', r"\1", registry.read_text()))
    use = [sys.executable, "-c", USE, game, *ALLOWED]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(use, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
