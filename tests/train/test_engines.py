"""Commands whose agents are engines, programs of their own: a broken one ends the command with one sentence."""

from pathlib import Path

import pytest

from tests.helpers.commands import error_of
from tests.helpers.scripted_engine import command
from train import evaluate, match
from train.data import __main__ as data
from train.data import labels
from train.ladder import __main__ as ladder

COMMANDS = {"match": match, "evaluate": evaluate, "ladder": ladder, "data": data}


def agent(moves: str, fault: str = "none") -> str:
    return f'uci(command="{command(moves, fault)}")'


ILLEGAL = ("a1a5", "none", "played 'a1a5' in rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1; legal are a2a3, b1a3, ")
CRASH = ("b2b3", "crash", "ended with status 3; its last line: 'out of memory'")


@pytest.mark.parametrize(
    ("name", "moves", "fault", "problem"),
    [("match", *CRASH), ("evaluate", *ILLEGAL), ("ladder", *CRASH), ("data", *ILLEGAL)],
    ids=COMMANDS,
)
def test_command_ends_with_the_engine_and_its_fault(
    name: str, moves: str, fault: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken engine plays White: in a ladder because its text is the first one in alphabetical order."""
    monkeypatch.setattr(labels, "BOARDS", 1)
    broken, sound, games = agent(moves, fault), agent("d4d3"), ("--env", "minichess", "--games", 1)
    folder, file = ("--output", tmp_path / "ladder"), ("--output", tmp_path / "labelled.npz")
    arguments = {
        "match": (broken, sound, *games, "--seating", "fixed"),
        "evaluate": (broken, "--opponents", sound, *games, "--seat", 0),
        "ladder": ("minichess", broken, "--anchor", sound, "--games", 1, "--openings", 0, *folder),
        "data": ("--label", broken, "--play", agent("b2b3,d4d3"), "--env", "minichess", "--positions", 2, *file),
    }
    error = error_of(COMMANDS[name].main, *arguments[name])
    assert error.startswith(f"train.{name}: the engine {command(moves, fault)!r} {problem}")
    assert "\n" not in error
    assert not (tmp_path / "labelled.npz").exists()
