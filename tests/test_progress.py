"""The progress of long commands: lines into a pipe when units end, and a bar on a terminal."""

import io
import re

import pytest

from jaxgames import _progress
from jaxgames._progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_pipe_gets_a_line_with_the_time_left_when_one_is_due(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line after ten seconds, then every ten seconds, and every minute after ten minutes."""
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    with Progress(4000, "games", "ladder") as bar:
        for number, clock[0] in enumerate((9, 10, 19, 20, 600, 659, 660)):
            bar.describe(f"pair {number}")
            bar.update(500)
    assert capsys.readouterr().err.splitlines() == [
        "ladder: 1,000 of 4,000 games (25 %) in 10 s, 30 s left; pair 1",
        "ladder: 2,000 of 4,000 games (50 %) in 20 s, 20 s left; pair 3",
        "ladder: 2,500 of 4,000 games (62 %) in 10 min, 6 min left; pair 4",
        "ladder: 3,500 of 4,000 games (87 %) in 11 min, 94 s left; pair 6",
    ]


def test_time_left_is_from_the_units_that_this_command_has_ended() -> None:
    """50 games in 30 s, beside 100 that were stored, leave 50 games for 30 s."""
    with Progress(200, "games") as bar:
        bar.skip(100)
        assert bar.line(30) == "100 of 200 games (50 %) in 30 s"
        bar.update(50)
        assert bar.line(30) == "150 of 200 games (75 %) in 30 s, 30 s left"


def test_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(20, "games", "random - first") as bar:
        bar.skip(5)
        bar.update(15)
        bar.write("a line of its own")
    assert "a line of its own\n" in terminal.getvalue()
    assert re.search(r"random - first: 100%\|.*\| 20.0/20.0 \[.* games/s\]", terminal.getvalue())
