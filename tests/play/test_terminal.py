"""Games in the terminal, with scripted lines."""

import errno
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxgames import agents, make
from jaxgames.interop import uci
from jaxgames.play import HUMAN, Session, from_json, to_json
from jaxgames.play.__main__ import first_board, main
from jaxgames.play.notation import legal_texts
from jaxgames.play.terminal import Terminal, read_game
from tests.helpers.scripted_engine import command
from tests.helpers.texts import NAME, saved_by_editors

BOXES = make("dots_and_boxes(rows=1, cols=2)")
PROMPT = "Your turn (Red), ? for help> "
GAMES = (
    "checkers",
    "chinese_checkers(size=2, num_players=3)",
    "chinese_checkers(size=4, num_players=6)",
    "chinese_checkers_diamond(size=4, pieces=3)",
    "dots_and_boxes(rows=2, cols=2)",
    "minichess",
)


def transcript(
    *lines: str, env: Any = BOXES, seats: list[str] | None = None, make: Any = agents.make, **start: Any
) -> str:
    """All that the terminal writes until the lines end."""
    typed: Iterator[str] = iter(lines)

    def read(prompt: str) -> str:
        out.write(prompt)
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    out = io.StringIO()
    Terminal(Session(env, seats or [HUMAN, "first"], **start), make=make, read=read, out=out).run()
    check_width(out.getvalue())
    return out.getvalue()


def check_width(text: str) -> None:
    """Lines with what was typed and with names of files can be longer."""
    lines = [line for line in text.split("\n") if not ("help> " in line or "saved in" in line)]
    assert max(map(len, lines)) <= 80


def test_person_plays_an_agent_to_the_end() -> None:
    text = transcript("h(0,1)", "h(1,1)", "v(0,1)", "v(0,2)", "bla", "q")
    assert "Blue (first) plays h(0,0)" in text
    assert text.count("You lost 0 : 2") == 2, "below the board, and at the end"
    assert "The game is over, ? for help> bla" in text
    assert "u undoes your last turn" in text
    assert text.endswith("plies: 7\n")


def test_question_mark_lists_moves_and_commands() -> None:
    text = transcript("?")
    assert "legal moves: h(0,0), h(0,1), h(1,0), h(1,1), v(0,0), v(0,1), v(0,2)" in text
    assert "save FILE" in text
    assert text.endswith("the game is not over\nplies: 0\n")


def test_wrong_move_is_answered_with_the_legal_ones() -> None:
    text = transcript("h(5,0)", "hop")
    assert "expected a row from 0 to 1 of h(r,c), not 5 in 'h(5,0)'; legal: h(0,0), h(0,1)," in text
    assert "'hop'" in text


def test_undo_skips_the_agents_moves() -> None:
    text = transcript("h(1,1)", "u", "u")
    assert text.count("plays h(0,0)") == 1
    assert "there is no turn to undo" in text


def test_thoughts_of_an_agent_are_shown() -> None:
    lines = transcript("h greedy", "h", "h nobody").splitlines()
    thoughts = [lines[number + 1] for number, line in enumerate(lines) if line.endswith(" would play")]
    assert thoughts[0] == "    14 %  h(0,0)", lines
    assert any(line.startswith("your chance to win: ") and line.endswith(" %") for line in lines), lines
    assert not any(" 0 %  " in line for line in lines), lines
    assert any("unknown agent 'nobody'" in line for line in lines)


def test_engine_gives_a_hint_and_plays_without_being_compiled() -> None:
    """The engine of the other seat is asked for the hint; it values its move with 125 hundredths of a pawn."""
    engine = uci.make(make("minichess"), command("b2b3:cp:125,a4b3"))
    text = transcript("h", "b2b3", env=engine.env, seats=[HUMAN, "uci"], make=lambda text, env: engine)
    assert "uci would play\n   100 %  b2b3\nyour chance to win: 62 %\n" in text
    assert "Black (uci) plays a4b3\n" in text
    assert "is compiled" not in text


