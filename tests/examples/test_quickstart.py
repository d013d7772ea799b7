"""The notebook runs from its first cell to its last, its agent learns, and its pictures are drawn."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    return json.loads(NOTEBOOK.read_text())["cells"]


def test_notebook_is_stored_without_outputs(cells: list[dict[str, Any]]) -> None:
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert NOTEBOOK.stat().st_size < 20_000


def test_links_of_the_notebook_lead_to_pages(cells: list[dict[str, Any]]) -> None:
    links = [link for cell in cells for link in re.findall(r"\]\(([^)]+)\)", "".join(cell["source"]))]
    assert len(links) > 3
    for link in links:
        assert (NOTEBOOK.parent / link).is_file(), link


@pytest.fixture
def first_cell(cells: list[dict[str, Any]]) -> str:
    return "".join(next(cell["source"] for cell in cells if cell["cell_type"] == "code"))


def test_first_cell_installs_from_the_repository(first_cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []  # none of which is run
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    exec(first_cell, {})
    assert commands == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="write the address of its repository into REPOSITORY"):
        exec(first_cell, {})
    exec(first_cell.replace('REPOSITORY = ""', 'REPOSITORY = "https://example.org/jaxgames"'), {})
    clone, install = commands
    assert clone == ["git", "clone", "--depth", "1", "https://example.org/jaxgames", "checkout"]
    assert install[-1] == "./checkout[train,search,render]"
    assert sys.path[0] == "checkout"


@pytest.mark.slow  # a whole training run
def test_every_cell_of_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy of its folder, with the packages of the checkout on the path."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook: Any = nbformat.read(shutil.copy(NOTEBOOK, tmp_path), as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("image/svg+xml" in output.get("data", ()) for output in outputs) == 5
    text = "".join(output.get("text", "") for output in outputs)
    win_rates = [float(rate) for rate in re.findall(r"win rate (\d\.\d+)", text)]
    assert win_rates[0] < 0.8
    assert win_rates[-1] > 0.9
    assert "the agent plays" in text
