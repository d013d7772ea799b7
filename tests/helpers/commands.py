"""Commands called in this process, as people type them, and text files as editors save them."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest


def run_command(main: Callable[[], None], *arguments: object) -> Any:
    """Runs a command with these arguments; returns its exit status, the message that stands for status 1, or None."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["command", *map(str, arguments)])
        try:
            main()
        except SystemExit as end:
            return end.code
    return None


def error_of(main: Callable[[], None], *arguments: object) -> str:
    """The message that a command ends with; it goes to standard error, without a traceback, and the status is 1."""
    message = run_command(main, *arguments)
    assert isinstance(message, str), f"expected an error, not {message!r}"
    return message


def last_json(capsys: pytest.CaptureFixture[str]) -> Any:
    """The last line that was printed, read as JSON."""
    return json.loads(capsys.readouterr().out.splitlines()[-1])


NAME = "a b 'c' #1 %20 [x]{y}, (z)=1; é"  # of a file


def saved_by_editors(text: str) -> list[bytes]:
    """Returns a text in the encodings and line ends of several systems."""
    windows = text.replace("\n", "\r\n")
    return [
        windows.encode("utf-8-sig"),
        windows.encode("utf-16"),
        b"\xfe\xff" + windows.encode("utf-16-be"),
        f"{text}\n \n".encode(),
    ]
