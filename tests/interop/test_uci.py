"""Engines that speak UCI as agents: the commands that they get, their moves and values, and an error for each fault."""

import math
import os
import shlex
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.interop import _engine_program, uci
from jaxgames.interop.uci import Engine, EngineError, UciAgent
from tests.helpers.positions import stacked
from tests.helpers.scripted_engine import command

MINICHESS = jaxgames.make("minichess")
KEY = jax.random.key(0)
START = stacked([MINICHESS.init()])


def wait_for_end(process_id: int) -> None:
    """Fails unless the process ends within five seconds."""
    for _ in range(100):
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process still runs")


def scripted(moves: str, fault: str = "none", **parameters: int) -> UciAgent:
    return uci.make(MINICHESS, command(moves, fault), **parameters)


real = pytest.mark.skipif(
    not any(Path(folder, "fairy-stockfish").exists() for folder in uci.FOLDERS),
    reason="Fairy-Stockfish is not installed: apt-get install fairy-stockfish",
)


# -- what it plays -------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Has scripted engines append their process and the lines that they get to this file."""
    monkeypatch.setenv("SCRIPT_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def process_of(log: Path) -> int:
    return int(log.read_text().splitlines()[0])


def test_engine_is_told_the_variant_the_position_and_the_limits(log: Path) -> None:
    agent = scripted("b2b3", depth=3, milliseconds=20, skill=-5, lines=2)
    action = int(agent.act(KEY, START)[0])
    assert MINICHESS.action_to_string(MINICHESS.init(), action) == "b2b3"
    assert log.read_text().splitlines()[1:] == [
        "uci",
        "setoption name UCI_Variant value gardner",
        "setoption name Skill Level value -5",
        "setoption name MultiPV value 2",
        "ucinewgame",
        "isready",
        "position fen rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1",
        "go depth 3 movetime 20",
    ]


@pytest.mark.parametrize(
    ("lines", "moves", "values", "value"),
    [
        (1, "b2b3:cp:50", [0], math.tanh(0.1)),  # bounds are left out
        (1, "b2b3:cp:-250", [0], math.tanh(-0.5)),
        (1, "b2b3:mate:3", [0], 1),
        (1, "b2b3:mate:-2", [0], -1),
        (1, "b2b3:unknown:1", [0], 0),
        (1, "a2a3+c2c3:cp:200+b2b3:cp:300", [0, -np.inf, -np.inf], math.tanh(0.6)),  # the latest one
        (3, "b2b3:cp:50+a2a3:cp:20+c2c3:mate:-2", [math.tanh(0.1), math.tanh(0.04), -1 - uci.MATE / 2], math.tanh(0.1)),
        (3, "a2a3+c2c3:cp:200+b2b3:cp:300", [math.tanh(0.4), math.tanh(0.4), math.tanh(0.6)], math.tanh(0.4)),  # lowest
    ],
)
def test_values_of_lines_give_probabilities_and_that_of_the_move_is_the_movers(
    lines: int, moves: str, values: list[float], value: float
) -> None:
    analysis = scripted(moves, lines=lines).analyse(START)
    actions = [MINICHESS.action_from_string(MINICHESS.init(), move[:4]) for move in moves.split("+")]
    weights, probabilities = np.exp(np.array(values) / uci.SPREAD), np.asarray(analysis.probabilities)[0]
    np.testing.assert_allclose(probabilities[actions], weights / weights.sum(), atol=1e-6)
    assert probabilities.sum() == pytest.approx(1)
    assert analysis.values is not None
    np.testing.assert_allclose(analysis.values, [[value, -value]], atol=1e-6)


def test_values_of_black_are_those_of_seat_1_and_a_finished_board_has_none() -> None:
    board = MINICHESS.step(MINICHESS.init(), MINICHESS.action_from_string(MINICHESS.init(), "b2b3"))
    mated = MINICHESS.from_string("k3R/5/K4/5/5 b - - 0 1")
    analysis = scripted("a4b3:mate:3").analyse(stacked([mated, board]))
    assert analysis.values is not None
    assert analysis.values.tolist() == [[0, 0], [-1, 1]]
    assert analysis.probabilities[1, MINICHESS.action_from_string(board, "a4b3")] == 1
    assert not analysis.probabilities[0].any()


def test_material_has_no_values_as_engines_do_not_estimate_its_rewards() -> None:
    env = jaxgames.make("minichess(reward=material)")
    analysis = uci.make(env, command("b2b3:cp:50")).analyse(stacked([env.init()]))
    assert analysis.values is None


def test_text_of_the_agent_makes_it_again() -> None:
    assert str(scripted("b2b3")).endswith(", nodes=1000)")
    agent = scripted("b2b3", depth=3, skill=4)
    assert str(agents.make(str(agent), MINICHESS)) == str(agent)
    with_epsilon = agents.make(f"{str(agent)[:-1]}, epsilon=0.5)", MINICHESS)
    assert str(with_epsilon) == f"{str(agent)[:-1]}, epsilon=0.5)"


# -- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        ("uci(command=no-such-engine)", "minichess", "no program 'no-such-engine': install an engine that speaks UCI"),
        ("uci(command='\"engine')", "minichess", "'\"engine' cannot be read: No closing quotation"),
        ("uci(depth=0)", "minichess", "depth .* from 1"),
        ("uci", "checkers", "uci plays minichess"),
        ("uci", "minichess(rules=king_capture)", "uci plays minichess"),
        ("uci", "minichess(promotion=queen)", "uci plays minichess"),
        ("uci", "minichess(double_step=True)", "uci plays minichess"),
    ],
)
def test_wrong_parameters_and_games_are_refused(text: str, game: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        agents.make(text, jaxgames.make(game))


def test_engine_without_the_variant_is_refused() -> None:
    program = "print('option name UCI_Variant type combo default chess var chess', flush=True); print('uciok'); input()"
    with pytest.raises(ParameterError, match="does not play 5 x 5 chess: expected one with the variant 'gardner'"):
        uci.make(MINICHESS, f'"{sys.executable}" -uc "{program}"')


@pytest.mark.skipif(os.name == "nt", reason="a script of a POSIX shell")
@pytest.mark.parametrize(
    ("moves", "fault", "message"),
    [
        ("b2b3,b2b4", "none", r"played 'b2b4' in rnbqk/\S+ w - - 0 1; legal are a2a3, b1a3"),
        ("b2b3", "crash", "ended with status 3; its last line: 'out of memory'"),
        ("b2b3", "silent", r"silent for 0\.3 seconds; expected 'bestmove'"),
    ],
)
def test_fault_is_one_sentence_and_the_engine_or_a_new_one_answers_next_time(
    moves: str, fault: str, message: str, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    """Also if a script has started it, which is the process that is ended first."""
    if fault == "silent":
        monkeypatch.setattr(uci, "MAX_SILENCE", 0.3)
    agent = uci.make(MINICHESS, f"sh -c {shlex.quote(command(moves, fault) + '; exit $?')}")
    first = agent.act(KEY, START).tolist()
    with pytest.raises(EngineError, match=message):
        agent.act(KEY, START)
    if fault == "silent":
        wait_for_end(process_of(log))
    assert agent.act(KEY, START).tolist() == first


# -- what engines write --------------------------------------------------------------------------------------------


def engine(code: str, folder: Path) -> str:
    """Returns the command of an engine that runs `code` for each `line` that it gets; `say` writes bytes."""
    program = f"""
import os, sys, time
def say(*lines): [os.write(1, line + b"\\n") for line in lines]
for line in map(str.strip, sys.stdin):
{textwrap.indent(textwrap.dedent(code), "    ")}"""
    (folder / "an engine, é #1.py").write_text(program, encoding="utf-8")
    return shlex.join([sys.executable, "-S", str(folder / "an engine, é #1.py")])


ODD = r"""
noise = [bytes([byte]) * 3 + b"\xe9" for byte in range(256) if byte != 10]
if line == "uci":
    say(b"\xef\xbb\xbfid name Jos\xe9", *noise, b"option name  uci_VARIANT  type combo default chess var Gardner\r")
    say(b"option name SKILL level type spin default 20 min -20 max 20", *noise, b"uciok\r")
elif line == "isready":
    say(*noise, b"\xef\xbb\xbfreadyok\0")
elif line.startswith("setoption"):
    open(sys.argv[0] + ".log", "a").write(line + ";")
elif line.startswith("go"):
    say(b"info score cp 50 pv b2b3 string Ren\xe9 score cp 900 pv a2a3", *noise)
    say(b"info string score cp 900 pv b2b3", b"info depth 3 string score mate 2 pv b2b3", b"info score cp nan pv b2b3")
    say(b"bestmove b2b3\0\r")
"""


def test_bytes_and_names_of_options_may_be_any(tmp_path: Path) -> None:
    agent = uci.make(MINICHESS, engine(ODD, tmp_path), skill=3)
    action, values = agent.player.search(MINICHESS.init())
    assert MINICHESS.action_to_string(MINICHESS.init(), action) == "b2b3"
    assert values == {action: math.tanh(0.1)}
    (log,) = tmp_path.glob("*.log")
    assert log.read_text() == "setoption name uci_VARIANT value Gardner;setoption name SKILL level value 3;"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("while True: say(b'hello')", r"has not answered 'uciok' in 1,000 lines; its last line: 'hello'"),
        ("while True: os.write(1, b'no end' * 1000)", "has not answered 'uciok' in 1,000 lines"),
        ("while True: say(b'still here'); time.sleep(0.05)", r"has not answered 'uciok' in 2 seconds; .*'still here'"),
        ("say(b'bye'); os.close(1); os.close(2); time.sleep(60)", "has closed its output; its last line: 'bye'"),
    ],
    ids=["lines", "a line without an end", "words without an answer", "closed output"],
)
def test_no_wait_is_without_a_limit(code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine_program, "MAX_LINES", 1000)
    monkeypatch.setattr(uci, "MAX_START", 2.0 if "seconds" in message else 20.0)
    with pytest.raises(EngineError, match=f"^the engine .*#1.py.* {message}"):
        Engine(engine(code, tmp_path))


