"""The tables of README and docs are those of the stored results, a changed digit is found, and no table is typed."""

import json
import re
from pathlib import Path

import pytest

from examples.papers import tables
from tests.helpers.blocks import FENCE, PAGES, ROOT, name
from tests.helpers.commands import error_of, run_command
from train.baselines.entries import RESULTS
from train.driver.tables import TABLE, markdown, tables_in

MARKED = re.compile(r"<!-- (table|settings): .*?<!-- end of \1 -->", re.DOTALL)
CODE_OR_LINK = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>")  # their digits are not figures
UNCHECKED = ("docs/notes/", "docs/versions.md", "docs/results/")  # dated notes; what was tried; not a page of results
NOT_RESULTS = (  # how the headers of tables without results begin
    *("| argument |", "| option |", "| parameter |", "| switch |", "| key |", "| field |", "| `render_mode` |"),
    *("| attribute |", "| method |", "| property |", "| plane |", "| `reward` |", "| metric |", "| array |"),
    *("| picture |", "| name |", "| kind |", "| text |", "| dynamics |", "| launcher |", "| mode |"),
    *("| the search has seen |", "| game | the score of an action |", "| game | symmetries ", "| game | cell of an "),
    *("|  | game | seats |", "| network | layers |", "| you have |", "| | jaxgames | PettingZoo |"),
    *("| | in jaxgames |", "| OpenSpiel's |"),
    # Studies: verdicts, whose figures are those of the sections that they link to (test_docs), and settings.
    *("| in the study |", "| study | game |", "| | study's code |", "| | study | preset |"),
    "| the study asks for |",
)
DIGIT_CHANGED_IN = ("README.md", "docs/baselines.md", "docs/papers/alpha_mini.md", "docs/training/ppo.md")


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return tables.tables()


def run(*, check: bool) -> int:
    with pytest.raises(SystemExit) as status:
        tables.update(tables.Arguments(check=check))
    return int(str(status.value.code))


# -- pages ---------------------------------------------------------------------------------------------------------


def test_pages_have_the_tables_of_the_stored_results() -> None:
    assert run(check=True) == 0, "type python -m examples.papers.tables"


def test_every_table_is_on_a_page(made: dict[str, str]) -> None:
    pages = "".join(page.read_text() for page in PAGES)
    for each in made:
        assert f"<!-- table: {each} -->" in pages, each


def test_every_marker_is_of_a_table(made: dict[str, str]) -> None:
    for page in PAGES:
        assert set(re.findall(r"<!-- table: (\S+) -->", page.read_text())) <= set(made), page


@pytest.mark.parametrize("page", DIGIT_CHANGED_IN)
def test_changed_digit_is_found_and_written_back(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / page).read_text()
    table = text.index("|---|", text.index("<!-- table: "))
    at = table + re.search(r"\d", text[table:]).start()  # pyright: ignore[reportOptionalMemberAccess]
    copy = tmp_path / page
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    assert run(check=True) == 1
    assert f"{copy.name} differs: type python -m examples.papers.tables" in capsys.readouterr().out
    assert run(check=False) == 0
    assert copy.read_text() == text
    assert run(check=True) == 0


@pytest.mark.parametrize("page", [page for page in PAGES if not name(page).startswith(UNCHECKED)], ids=name)
def test_tables_of_results_are_between_markers(page: Path) -> None:
    assert typed_tables(page.read_text()) == [], (
        "store these results and put their tables between markers, as docs/contributing.md says under `a table of "
        "stored results`; if they are no results, add their headers to NOT_RESULTS"
    )


def test_typed_table_with_a_figure_is_found() -> None:
    of_figures, of_names = (f"| agent | Elo |\n|---|---|\n| `mcts2` | {cell} |\n" for cell in ("12", "?"))
    marked = f"<!-- table: a -->\n\n{of_figures}\n<!-- end of table -->\n"
    of_metrics = "| metric | definition |\n|---|---|\n| `loss` | half of 1 |\n"
    assert typed_tables("\n".join((marked, of_names, of_metrics))) == []
    assert typed_tables("\n".join((marked, of_names, of_figures, of_metrics))) == ["| agent | Elo |"]


