"""Results in a file: what is stored, what an unfinished or damaged line does; and tables in Markdown."""

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from train.driver import tables
from train.driver.result_file import ResultFile

KEY = ("agent", "games")
FIRST = {"agent": "first", "games": 8}


def test_results_are_read_again_by_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    file = ResultFile(path, KEY)
    assert file.get(FIRST) is None
    assert file.add(FIRST, {"wins": (1, 2), "agent": "is left out"}) == {"wins": [1, 2]}
    assert file.once(FIRST, lambda: pytest.fail("it is stored")) == {"wins": [1, 2]}
    assert file.once(FIRST | {"games": 9}, lambda: {"wins": [3]}) == {"wins": [3]}
    file.add(FIRST, {"wins": [4]})
    again = ResultFile(path, KEY)
    assert again.get(FIRST) == {"wins": [4]}
    assert again.all(FIRST) == [{"wins": [1, 2]}, {"wins": [4]}]
    assert again.get({"games": 9, "agent": "first"}) == {"wins": [3]}


@pytest.mark.parametrize("settings", [None, {"seed": 1}])
def test_unfinished_last_line_is_replaced(settings: dict[str, int] | None, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for number in (1, 2):
        ResultFile(path, KEY, settings).add(FIRST | {"games": number}, {"wins": number})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        for number in (1, 2):
            ResultFile(path, KEY, settings).once(FIRST | {"games": number}, lambda number=number: {"wins": number})
        assert path.read_bytes() == whole


def test_other_settings_are_refused_with_both_values(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    ResultFile(path, KEY, {"seed": 1, "plies": 4}).add(FIRST, {})
    with pytest.raises(ValueError, match=r"results.jsonl has other settings: seed was 1 and is 2\. .*--output"):
        ResultFile(path, KEY, {"seed": 2, "plies": 4})


@pytest.mark.parametrize("line", ["{", "7", '{"agent": "first"}', "\xff", "[" * 100_000])
def test_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    ResultFile(path, KEY).add(FIRST, {})
    path.write_bytes(path.read_bytes() + line.encode("latin-1") + b"\n")
    with pytest.raises(ValueError, match=r"results.jsonl, line 2 is not a result of this command"):
        ResultFile(path, KEY)
    with pytest.raises(ValueError, match=r"results.jsonl, line 1 is not a result of this command"):
        ResultFile(path, KEY, {"seed": 1})


def test_line_that_another_writer_has_begun_is_waited_for(tmp_path: Path) -> None:
    path, file = tmp_path / "results.jsonl", ResultFile(tmp_path / "results.jsonl", KEY)
    with path.open("ab") as other, ThreadPoolExecutor(1) as threads:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(b'{"agent": "other", "games": 8, ')
        other.flush()
        adding = threads.submit(file.add, FIRST, {"wins": [1]})
        with pytest.raises(TimeoutError):
            adding.result(timeout=0.1)
        other.write(b'"wins": [2]}\n')
        other.flush()
        fcntl.flock(other, fcntl.LOCK_UN)
        adding.result(timeout=60)
    stored = ResultFile(path, KEY)
    assert (stored.get(FIRST), stored.get(FIRST | {"agent": "other"})) == ({"wins": [1]}, {"wins": [2]})


def test_table_has_a_line_per_row_and_escapes_bars() -> None:
    expected = "| agent | won |\n|---|---|\n| random | 0.5 |\n| a\\|b | 3 |"
    assert tables.markdown(("agent", "won"), [("random", 0.5), ("a|b", 3)]) == expected
