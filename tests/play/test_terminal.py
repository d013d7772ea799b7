"""The terminal beyond stored transcripts: typed turns, files, hints, agents that fail, the command."""

import errno
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxgames import agents, make
from jaxgames.interop import uci
from jaxgames.play import HUMAN, Session, from_json, to_json
from jaxgames.play.__main__ import first_board, main
from jaxgames.play.notation import legal_texts
from jaxgames.play.terminal import Terminal, read_game
from tests.helpers.commands import NAME, saved_by_editors
from tests.helpers.scripted_agents import HostAgent
from tests.helpers.scripted_engine import command
from tests.play.test_transcripts import BOXES, check_width, transcript

AGAINST_FIRST = [HUMAN, "first"]


# -- typed turns ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "game",
    [
        *("checkers", "minichess", "dots_and_boxes(rows=2, cols=2)", "chinese_checkers_diamond(size=4, pieces=3)"),
        "chinese_checkers(size=4, num_players=6)",
    ],
)
def test_person_can_type_a_game_to_the_end(game: str) -> None:
    """The person types the last of the listed moves until the game is over, 60 at most."""
    env, typed, out = make(game), list[str](), io.StringIO()
    session = Session(env, [HUMAN, *["random"] * (env.num_players - 1)])

    def read(prompt: str) -> str:
        if terminal.session.over or len(typed) == 60:
            raise EOFError
        typed.append(legal_texts(env, terminal.session.state)[-1])
        return typed[-1]

    terminal = Terminal(session, read=read, out=out)
    terminal.run()
    assert len(typed) == 60 or session.over
    assert session.ply >= len(typed)
    assert "legal:" not in out.getvalue()
    check_width(out.getvalue())


# -- files ---------------------------------------------------------------------------------------------------------


def test_full_disk_leaves_the_game_that_was_saved_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "game.json"
    transcript(BOXES, AGAINST_FIRST, "", ["h(1,1)", f"save {file}"])
    before = file.read_bytes()

    def write(path: Path, *_: Any, **__: Any) -> None:
        with path.open("wb") as opened:
            opened.write(b"{")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write)
    monkeypatch.setattr(Path, "write_bytes", write)
    assert "No space left on device" in transcript(BOXES, AGAINST_FIRST, "", ["h(0,0)", f"save {file}"])
    assert file.read_bytes() == before
    assert "expected a file to write" in " ".join(transcript(BOXES, AGAINST_FIRST, "", [f"save {tmp_path}"]).split())


@pytest.mark.parametrize("suffix", ["json", "html"])
def test_game_is_saved_and_read_as_editors_save_it(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"{NAME}.{suffix}"
    transcript(BOXES, AGAINST_FIRST, "", ["h(1,1)", f"save {file}"])
    saved = read_game(file)
    assert saved.moves() == ["h(1,1)", "h(0,0)"]
    for content in saved_by_editors(file.read_text(encoding="utf-8")):
        file.write_bytes(content)
        assert to_json(read_game(file)) == to_json(saved)


# -- agents --------------------------------------------------------------------------------------------------------


def test_engine_gives_a_hint_and_plays_without_being_compiled() -> None:
    """The engine of the other seat is asked for the hint; it values its move with 125 hundredths of a pawn."""
    engine = uci.make(make("minichess"), command("b2b3:cp:125,a4b3"))
    text = transcript(engine.env, [HUMAN, "uci"], "", ["h", "b2b3"], make=lambda text, env: engine)
    assert "uci would play\n   100 %  b2b3\nyour chance to win: 62 %\n" in text
    assert "Black (uci) plays a4b3\n" in text
    assert "is compiled" not in text


def failing_twice() -> HostAgent:
    """Fails at its first two moves, and then plays the first legal action; it always fails at a hint."""
    failures = iter((KeyError("no disk"), KeyError("no disk")))

    def act(key: Any, states: Any) -> Any:
        for failure in failures:
            raise failure
        return agents.FirstAgent(make(BOXES)).act(key, states)

    def analyse(states: Any) -> Any:
        raise KeyError("no disk")

    return HostAgent(act, analyse)


def test_failure_of_a_hint_is_shown_and_the_game_goes_on() -> None:
    text = transcript(BOXES, [HUMAN, HUMAN], "", ["h failing", "h(0,0)"], make=lambda text, env: failing_twice())
    assert "failing failed with KeyError: 'no disk'" in text
    assert text.endswith("plies: 1\n")


@pytest.mark.parametrize("seats", [[HUMAN, "failing"], ["failing", "failing"]])
def test_failure_of_an_agent_leaves_the_game_to_the_person(seats: list[str], tmp_path: Path) -> None:
    file, agent = tmp_path / "game.json", failing_twice()
    lines = ["h(1,1)"] if HUMAN in seats else []
    typed = [*lines, f"save {file}", "", "v(0,0)"]
    text = transcript(BOXES, seats, "", typed, make=lambda text, env: agent)
    assert text.count("(failing) failed with KeyError: 'no disk'") == 2
    assert "(failing has failed), ? for help> \n" in text
    assert from_json(file.read_text(encoding="utf-8")).moves() == lines, "nothing was lost"
    played = [line for line in text.splitlines() if "(failing) plays" in line]
    assert len(played) == (0 if HUMAN in seats else 6), "a typed move is played for the agent, which then moves itself"


# -- the command ---------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_politely() -> None:
    def read(prompt: str) -> str:
        raise KeyboardInterrupt

    out = io.StringIO()
    Terminal(Session(BOXES, AGAINST_FIRST), read=read, out=out).run()
    assert out.getvalue().endswith("stopped\n\nthe game is not over\nplies: 0\n")


@pytest.mark.parametrize(
    ("arguments", "needles"),
    [
        (["nogame"], ("'nogame'", "checkers")),
        (["dots_and_boxes", "--seats", "human,nobody"], ("'nobody'", "random")),
        (["dots_and_boxes", "--position", "1", "--terminal"], ("'edges boxes seat'",)),
        (["dots_and_boxes", "--load", "x.json", "--terminal"], ("No such file", "x.json")),
    ],
)
def test_command_ends_with_the_reason(arguments: list[str], needles: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert all(needle in str(ended.value) for needle in needles)


def test_star_without_parameters_is_a_small_board_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert first_board("chinese_checkers") == "chinese_checkers(size=2, num_players=3)"
    assert "chinese_checkers(size=4, num_players=6, " in capsys.readouterr().out
    for text in ("checkers", "chinese_checkers(size=4)", "minichess"):
        assert first_board(text) == text
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_command_works_with_a_pipe() -> None:
    command = [sys.executable, "-m", "jaxgames.play", "dots_and_boxes(rows=1, cols=1)", "--terminal", "--seed", "3"]
    done = subprocess.run(command, input="h(0,0)\n?\n", capture_output=True, text=True, check=True, timeout=300)
    assert "Your turn (Red), ? for help> h(0,0)" in done.stdout
    assert "the game is not over" in done.stdout
    assert "Traceback" not in done.stderr
