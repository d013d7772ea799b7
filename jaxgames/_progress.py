"""The progress of a long command, on standard error: a bar on a terminal, and lines with the time left elsewhere.

    with Progress(1000, "games", "random - greedy") as bar:
        bar.update(20)

A pipe, a job's log and a notebook get a line after ten seconds and then every ten, in long commands every minute, when
units end:

    random - greedy: 120 of 1,000 games (12 %) in 30 s, 4 min left

The bar is that of tqdm, where tqdm is installed; without it a terminal gets the lines too.
"""

import importlib.util
import sys
import time
from typing import Any, Self

SECONDS_BETWEEN_LINES = 10.0  # at first; later a tenth of the time so far
MAX_SECONDS_BETWEEN_LINES = 60.0


class Progress:
    """The progress of `total` units, None where their number is not known; to be used in `with`."""

    def __init__(self, total: int | None, unit: str, title: str = "", shown: bool = True) -> None:
        """Writes nothing if not `shown`; `unit` is what is counted, in the plural, and `title` stands before."""
        self.count = 0  # units that have ended
        self._skipped = 0
        self._total, self._unit, self._title, self._now, self._shown = total, unit, title, "", shown
        self._start = self._last_line = time.monotonic()
        self._bar: Any = None  # of tqdm
        if shown and sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=f" {unit}", desc=title or None, unit_scale=True, smoothing=0)

    def update(self, count: int = 1) -> None:
        """Adds `count` to what has ended, and writes a line if one is due."""
        self.count += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._shown:
            now = time.monotonic()
            interval = min(max((now - self._start) / 10, SECONDS_BETWEEN_LINES), MAX_SECONDS_BETWEEN_LINES)
            if now >= self._last_line + interval:
                self.write(self.line(now - self._start))

    def skip(self, count: int) -> None:
        """Adds what had ended before this command began, and therefore took no time."""
        self.count += count
        self._skipped += count
        if self._bar is not None:
            self._bar.initial += count
            self._bar.update(count)

    def describe(self, text: str) -> None:
        """Sets the text at the end: what is done now."""
        self._now = text
        if self._bar is not None:
            self._bar.set_postfix_str(text)

    def write(self, text: str) -> None:
        """Writes a line of its own."""
        self._last_line = time.monotonic()
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        else:
            print(f"{text}\n", end="", file=sys.stderr, flush=True)  # one write, because other threads write too

    def line(self, seconds: float) -> str:
        """Returns the line `seconds` after the start."""
        title = f"{self._title}: " if self._title else ""
        text = f"{title}{self.count:,} {self._unit} in {format_seconds(seconds)}"
        if self._total:
            share = 100 * self.count // self._total
            text = f"{title}{self.count:,} of {self._total:,} {self._unit} ({share} %) in {format_seconds(seconds)}"
            if ended := self.count - self._skipped:
                text += f", {format_seconds(seconds * (self._total - self.count) / ended)} left"
        return f"{text}; {self._now}" if self._now else text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()


def format_seconds(seconds: float) -> str:
    """Returns a time in words, such as "25 s", "4 min" or "2 h 10 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