def test_search_has_a_limit_whatever_the_engine_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
    say({"uci": b"uciok", "isready": b"readyok"}.get(line, b"info depth 1"))
    while line.startswith("go"): say(b"info depth 1"); time.sleep(0.05)
    """
    monkeypatch.setattr(uci, "MAX_SEARCH", 1.0)
    fen = MINICHESS.to_string(MINICHESS.init())
    for limits, silence in (("depth 99", 20.0), ("movetime 10", 1.0)):
        with pytest.raises(EngineError, match=r"not answered 'bestmove' in 1 seconds"):
            Engine(engine(code, tmp_path)).search(fen, limits, silence)


# -- processes -----------------------------------------------------------------------------------------------------


def test_process_ends_with_the_agent(log: Path) -> None:
    agent = scripted("b2b3")
    os.kill(process_of(log), 0)
    del agent
    wait_for_end(process_of(log))


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_process_that_waits_for_a_line_ends_with_a_program_that_is_killed(log: Path) -> None:
    program = (
        "from jaxgames.interop.uci import Engine; import sys; engine = Engine(sys.argv[1]); print(flush=True); input()"
    )
    streams: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program, command("b2b3")], **streams) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.kill()
    wait_for_end(process_of(log))


# -- the real one --------------------------------------------------------------------------------------------------


@real
def test_fairy_stockfish_mates_and_knows_it_and_values_all_moves() -> None:
    agent = agents.make("uci(depth=4, lines=100)", MINICHESS)
    board = MINICHESS.from_string("k4/5/1K3/5/4R w - - 0 1")
    analysis = agents.analyse(agent, stacked([board]))
    assert analysis is not None
    assert analysis.values is not None
    assert analysis.values.tolist() == [[1, -1]]
    assert ((analysis.probabilities[0] > 0) == MINICHESS.legal_action_mask(board)).all()
    assert MINICHESS.action_to_string(board, int(agent.act(KEY, stacked([board]))[0])) == "e1e5"
