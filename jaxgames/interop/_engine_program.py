"""A program of its own that answers questions line by line, such as an engine of a game."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO

from jaxgames._checks import ParameterError

MAX_START = 10.0  # seconds from the start of a program to its first answers
MAX_SILENCE = 60.0  # seconds without a line in a search; a limit of time comes on top
MAX_SEARCH = 3600.0  # seconds of a search without a limit of time, whatever the program writes
MAX_LINES = 100_000  # between a question and its answer
MAX_LINE = 10_000  # characters of a line; the rest of a longer one counts as further lines


class EngineError(ValueError):
    """Raised where an engine ends, answers nothing, or plays an illegal move."""


class EngineProgram:
    """A running program. It ends with this object, and with this process.

    If this process is killed, only the input of the program is closed. The program ends when it reads that: some
    engines read in a search, too, others after it.
    """

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        """Starts a program; `name` is for messages. Raises ParameterError if it cannot be run."""
        self.name = name
        try:
            # A session of its own: Ctrl-C in a terminal is not for the engine.
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="backslashreplace",  # names are in any encoding, and what counts is ASCII
                bufsize=1,
                start_new_session=True,
            )
        except OSError as error:
            raise ParameterError(f"the engine {name!r} cannot be run: {error.strerror}") from error
        self._process = process
        self._lines: queue.Queue[str | None] = queue.Queue()  # None: the end of the output
        self.close = weakref.finalize(self, _end, process)
        threading.Thread(target=_read, args=(process.stdout, self._lines), daemon=True).start()

    @property
    def is_running(self) -> bool:
        """True while the program runs."""
        return self.close.alive and self._process.poll() is None

    def send(self, line: str) -> None:
        """Writes a line to the program."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended: the next line that is read says so, with its last words
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()

    def ask(self, *questions: str, last: str, silence: float, limit: float | None = None) -> list[str]:
        """Writes lines to the program, and returns its own up to the one that begins with the word `last`.

        Raises EngineError at the end of the output, after `silence` seconds without a line, after `limit` seconds in
        all (None: `silence`), and after MAX_LINES lines. The program is ended then, and at Ctrl-C: it would answer the
        next question with this answer.
        """
        try:
            for question in questions:
                self.send(question)
            return self._until(last, silence, silence if limit is None else limit)
        except BaseException:
            self.close()
            raise

    def _until(self, last: str, silence: float, limit: float) -> list[str]:
        lines: list[str] = []
        end = time.monotonic() + limit
        while len(lines) < MAX_LINES and (left := end - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=min(silence, left))
            except queue.Empty:
                if lines and left < silence:
                    break
                waited = min(silence, limit)
                raise EngineError(
                    f"the engine {self.name!r} has been silent for {waited:g} seconds; expected {last!r}"
                ) from None
            if line is None:
                raise EngineError(f"the engine {self.name!r} {self._end_in_words()}{_last_line(lines)}")
            lines.append(line)
            if line.split()[:1] == [last]:
                return lines
        reached = f"{MAX_LINES:,} lines" if len(lines) == MAX_LINES else f"{limit:g} seconds"
        raise EngineError(f"the engine {self.name!r} has not answered {last!r} in {reached}{_last_line(lines)}")

    def _end_in_words(self) -> str:
        """Returns how the program ended, after the end of its output."""
        try:
            status = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "has closed its output"
        return f"ended with status {status}" if status >= 0 else f"ended by the signal {signal.Signals(-status).name}"


def _last_line(lines: Sequence[str]) -> str:
    words = next(filter(None, reversed(lines)), "")
    return f"; its last line: {words!r}" if words else ""


def _read(output: IO[str], lines: "queue.Queue[str | None]") -> None:
    """Puts the lines of a program into a queue, without byte order marks and NULs, and None at their end."""
    with output:
        while line := output.readline(MAX_LINE):
            lines.put(line.replace("\0", "").removeprefix("\ufeff").strip())
    lines.put(None)


def _end(process: "subprocess.Popen[str]") -> None:
    """Ends a program and, where it is the script that starts an engine, the engine; `_read` closes the output."""
    if hasattr(os, "killpg") and process.poll() is None:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            os.killpg(process.pid, signal.SIGKILL)  # its session has the same number
    process.kill()
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
