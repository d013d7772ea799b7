"""The programs of the README run, as a newcomer runs them; those of other pages in tests/repo/test_blocks.py."""

from typing import Any

import jax

import jaxgames
from tests.helpers.blocks import README, name, program


def test_python_of_the_readme_runs_on_a_few_boards() -> None:
    """In this process, with 10 boards and games in place of 1,000."""
    names: dict[str, Any] = {}
    exec(compile(program(README).replace("1000", "10"), name(README), "exec"), names)
    boards = jax.tree.map(lambda leaf: leaf[:4], names["boards"])
    assert jaxgames.render.svg(names["env"], boards).svg.startswith("<svg")
