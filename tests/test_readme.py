"""The programs of README and docs/start.md run, as a newcomer runs them."""

from typing import Any

import jax
import pytest

import jaxgames
from tests.helpers.blocks import DOCS, README, name, program


@pytest.mark.parametrize("page", [README, DOCS / "start.md"], ids=name)
def test_python_of_the_first_pages_runs_on_a_few_boards(page: Any) -> None:
    """In this process, with 10 boards and games in place of 1,000."""
    names: dict[str, Any] = {}
    exec(compile(program(page).replace("1000", "10"), name(page), "exec"), names)
    if page == README:
        boards = jax.tree.map(lambda leaf: leaf[:4], names["boards"])
        assert jaxgames.render.svg(names["env"], boards).svg.startswith("<svg")
