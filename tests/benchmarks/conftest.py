"""Commands are tested twice: with programs that are only traced, and, in `make test-all`, with timed programs."""

import importlib
import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import jax
import pytest

from benchmarks import harness, loops, solvers
from benchmarks.harness import Compiled, Timed, Timing, Turns
from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.search import SEARCHED_GAME
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer

RunCommand = Callable[[str], dict[str, Any]]
TRACED = Timing(steps_per_second=1000.0, spread=0.0, compile_seconds=1.0, memory_bytes=1 << 20)


@pytest.fixture
def run_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs a command line without its `python -m benchmarks.`, and returns the JSON that it prints."""

    def run(line: str) -> dict[str, Any]:
        name, *words = shlex.split(line)
        monkeypatch.setattr("sys.argv", [name, *words])
        harness.run(*importlib.import_module(f"benchmarks.{name}").COMMANDS)
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    return run


@pytest.fixture(params=["traced", pytest.param("timed", marks=pytest.mark.slow)])
def programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """ "traced": programs are traced with the shapes of their arguments, but neither compiled nor run."""
    if request.param == "traced":
        monkeypatch.setattr(harness, "compile_program", trace_program)
        monkeypatch.setattr(harness, "time_compiled", time_nothing)
        monkeypatch.setattr(loops, "rollout", trace_rollout)
    return request.param


@pytest.fixture
def plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """No solver is compiled, nor the one that plays the games of checkers."""

    def make_player(env: Checkers, depth: int) -> HostSearchPlayer:
        return HostSearchPlayer(SEARCHED_GAME, env, depth, None, "positional", compiled=False)

    monkeypatch.setattr(solvers, "HAS_NUMBA", False)
    monkeypatch.setattr(solvers, "make_player", make_player)


def blank_positions(playing: Any, boards: int) -> Any:
    """Boards of `benchmarks.search`, as shapes."""
    return jax.eval_shape(jax.vmap(playing.init), jax.random.split(jax.random.key(0), boards))


def trace_program(timed: Timed) -> Compiled:
    jax.eval_shape(timed.program, jax.random.key(0), *timed.arguments)
    return Compiled(None, timed, TRACED.compile_seconds)


def time_nothing(programs: Sequence[Compiled], rounds: int) -> list[Turns]:
    assert min(rounds, *(each.timed.steps for each in programs)) > 0
    return [Turns(TRACED, [TRACED.steps_per_second] * rounds) for _ in programs]


def trace_rollout(playing: Any, batch: int, length: int, devices: int = 1) -> Callable[[], int]:
    keys = jax.random.split(jax.random.key(0), batch)
    program = loops.play_loop(playing, batch, length)
    jax.eval_shape(program, keys[0], jax.eval_shape(jax.vmap(playing.init), keys), None)

    def play() -> int:
        sum(range(1000))  # takes a measurable time
        return batch * length

    return play