def typed_tables(page: str) -> list[str]:
    """The headers of the tables with figures that are not between markers, except those of NOT_RESULTS."""
    typed: list[str] = []
    for table in TABLE.finditer(FENCE.sub("", MARKED.sub("", page))):
        header, _, *rows = table[0].splitlines()
        if re.search(r"\d", CODE_OR_LINK.sub("", "".join(rows))) and not header.startswith(NOT_RESULTS):
            typed.append(header)
    return typed


# -- files ---------------------------------------------------------------------------------------------------------


def test_stored_results_say_where_they_are_from() -> None:
    for path in RESULTS.glob("*.json"):
        stored = json.loads(path.read_text(encoding="utf-8"))
        assert ("command" in stored) != ("commands" in stored), path.name
        assert {"commit", "date", "processor", "cpu_seconds"} <= set(stored), path.name
        assert path.stat().st_size < 20_000, path.name
        assert "seeds" in stored or not stored.get("command", "").startswith("python -m examples.papers"), path.name
        if "source" in stored:
            assert f"<!-- table: {path.stem} -->" in (ROOT / stored["page"]).read_text(), path.name
        else:
            assert None not in (stored["commit"], stored["processor"]), path.name


def test_results_of_any_commands_are_stored_and_make_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("ROOT", "RESULTS"):
        monkeypatch.setattr(tables, folder, tmp_path)
    monkeypatch.setattr(tables, "RECORDS", tmp_path / "commands.jsonl")
    monkeypatch.setattr(tables, "COLUMNS", {"ones": {"a": "{a}"}})
    for number in (1, 2):
        (tmp_path / f"{number}.txt").write_text(f'{{"a": {number}}}')
    commands = [f"python -m json.tool --compact {tmp_path}/{number}.txt" for number in (1, 2)]
    assert run_command(tables.main, "--name", "ones", "--run", *commands) == 0
    stored = json.loads((tmp_path / "ones.json").read_text())
    assert stored["commands"] == commands
    assert [*stored["results"][0]] == ["a", "cpu_seconds"]
    assert tables.of_results()["ones"] == "| a |\n|---|\n| 1 |\n| 2 |"
    monkeypatch.chdir(tmp_path)
    Path("prints.py").write_text('print("| b |\\n|---|\\n| 3 |\\n[]")')
    assert run_command(tables.main, "--name", "printed", "--run", "python -m prints") == 0
    assert tables.of_results()["printed"] == "| b |\n|---|\n| 3 |"
    assert "--name and --run need each other" in error_of(tables.main, "--name", "ones")
    failing = f"python -m json.tool {tmp_path}/commands"
    assert "this command failed" in error_of(tables.main, "--name", "ones", "--run", failing)


def test_tables_in_a_text_are_read_as_their_cells() -> None:
    columns, rows = ["a", "", "|r|"], [["1 | 2", "", "x"], ["", "3.0 (1.0-5.0)", "y"]]
    expected = {"columns": columns, "rows": rows}
    assert tables_in(markdown(columns, rows)) == [expected]
    assert tables_in(f"text\n\n{markdown(columns, rows, padded=True)}\n\n| a |\n|---|\n| b |\ntext") == [
        expected,
        {"columns": ["a"], "rows": [["b"]]},
    ]


def test_record_has_each_row_on_one_line() -> None:
    record = {"rows": [["[1, 2]", "a"], ["b", 3]], "none": [], "of": {"κ": [1, 2]}}
    assert json.loads(tables.text_of(record)) == record
    assert '["b", 3]' in tables.text_of(record)
    assert '"κ": [1, 2]' in tables.text_of(record)