def test_resignation_ends_the_game() -> None:
    text = transcript("resign")
    assert text.count("You lost: you resigned") == 2, "below the board, and at the end"
    assert text.count(PROMPT) == 1, "before, and not after"


def test_turn_that_cannot_go_on_ends_by_itself() -> None:
    star = make("chinese_checkers(size=2, num_players=2)")
    session = Session(
        star, [HUMAN, HUMAN], state=star.from_string("0/.0/...0.../....../...../....../...1.../1./1 0 - 1")
    )
    typed, out = iter(["2=>12"]), io.StringIO()

    def read(prompt: str) -> str:
        if (line := next(typed, None)) is None:
            raise EOFError
        return line

    Terminal(session, read=read, out=out).run()
    assert "the turn ends: nothing can follow\n" in out.getvalue()
    assert session.moves() == ["2=>12", "end"]


def test_full_disk_leaves_the_game_that_was_saved_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "game.json"
    transcript("h(1,1)", f"save {file}")
    before = file.read_bytes()

    def write(path: Path, *_: Any, **__: Any) -> None:
        with path.open("wb") as opened:
            opened.write(b"{")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write)
    monkeypatch.setattr(Path, "write_bytes", write)
    assert "No space left on device" in transcript("h(1,1)", "h(0,0)", f"save {file}")
    assert file.read_bytes() == before
    assert "expected a file to write" in " ".join(transcript(f"save {tmp_path}").split())


def test_game_is_saved_and_loaded(tmp_path: Path) -> None:
    file = tmp_path / "game.json"
    transcript("h(1,1)", f"save {file}", f"save {tmp_path / 'game.html'}")
    assert read_game(file).moves() == read_game(tmp_path / "game.html").moves() == ["h(1,1)", "h(0,0)"]
    assert "expected a file: save FILE" in transcript("save")


def test_saved_game_is_read_as_editors_save_it(tmp_path: Path) -> None:
    for suffix in ("json", "html"):
        file = tmp_path / f"{NAME}.{suffix}"
        transcript("h(1,1)", f"save {file}")
        saved = to_json(read_game(file))
        for content in saved_by_editors(file.read_text(encoding="utf-8")):
            file.write_bytes(content)
            assert to_json(read_game(file)) == saved


class FailsTwice:
    """Fails at its first two moves, and then plays the first legal action; it always fails at a hint."""

    on_device = False

    def __init__(self) -> None:
        self.failures = 2

    def act(self, key: Any, states: Any) -> Any:
        self.failures -= 1
        if self.failures >= 0:
            raise KeyError("no disk")
        return agents.FirstAgent(BOXES).act(key, states)

    def analyse(self, states: Any) -> Any:
        raise KeyError("no disk")


def test_failure_of_a_hint_is_shown_and_the_game_goes_on() -> None:
    text = transcript("h failing", "h(0,0)", make=lambda text, env: FailsTwice(), seats=[HUMAN, HUMAN])
    assert "failing failed with KeyError: 'no disk'" in text
    assert text.endswith("plies: 1\n")


@pytest.mark.parametrize("seats", [[HUMAN, "failing"], ["failing", "failing"]])
def test_failure_of_an_agent_leaves_the_game_to_the_person(seats: list[str], tmp_path: Path) -> None:
    file, agent = tmp_path / "game.json", FailsTwice()
    lines = ["h(1,1)"] if HUMAN in seats else []
    text = transcript(*lines, f"save {file}", "", "v(0,0)", make=lambda text, env: agent, seats=seats)
    assert text.count("(failing) failed with KeyError: 'no disk'") == 2
    assert "(failing has failed), ? for help> \n" in text
    saved = from_json(file.read_text(encoding="utf-8"))
    assert saved.moves() == lines, "nothing was lost"
    played = [line for line in text.splitlines() if "(failing) plays" in line]
    assert len(played) == (0 if HUMAN in seats else 6), "a typed move is played for the agent, which then moves itself"


