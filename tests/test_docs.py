"""What the README and the docs show runs, and what they point to is there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from examples.all_games import TASKS

ROOT = Path(__file__).parents[1]
README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def python(page: Path) -> str:
    """The Python blocks of a page at their own lines: a traceback shows where on the page it broke."""
    code = ["" for _ in page.read_text().splitlines()]
    for block in FENCE.finditer(page.read_text()):
        if block[1] == "python":
            begin = page.read_text().count("\n", 0, block.start(2))
            lines = block[2].splitlines()
            code[begin : begin + len(lines)] = lines
    return "\n".join(code)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in (README, *PAGES) if python(page).strip()], ids=name)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """All blocks in order, as one program, in an empty folder."""
    script = tmp_path / page.name.replace(".md", ".py")
    script.write_text(python(page))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{name(page)}, lines as on the page:\n{done.stderr}"


def test_the_readme_states_the_shapes_and_bytes_that_there_are() -> None:
    code = python(README)
    names: dict[str, Any] = {}
    exec(code, names)
    env = names["env"]
    stated = re.findall(r"^(\w+) = .*# (?:bool|int32)\[([\d, ]+)\]", code, re.MULTILINE)
    assert len(stated) == 3
    for variable, shape in stated:
        assert names[variable].shape == tuple(map(int, shape.split(","))), variable
    stated_bytes = re.search(r"(\d+) bytes each", code)
    assert stated_bytes
    assert int(stated_bytes[1]) == env.state_bytes
    assert jaxgames.render.svg(env, names["one"]).svg.startswith("<svg")


def test_every_page_is_in_the_nav_and_every_entry_is_a_page() -> None:
    nav = re.search(r"^nav:\n((?: .*\n)+)", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert nav
    entries = re.findall(r"- [^:]+: (\S+)$", nav[1], re.MULTILINE)
    assert sorted(entries) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_the_training_page_has_a_line_for_every_task() -> None:
    lines = (DOCS / "training.md").read_text().splitlines()
    for task in TASKS.values():
        assert any(line.startswith(f"| `{task.env}` |") for line in lines), task.env


def test_every_game_has_its_page() -> None:
    written = {page.stem for page in (DOCS / "games").glob("*.md")}
    assert written == set(jaxgames.list_games())
    for game in written:
        assert f"docs/games/{game}.md" in README.read_text(), game


@pytest.mark.parametrize("page", [README, *PAGES], ids=name)
def test_links_and_pictures_are_there(page: Path) -> None:
    """Relative ones, which GitHub and the site follow alike; those of the docs stay among the docs."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?://|#", target):
            continue
        there = (page.parent / target.partition("#")[0]).resolve()
        assert there.is_file(), f"{name(page)} points to {target}"
        assert page == README or there.is_relative_to(DOCS), f"{target} of {name(page)} is not on the site"
