"""Tests that need gymnax or JaxMARL, which the extra `dev` leaves out: gymnax caps the versions of JAX and Gymnasium.

`python -m tests.distribution extras gymnax jaxmarl` runs them, in environments of their own; others skip them.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.blocks import DOCS

REASON = "is tested in an environment of its own: python -m tests.distribution extras gymnax jaxmarl"
LIBRARY_OF_PAGE = {  # that the names or programs of a page need
    DOCS / "api" / "adapters.md": "jaxmarl",  # which installs gymnax
    DOCS / "interop" / "gymnax.md": "gymnax",
    DOCS / "interop" / "jaxmarl.md": "jaxmarl",
}


def needs(library: str) -> pytest.MarkDecorator:
    """Returns the mark of a test that needs a library."""
    return pytest.mark.skipif(find_spec(library) is None, reason=f"{library} {REASON}")


def with_mark(page: Path) -> Any:
    """Returns a page as the parameter of a test that imports what the page names or shows."""
    return pytest.param(page, marks=needs(LIBRARY_OF_PAGE[page]) if page in LIBRARY_OF_PAGE else ())
