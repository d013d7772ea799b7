"""benchmarks.regression names a game that has become slow. The speed of the games is tested here, as ratios only."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import harness, regression
from benchmarks.loops import GAMES
from benchmarks.regression import RATIOS_FILE, Arguments, measure_regression
from tests.benchmarks.conftest import RunCommand
from train.driver.machine import stamp

ROOT = Path(__file__).parents[2]
SMALL, OTHER = "dots_and_boxes(rows=2, cols=2)", "dots_and_boxes(rows=1, cols=2)"


@pytest.fixture(autouse=True)
def all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process runs the other tests too."""
    monkeypatch.setattr(harness, "keep_to_one_core", lambda: None)


@pytest.mark.slow  # measures all games; a shared machine can disturb it
def test_no_game_has_become_slow(pytestconfig: pytest.Config) -> None:
    """Against the committed ratios; in a new process, which keeps to one core."""
    if pytestconfig.getoption("--quick"):
        pytest.skip("programs that are not optimised are slow: leave out --quick")
    command = [sys.executable, "-m", "benchmarks.regression"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_game_has_a_recorded_ratio() -> None:
    recorded = json.loads(RATIOS_FILE.read_text())
    assert set(recorded["ratios"]) == set(GAMES)
    assert all(ratio > 0 for ratio in recorded["ratios"].values())
    assert {"date", "jax", "processor", "cores"} <= recorded.keys()


@pytest.mark.usefixtures("programs")
def test_command_records_ratios_and_names_games_that_have_lost(
    tmp_path: Path, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run's ratios are made up: a clock that other tests disturb decides nothing."""
    file = tmp_path / "regression.json"
    line = f"regression --file {file} --games '{SMALL}' '{OTHER}' --rounds 3 --length 8"
    recorded = run_command(f"{line} --write")
    assert json.loads(file.read_text())["ratios"] == recorded["ratios"]
    assert recorded["ratios"].keys() == {SMALL, OTHER}
    assert min(recorded["ratios"].values()) > 0

    file.write_text(json.dumps({"ratios": {SMALL: 2.0, OTHER: 0.5}}))
    monkeypatch.setattr(regression, "measure_ratio", lambda *_: 1.0)
    monkeypatch.setattr(regression, "reference_loop", lambda length: lambda: sum(range(1000)))
    with pytest.raises(SystemExit, match=r"lost more than 25% .*: dots_and_boxes\(rows=2, cols=2\)$"):
        run_command(line)
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["ratios"] == {SMALL: 1.0, OTHER: 1.0}
    assert result.keys() == {"ratios", "reference_steps_per_cpu_second", "lost", *stamp()}
    assert printed.err.count("measured once more") == regression.ATTEMPTS - 1


def test_best_ratio_of_the_attempts_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy moment is not a loss: the second measurement is good enough, and there is no third."""
    file = tmp_path / "regression.json"
    file.write_text(json.dumps({"ratios": {SMALL: 1.0}}))
    ratios = iter([0.5, 0.8])
    monkeypatch.setattr(regression, "measure_ratio", lambda *_: next(ratios))
    monkeypatch.setattr(regression, "reference_loop", lambda length: lambda: sum(range(1000)))
    monkeypatch.setattr(regression.loops, "rollout", lambda *_: lambda: 1)
    result = measure_regression(Arguments(games=(SMALL,), file=file, rounds=1, length=1))
    assert result["lost"] == []
    assert result["ratios"] == {SMALL: 0.8}


def test_ratio_is_the_median_over_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference takes 2 s, 3 s and 8 s of CPU time, the game 1 s each."""
    seconds = iter([2.0, 1.0, 3.0, 1.0, 8.0, 1.0])
    monkeypatch.setattr(regression, "cpu_seconds", lambda work: next(seconds))
    assert regression.measure_ratio(lambda: None, lambda: None, rounds=3) == 3.0
