"""A game that has become slow is named; how fast the games are is a test's business here, and only as ratios."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.baseline import FILE, Arguments, has_lost, run

import jaxgames
from benchmarks import baseline
from benchmarks.throughput import GAMES

ROOT = Path(__file__).parents[2]
SMALL = "dots_and_boxes(rows=2, cols=2)"


@pytest.mark.slow
def test_no_game_has_become_slow(pytestconfig: pytest.Config) -> None:
    """Against the committed ratios, again where one seems to have lost, in a process that keeps to one core."""
    if pytestconfig.getoption("--quick"):
        pytest.skip("programs that are not optimised are slow: leave out --quick")
    command = [sys.executable, "-m", "benchmarks.baseline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_game_has_a_recorded_ratio() -> None:
    recorded = json.loads(FILE.read_text())
    assert set(recorded["ratios"]) == set(GAMES)
    assert {game.partition("(")[0] for game in GAMES} == set(jaxgames.list_games())
    assert all(ratio > 0 for ratio in recorded["ratios"].values())
    assert {"date", "jax", "processor", "cores"} <= recorded.keys()


def test_a_game_that_has_lost_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written from real measurements, which are then made up: a clock that other tests disturb decides nothing."""
    file, other = tmp_path / "baseline.json", "dots_and_boxes(rows=1, cols=2)"
    words = ["baseline", "--file", str(file), "--games", SMALL, other, "--rounds", "3", "--length", "8"]
    monkeypatch.setattr(baseline, "keep_to_one_core", lambda: None)  # the tests' own process
    monkeypatch.setattr("sys.argv", [*words, "--write"])
    baseline.main()
    written = json.loads(file.read_text())
    assert set(written["ratios"]) == {SMALL, other}
    assert min(written["ratios"].values()) > 0

    file.write_text(json.dumps({"ratios": {SMALL: 2.0, other: 0.5}}))
    monkeypatch.setattr(baseline, "measure", lambda *_: 1.0)
    monkeypatch.setattr("sys.argv", [*words, "--output", str(tmp_path / "new" / "measured.json")])
    with pytest.raises(SystemExit, match=r"lost more than 25% .*: dots_and_boxes\(rows=2, cols=2\)$"):
        baseline.main()
    assert json.loads((tmp_path / "new" / "measured.json").read_text())["ratios"] == {SMALL: 1.0, other: 1.0}
    said = capsys.readouterr().err
    assert said.count("once more") == baseline.ATTEMPTS - 1


def test_the_best_of_the_attempts_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy moment is no loss: the second measurement is good enough, and there is no third."""
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps({"ratios": {SMALL: 1.0}}))
    measured = iter([0.5, 0.8])
    monkeypatch.setattr(baseline, "measure", lambda *_: next(measured))
    result, lost = run(Arguments(games=(SMALL,), file=file, rounds=1, length=1))
    assert lost == []
    assert result["ratios"] == {SMALL: 0.8}


def test_a_quarter_may_be_lost_and_no_more() -> None:
    assert not has_lost(0.75, 1.0)
    assert has_lost(0.749, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            Arguments(games=("dots_and_boxes(rows=7)",)),
            r"has checkers, .*, not dots_and_boxes\(rows=7\): renew it with",
        ),
        (Arguments(games=("minichess",), write=True), "would lose .*: write all games, or another --file"),
        (Arguments(file=ROOT / "benchmarks" / "no.json"), "No such file"),
        (Arguments(games=("chess",)), "the games are"),
        (Arguments(rounds=0), "must be positive"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(arguments: Arguments, message: str) -> None:
    with pytest.raises((ValueError, OSError), match=message):
        run(arguments)


def test_a_file_without_ratios_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text("{}")
    with pytest.raises(ValueError, match="holds no ratios"):
        run(Arguments(file=file))
