"""The command that writes the tables of stored results finds a changed digit; files of results say what they are."""

import json
import re
from pathlib import Path

import pytest

from examples.papers import tables
from tests.helpers.blocks import ROOT
from tests.helpers.commands import error_of, run_command
from train.baselines.entries import RESULTS
from train.driver.tables import markdown, tables_in


def run(*, check: bool) -> int:
    with pytest.raises(SystemExit) as status:
        tables.update(tables.Arguments(check=check))
    return int(str(status.value.code))


@pytest.mark.parametrize("page", ["README.md", "docs/training/ppo.md"])
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
