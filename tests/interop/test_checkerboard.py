"""Engines with CheckerBoard's interface as agents: the board that they get, whole turns, an error for each fault."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

import jaxgames
from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.games.checkers.whole_moves import Board
from jaxgames.host_agent import HostPlayerAgent, board_of
from jaxgames.interop import checkerboard
from jaxgames.interop._engine_program import EngineError
from jaxgames.interop.checkerboard import BLACK, KING, MAN, WHITE, cells_of
from tests.helpers.positions import stacked
from tests.helpers.processes import wait_for_end

CHECKERS = jaxgames.make("checkers")
KEY = jax.random.key(0)
SOURCE = Path(__file__).parents[1] / "helpers" / "scripted_checkerboard.c"
TWO_CAPTURES = "B:W10,17,18,26:BK31"  # 31x22x13 and the longer 31x22x15x6


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(SOURCE, tmp_path_factory.mktemp("engine") / "scripted.so")


def compiled(source: Path, library: Path) -> str:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return str(library)


def scripted(library: str, script: str, monkeypatch: pytest.MonkeyPatch) -> HostPlayerAgent:
    """Returns the scripted engine; its process reads SCRIPT when it starts."""
    monkeypatch.setenv("SCRIPT", script)
    return checkerboard.make(CHECKERS, library, milliseconds=20)


def script_of(state: Any, *path: int) -> str:
    """Returns the SCRIPT with which the engine plays a path."""
    before = Board.of(state)
    after = replace(before)
    after.play(path)
    changed = zip(range(64), cells_of(before), cells_of(after), strict=True)
    return " ".join(f"{cell}={new}" for cell, old, new in changed if old != new)


def act(agent: agents.Agent, state: Any) -> int:
    return int(agent.act(KEY, stacked([state]))[0])


# -- what it plays -------------------------------------------------------------------------------------------------


def test_cells_are_those_of_the_description_of_the_interface() -> None:
    """The corners and a square in the middle as the page of CheckerBoard's interface numbers them, b[column][row]."""
    state = CHECKERS.from_string("W:WK4,32,K29:B1,18")
    expected = {
        (0, 0): WHITE | KING,
        (1, 7): WHITE | MAN,
        (7, 7): WHITE | KING,
        (6, 0): BLACK | MAN,
        (4, 4): BLACK | MAN,
    }
    found = {divmod(cell, 8): value for cell, value in enumerate(cells_of(Board.of(state))) if value}
    assert found == expected