def test_agents_alone_play_to_the_end() -> None:
    text = transcript(seats=["first", "first"])
    assert "for help" not in text
    assert "\nBlue wins 2 : 0" in text


def test_ctrl_c_ends_politely() -> None:
    def read(prompt: str) -> str:
        raise KeyboardInterrupt

    out = io.StringIO()
    Terminal(Session(BOXES, [HUMAN, "first"]), read=read, out=out).run()
    assert out.getvalue().endswith("stopped\n\nthe game is not over\nplies: 0\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nogame"], "unknown game 'nogame'; the games are checkers"),
        (["dots_and_boxes", "--seats", "human,nobody"], "unknown agent 'nobody'"),
        (["dots_and_boxes", "--position", "1", "--terminal"], "expected 'edges boxes seat'"),
        (["dots_and_boxes", "--load", "x.json", "--terminal"], "No such file"),
    ],
)
def test_command_ends_with_the_reason(arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert message in str(ended.value)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_person_can_type_a_game_to_the_end(game: str) -> None:
    """The person types the last of the listed moves until the game is over, 60 at most."""
    env = make(game)
    typed: list[str] = []
    session = Session(env, [HUMAN, *["random"] * (env.num_players - 1)])

    def read(prompt: str) -> str:
        if terminal.session.over or len(typed) == 60:
            raise EOFError
        typed.append(legal_texts(env, terminal.session.state)[-1])
        return typed[-1]

    out = io.StringIO()
    terminal = Terminal(session, read=read, out=out)
    terminal.run()
    assert len(typed) == 60 or session.over
    assert session.ply >= len(typed)
    assert "legal:" not in out.getvalue()
    check_width(out.getvalue())


@pytest.mark.slow
def test_command_works_with_a_pipe() -> None:
    command = [sys.executable, "-m", "jaxgames.play", "dots_and_boxes(rows=1, cols=1)", "--terminal", "--seed", "3"]
    done = subprocess.run(command, input="h(0,0)\n?\n", capture_output=True, text=True, check=True, timeout=300)
    assert "Your turn (Red), ? for help> h(0,0)" in done.stdout
    assert "the game is not over" in done.stdout
    assert "Traceback" not in done.stderr


def test_undo_goes_back_to_the_start_of_the_persons_last_turn(tmp_path: Path) -> None:
    """The first edge completes a box, so the person moves twice, and then the agent."""
    file = tmp_path / "game.json"
    text = transcript("v(0,1)", "h(0,1)", "u", f"save {file}", state=BOXES.from_string("1010100 .. 0"))
    assert "Blue (first) plays" in text
    saved = from_json(file.read_text(encoding="utf-8"))
    assert (saved.ply, saved.plies > 2) == (0, True)


def test_chance_to_win_is_the_persons_and_is_left_out_where_returns_do_not_tell_it() -> None:
    assert "your chance to win: 50 %" in transcript("h alphabeta"), "1 x 2 boxes are a draw"
    several = transcript("h alphabeta", seats=[HUMAN, HUMAN])
    assert "chance to win of Red: " in several
    margin = transcript("h alphabeta", env=make("dots_and_boxes(rows=1, cols=2, reward=margin)"))
    assert "alphabeta would play" in margin
    assert "chance" not in margin


def test_rules_are_told_in_plain_words() -> None:
    text = transcript("rules")
    assert "Dots and Boxes, 1 by 2 boxes\n\nTake more of the 2 boxes than the other player." in text


def test_star_without_parameters_is_a_small_board_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert first_board("chinese_checkers") == "chinese_checkers(size=2, num_players=3)"
    assert 'The default board: "chinese_checkers(size=4, num_players=6, ' in capsys.readouterr().out
    for text in ("checkers", "chinese_checkers(size=4)", "minichess"):
        assert first_board(text) == text
    assert capsys.readouterr().out == ""
