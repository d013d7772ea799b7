"""Adapters without the library that they connect to: the error names the extra that installs it."""

import importlib
import sys
from pathlib import Path

import pytest

import jaxgames.interop
from tests.distribution.play_without_extras import FOREIGN

FOLDER = Path(jaxgames.interop.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("[!_]*"))
NEED_NOTHING = ("seat_play", "uci")  # no other library


@pytest.fixture(autouse=True)
def nothing_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the foreign libraries, and all adapters that this process has imported already."""
    for name in {*sys.modules, *FOREIGN}:
        if name.partition(".")[0] in FOREIGN:
            monkeypatch.setitem(sys.modules, name, None)  # an import of it raises ImportError
        elif name.startswith("jaxgames.interop."):
            monkeypatch.delitem(sys.modules, name)
            monkeypatch.delattr(jaxgames.interop, name.removeprefix("jaxgames.interop."), raising=False)


@pytest.mark.parametrize("module", [module for module in MODULES if module not in NEED_NOTHING])
def test_adapter_without_its_library_names_the_extra(module: str) -> None:
    advice = rf' is missing; install it with: pip install "jaxgames\[{module}\]"$'
    with pytest.raises(ImportError, match=advice) as raised:
        importlib.import_module(f"jaxgames.interop.{module}")
    assert isinstance(raised.value.__cause__, ImportError), "the error of the foreign import is kept"


@pytest.mark.parametrize("module", NEED_NOTHING)
def test_module_without_a_library_of_its_own_imports_nothing_foreign(module: str) -> None:
    importlib.import_module(f"jaxgames.interop.{module}")
