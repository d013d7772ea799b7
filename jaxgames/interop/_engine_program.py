"""A program of its own that answers questions line by line, such as an engine of a game."""

import contextlib
import queue
import signal
import subprocess
import threading
import weakref
from collections.abc import Sequence
from typing import IO

from jaxgames._checks import ParameterError

MAX_START = 10.0  # seconds from the start of a program to its first answers
MAX_SILENCE = 60.0  # seconds without a line in a search; a limit of time comes on top


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
                text=True,
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

    def ask(self, *questions: str, last: str, silence: float) -> list[str]:
        """Writes lines to the program, and returns its own up to the one that begins with the word `last`.

        Raises EngineError at the end of the output, and after `silence` seconds without a line. The program is ended
        then, and at Ctrl-C: it would answer the next question with this answer.
        """
        try:
            for question in questions:
                self.send(question)
            return self._until(last, silence)
        except BaseException:
            self.close()
            raise

    def _until(self, last: str, silence: float) -> list[str]:
        lines: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=silence)
            except queue.Empty:
                raise EngineError(
                    f"the engine {self.name!r} has been silent for {silence:g} seconds; expected {last!r}"
                ) from None
            if line is None:
                status = self._process.wait()
                end = f"with status {status}" if status >= 0 else f"by the signal {signal.Signals(-status).name}"
                words = next(filter(None, reversed(lines)), "")
                last_line = f"; its last line: {words!r}" if words else ""
                raise EngineError(f"the engine {self.name!r} ended {end}{last_line}")
            lines.append(line)
            if line.split()[:1] == [last]:
                return lines


def _read(output: IO[str], lines: "queue.Queue[str | None]") -> None:
    """Puts the lines of a program into a queue, and None at their end."""
    with contextlib.suppress(OSError, ValueError):  # the output was closed
        for line in output:
            lines.put(line.strip())
    lines.put(None)


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
