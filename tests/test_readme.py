"""The programs of README and first steps run, as a newcomer runs them; other pages in tests/repo/test_blocks.py."""

from typing import Any

import jax

import jaxgames
from tests.helpers.blocks import DOCS, README, name, program


def test_python_of_the_readme_runs_on_a_few_boards() -> None:
    """In this process, with 10 boards and games in place of 1,000."""
    names: dict[str, Any] = {}
    exec(compile(program(README).replace("1000", "10"), name(README), "exec"), names)
    boards = jax.tree.map(lambda leaf: leaf[:4], names["boards"])
    assert jaxgames.render.svg(names["env"], boards).svg.startswith("<svg")


def test_python_of_the_first_steps_runs_on_a_few_small_boards() -> None:
    """In this process, with 10 boards in place of 1,000, and two boxes in place of the games of the loops."""
    code, names = program(DOCS / "start.md").replace("1000", "10"), dict[str, Any]()
    for game in ('"minichess")', '"checkers")'):
        code = code.replace(game, '"dots_and_boxes(rows=1, cols=2)")')
    exec(compile(code, "docs/start.md", "exec"), names)
    assert names["rewards"].shape == (200, 10, 2)
    assert names["errors"].shape == (50, 10)
    assert names["games"].over.all()
