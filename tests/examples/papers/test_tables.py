"""The tables of the docs are those of the stored results, and a changed digit is found."""

import re
from pathlib import Path

import pytest

from examples.papers import tables


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return tables.tables()


def run(*, check: bool) -> int:
    with pytest.raises(SystemExit) as status:
        tables.main(check=check)
    return int(str(status.value.code))


def test_pages_have_the_tables_of_the_stored_results() -> None:
    assert run(check=True) == 0, "type python -m examples.papers.tables"


def test_every_table_is_on_a_page(made: dict[str, str]) -> None:
    pages = "".join(page.read_text() for page in tables.DOCS.rglob("*.md"))
    for name in made:
        assert pages.count(f"<!-- table: {name} -->") == 1, name


def test_every_other_marker_is_of_a_benchmark(made: dict[str, str]) -> None:
    """The tables of docs/performance.md are written by `benchmarks.compiled`."""
    for page in tables.DOCS.rglob("*.md"):
        names = set(re.findall(r"<!-- table: (\S+) -->", page.read_text()))
        assert page.name == "performance.md" or names <= set(made), page


def test_changed_digit_is_found_and_written_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (tables.DOCS / "baselines.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `checkers` |"))
    digit = re.search(r"\d", row)
    assert digit is not None
    changed = row[: digit.start()] + str((int(digit[0]) + 1) % 10) + row[digit.end() :]
    (tmp_path / "baselines.md").write_text(page.replace(row, changed, 1))
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    assert run(check=True) == 1
    assert "baselines.md differs: type python -m examples.papers.tables" in capsys.readouterr().out
    assert run(check=False) == 0
    assert (tmp_path / "baselines.md").read_text() == page
    assert run(check=True) == 0
