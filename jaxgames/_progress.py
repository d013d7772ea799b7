"""The progress of a long command, on standard error: a bar on a terminal, and plain lines with the time left elsewhere.

    with progress_bar(1000, "games", "random - greedy") as bar:
        bar.update(20)

A pipe, a job's log and a notebook get a line after ten seconds and then every ten, in long commands every minute. It
comes also while nothing has ended, so that a command that computes does not look dead:

    random - greedy: 120 of 1,000 games (12 %) in 30 s, 4 min left

The bar is that of tqdm, where tqdm is installed; without it a terminal gets the lines too.
"""

import importlib.util
import sys
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

SECONDS_BETWEEN_LINES = 10.0  # at first
MAX_SECONDS_BETWEEN_LINES = 60.0
SHARE_BETWEEN_LINES = 0.1  # of the time so far

ItemT = TypeVar("ItemT")


class Progress:
    """Counts the units of a long command that have ended. This class writes nothing; its subclasses do."""

    count = 0  # units that have ended

    def update(self, count: int = 1) -> None:
        """Adds `count` to what has ended."""
        self.count += count

    def skip(self, count: int) -> None:
        """Adds what had ended before this command began, and therefore took no time."""
        self.count += count

    def describe(self, text: str) -> None:
        """Sets the text at the end: what is done now."""

    def write(self, text: str) -> None:
        """Writes a line of its own."""
        print(f"{text}\n", end="", file=sys.stderr, flush=True)  # one write, because other threads write too

    def close(self) -> None:
        """Ends the bar or the lines."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def progress_bar(total: int | None, unit: str, title: str = "", shown: bool = True) -> Progress:
    """Returns the progress of `total` units, to be used in `with`; None where their number is not known.

    Args:
      unit: what is counted, in the plural, such as "games".
      title: stands before the numbers.
      shown: if False, nothing is written.
    """
    if not shown:
        return Progress()
    if sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None:
        return _Bar(total, unit, title)
    return _Lines(total, unit, title)


def progress_over(items: Iterable[ItemT], unit: str, title: str = "") -> Generator[ItemT]:
    """Yields the items with the progress over them."""
    listed = list(items)
    with progress_bar(len(listed), unit, title) as bar:
        for item in listed:
            yield item
            bar.update()


@contextmanager
def waiting(title: str) -> Generator[None]:
    """Writes lines with the time so far while something is awaited that cannot be counted, such as a compilation.

    They stand in place of the lines of the progress around it.
    """
    with _Lines(None, "", title):
        _Lines.waits += 1
        try:
            yield
        finally:
            _Lines.waits -= 1


def format_seconds(seconds: float) -> str:
    """Returns a time in words, such as "25 s", "4 min" or "2 h 10 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class _Bar(Progress):
    """A bar of tqdm."""

    def __init__(self, total: int | None, unit: str, title: str) -> None:
        from tqdm import tqdm

        self._bar: Any = tqdm(total=total, unit=f" {unit}", desc=title or None, unit_scale=True, smoothing=0)

    def update(self, count: int = 1) -> None:
        super().update(count)
        self._bar.update(count)

    def skip(self, count: int) -> None:
        super().skip(count)
        self._bar.initial += count
        self._bar.update(count)

    def describe(self, text: str) -> None:
        self._bar.set_postfix_str(text)

    def write(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()


class _Lines(Progress):
    """Lines at intervals, written by a thread of their own."""

    waits: ClassVar[int] = 0  # calls of `waiting` in progress; meanwhile, lines that count units are left out

    def __init__(self, total: int | None, unit: str, title: str) -> None:
        self._total, self._unit, self._title, self._now = total, unit, title, ""
        self._skipped = 0
        self._start = self._last_line = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_lines, daemon=True)
        self._thread.start()

    def skip(self, count: int) -> None:
        super().skip(count)
        self._skipped += count

    def describe(self, text: str) -> None:
        self._now = text

    def write(self, text: str) -> None:
        self._last_line = time.monotonic()
        super().write(text)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _write_lines(self) -> None:
        while not self._ended.wait(self._next_line() - time.monotonic()):
            if self.waits and self._unit:
                self._last_line = time.monotonic()
            elif time.monotonic() >= self._next_line():
                self.write(self.line(time.monotonic() - self._start))

    def _next_line(self) -> float:
        """Returns the time at which a line is due, on the clock of `time.monotonic`."""
        interval = min(SHARE_BETWEEN_LINES * (self._last_line - self._start), MAX_SECONDS_BETWEEN_LINES)
        return self._last_line + max(interval, SECONDS_BETWEEN_LINES)

    def line(self, seconds: float) -> str:
        """Returns the line `seconds` after the start."""
        title = f"{self._title}: " if self._title else ""
        if not self._unit:
            return f"{title}{format_seconds(seconds)} so far"
        text = f"{title}{self.count:,} {self._unit} in {format_seconds(seconds)}"
        if self._total:
            share = 100 * self.count // self._total
            text = f"{title}{self.count:,} of {self._total:,} {self._unit} ({share} %) in {format_seconds(seconds)}"
            if ended := self.count - self._skipped:
                text += f", {format_seconds(seconds * (self._total - self.count) / ended)} left"
        return f"{text}; {self._now}" if self._now else text