def test_engine_gets_the_board_the_colour_and_the_time(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPT_LOG", str(tmp_path / "log"))
    state = CHECKERS.init()
    action = act(scripted(library, script_of(state, 11, 15), monkeypatch), state)
    assert CHECKERS.action_to_string(state, action) == "11-15"
    colour, seconds, *cells = (tmp_path / "log").read_text().split()
    assert (int(colour), float(seconds)) == (BLACK, 0.02)
    assert [int(cell) for cell in cells] == cells_of(Board.of(state))
    assert (cells.count(str(BLACK | MAN)), cells.count(str(WHITE | MAN))) == (12, 12)


def test_white_is_played_too_and_a_crowned_man_is_a_king(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = CHECKERS.from_string("W:W6:B21")
    agent = scripted(library, script_of(state, 6, 2), monkeypatch)
    state = CHECKERS.step(state, act(agent, state))
    assert CHECKERS.to_string(state) == CHECKERS.to_string(CHECKERS.from_string("B:WK2:B21"))


def test_jumps_of_a_turn_are_asked_for_once_per_board(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPT_LOG", str(tmp_path / "log"))
    state = CHECKERS.from_string(TWO_CAPTURES)
    agent = scripted(library, script_of(state, 31, 22, 13), monkeypatch)
    states = stacked([state, state])
    for _ in range(2):
        states = jax.vmap(CHECKERS.step)(states, agent.act(KEY, states))
    for i in range(2):
        assert CHECKERS.to_string(board_of(states, i)) == CHECKERS.to_string(CHECKERS.from_string("W:W10,18:BK13"))
    assert len((tmp_path / "log").read_text().splitlines()) == 2  # one per board


def test_capture_that_has_begun_is_completed_by_the_longest_one(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = CHECKERS.from_string(TWO_CAPTURES)
    first, *_ = Board.of(state).play((31, 22, 15, 6))
    state = CHECKERS.step(state, first)
    assert CHECKERS.action_to_string(state, act(scripted(library, "", monkeypatch), state)) == "22x15"


def test_finished_boards_are_not_searched(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPT_LOG", str(tmp_path / "log"))
    lost, start = CHECKERS.from_string("W:W:B1"), CHECKERS.init()
    assert lost.terminated
    agent = scripted(library, script_of(start, 11, 15), monkeypatch)
    assert agent.act(KEY, stacked([lost, start, lost])).tolist()[::2] == [0, 0]
    assert len((tmp_path / "log").read_text().splitlines()) == 1


# -- faults --------------------------------------------------------------------------------------------------------


def test_illegal_move_is_one_sentence(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = scripted(library, "0=0", monkeypatch)
    with pytest.raises(EngineError, match=r"played no legal move in B:W21,\S+; legal are 9-13, 9-14, 10-14"):
        act(agent, CHECKERS.init())


def test_crash_is_one_sentence_and_a_new_process_answers_next_time(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = CHECKERS.init()
    agent = scripted(library, "crash", monkeypatch)
    with pytest.raises(EngineError, match=r"scripted\.so' ended by the signal SIGABRT$"):
        act(agent, state)
    monkeypatch.setenv("SCRIPT", script_of(state, 9, 14))
    assert CHECKERS.action_to_string(state, act(agent, state)) == "9-14"


def test_silence_ends_the_process(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkerboard, "MAX_SILENCE", 0.3)
    agent = scripted(library, "silent", monkeypatch)
    process = process_of(agent)
    with pytest.raises(EngineError, match=r"silent for 0\.32 seconds; expected 'board'"):
        act(agent, CHECKERS.init())
    assert process.poll() is not None


def test_process_ends_with_the_agent(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = scripted(library, "", monkeypatch)
    process = process_of(agent)
    assert process.poll() is None
    del agent
    assert process.poll() is not None


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_process_ends_in_a_search_whose_program_is_killed(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPT", "silent")
    program = (
        "import jax, jaxgames, sys; from jaxgames.interop import checkerboard; "
        "from tests.helpers.positions import stacked; env = jaxgames.make('checkers'); "
        "agent = checkerboard.make(env, sys.argv[1]); print(agent.player._engine._process.pid, flush=True); "
        "agent.act(jax.random.key(0), stacked([env.init()]))"
    )
    with subprocess.Popen([sys.executable, "-c", program, library], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        engine = int(parent.stdout.readline())
        time.sleep(1.0)  # the search has begun
        parent.send_signal(signal.SIGKILL)
    wait_for_end(engine)


def process_of(agent: HostPlayerAgent) -> Any:
    player: Any = agent.player  # nothing else names the process
    return player._engine._process


RUSSIAN = """
#include <string.h>
int getmove(void) { return 3; }
int enginecommand(const char *command, char *reply) { strcpy(reply, "25"); return 1; }
"""


TALKS = """
#include <unistd.h>
int getmove(int board[64]) { write(1, "\\351", 1); board[27] = 0; return 3; }
int enginecommand(const char *command, char *reply) { write(1, "Jos\\351\\n\\0\\n\\377\\n", 9); WAIT; return 0; }
"""


def test_library_may_print_any_bytes(tmp_path: Path) -> None:
    (tmp_path / "talks.c").write_text(TALKS.replace("WAIT", ""))
    file = compiled(tmp_path / "talks.c", tmp_path / "an engine, é #1.so")
    with pytest.raises(EngineError, match=r"'\S+an engine, é #1\.so' played no legal move in B:W21,"):
        act(agents.make(f'checkerboard(library="{file}", milliseconds=1)', CHECKERS), CHECKERS.init())


def test_library_that_hangs_when_it_is_loaded_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkerboard, "MAX_START", 3.0)
    (tmp_path / "waits.c").write_text(TALKS.replace("WAIT", "sleep(60)"))
    with pytest.raises(EngineError, match=r"has not answered 'ready' in 3 seconds; its last line: '\\\\xff'"):
        checkerboard.make(CHECKERS, compiled(tmp_path / "waits.c", tmp_path / "waits.so"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("int other(void) { return 0; }", "it has no function getmove"),
        (RUSSIAN, "it plays the game 25 of PDN"),
        (None, "it is no shared library for this system: "),
    ],
    ids=["no engine", "another game", "no library"],
)
def test_file_that_is_no_engine_of_checkers_is_refused(tmp_path: Path, source: str | None, message: str) -> None:
    file = tmp_path / "other.so"
    if source is None:
        file.write_text("text")
    else:
        (tmp_path / "other.c").write_text(source)
        compiled(tmp_path / "other.c", file)
    with pytest.raises(EngineError, match=f"ended with status 1; its last line: .{message}"):
        checkerboard.make(CHECKERS, str(file))


@pytest.mark.parametrize(
    ("game", "parameters", "message"),
    [
        ("checkers", {"library": "nowhere.so"}, "there is no library 'nowhere.so'"),
        ("checkers", {"library": str(SOURCE), "milliseconds": 0}, "milliseconds"),
        ("minichess", {"library": str(SOURCE)}, "checkerboard plays checkers, not minichess"),
    ],
)
def test_what_is_not_allowed_is_refused(game: str, parameters: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        checkerboard.make(jaxgames.make(game), **parameters)


def test_agent_is_made_by_its_text(library: str) -> None:
    agent = agents.make(f"checkerboard({library})", CHECKERS)
    assert str(agent) == f"checkerboard(library={library!r}, milliseconds=100)"
