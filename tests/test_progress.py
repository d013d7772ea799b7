"""The progress of long commands: lines into a pipe, also while nothing ends, and a bar on a terminal."""

import io
import re
import time
from collections.abc import Callable

import pytest

from jaxgames import _progress
from jaxgames._progress import format_seconds, progress_bar, progress_over, waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines every hundredth of a second instead of every ten seconds."""
    monkeypatch.setattr(_progress, "SECONDS_BETWEEN_LINES", 0.01)


def wait_for(text: str, read: Callable[[], str]) -> str:
    """Returns what was written once it matches the pattern."""
    written, deadline = "", time.monotonic() + 20
    while not re.search(text, written):
        assert time.monotonic() < deadline, f"expected {text!r}, got {written!r}"
        time.sleep(0.005)
        written += read()
    return written


@pytest.mark.usefixtures("frequent")
def test_pipe_gets_whole_lines_with_the_time_left_also_while_nothing_ends(capsys: pytest.CaptureFixture[str]) -> None:
    def read() -> str:
        return capsys.readouterr().err

    with progress_bar(4000, "games", "ladder") as bar:
        wait_for(r"ladder: 0 of 4,000 games \(0 %\) in \d+ s\n", read)
        bar.update(1000)
        bar.describe("pair 2 of 3")
        wait_for(r"ladder: 1,000 of 4,000 games \(25 %\) in \d+ s, \d+ s left; pair 2 of 3\n", read)
    read()
    time.sleep(0.05)
    assert read() == ""  # nothing after its end


def test_time_left_is_from_the_units_that_this_command_has_ended() -> None:
    """50 games in 30 s, beside 100 that were stored, leave 50 games for 30 s."""
    with _progress._Lines(200, "games", "") as bar:  # pyright: ignore[reportPrivateUsage]
        bar.skip(100)
        assert bar.line(30) == "100 of 200 games (50 %) in 30 s"
        bar.update(50)
        assert bar.line(30) == "150 of 200 games (75 %) in 30 s, 30 s left"


def test_short_command_writes_nothing_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert [*progress_over("abc", "letters")] == ["a", "b", "c"]
    with progress_bar(10, "games", shown=False) as bar:
        bar.update(4)
    assert bar.count == 4
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("frequent")
def test_what_cannot_be_counted_shows_the_time_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    """It stands in place of the progress around it."""
    with progress_bar(20, "games"), waiting("still compiling"):
        capsys.readouterr()
        assert "games" not in wait_for(r"(still compiling: 0 s so far\n.*){3}", lambda: capsys.readouterr().err)


def test_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress_bar(20, "games", "random - first") as bar:
        bar.skip(5)
        bar.update(15)
        bar.write("a line of its own")
    assert "a line of its own\n" in terminal.getvalue()
    assert re.search(r"random - first: 100%\|.*\| 20.0/20.0 \[.* games/s\]", terminal.getvalue())


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (100, "2 min"), (3600, "60 min"), (7800, "2 h 10 min")]
)
def test_times_are_in_words(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
