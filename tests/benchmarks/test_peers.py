"""benchmarks.peers measures its sides in turns, and a missing or failing peer spoils no other row."""

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pyspiel
import pytest

import jaxgames
from benchmarks import harness, peer_process, peers, random_play
from benchmarks.harness import cores
from benchmarks.peer_process import (
    KINDS,
    OPEN_SPIEL_CONFIGURATIONS,
    jax_side,
    open_spiel_loop,
    pgx_env,
    play_repeatedly,
)
from benchmarks.peers import (
    CONTESTS,
    PACKAGES,
    Arguments,
    Contest,
    Side,
    Stopped,
    Team,
    measure_peers,
    missing,
    peers_table,
)
from benchmarks.random_play import MIN_STEPS_PER_CALL

BUFFER: dict[str, Any] = {"kind": "open_spiel", "game": "tic_tac_toe", "configuration": "buffer"}
TINY = Contest(
    "dots_and_boxes(rows=1, cols=1)",
    (
        Side("OpenSpiel, buffer", BUFFER, 10),
        Side("C++ loop", {"kind": "star_loop", "size": 1}),
        Side("nobody", {"kind": "nobody"}, 2),
    ),
)
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def stored(processor: str, ratios: dict[tuple[str, str], float]) -> dict[str, Any]:
    """A result of `benchmarks.peers` with these ratios by game and peer."""
    ours, theirs = {"steps_per_second": 3000, "compile_seconds": 1.25}, {"steps_per_second": 1000}
    rows = [
        {"game": game, "peer": peer, "ours": ours, "theirs": theirs, "ratio": ratio, "min": 1.5, "max": 30.25}
        for (game, peer), ratio in ratios.items()
    ]
    versions: dict[str, Any] = {"peers": {"pgx": "2.6.0", "open_spiel": None, "g++": "12.2.0"}}
    versions |= {"jax": "0.10.2", "python": "3.11.7"}
    return {"command": "peers", "date": "2026-11-21", "cores_used": 2, "processor": processor, **versions, "rows": rows}


@pytest.mark.slow  # one process for each side, each a start of JAX
@needs_compiler
def test_run_gives_a_row_per_peer_and_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = Contest("minichess(rules=king_capture)")  # whose boards have a leaf without elements
    monkeypatch.setattr(peers, "CONTESTS", {"tiny": TINY, "alone": alone})
    monkeypatch.setattr(peers, "PACKAGES", PACKAGES | {"nobody": "no_such_package"})
    file = tmp_path / "new" / "peers.json"
    options = ["--games", "tiny", "alone", "--seconds", "0.02", "--rounds", "3", "--boards", "4", "--output", str(file)]
    monkeypatch.setattr("sys.argv", ["peers", *options])
    peers.main()
    result = json.loads(file.read_text())
    buffer, loop, nobody, alone = result["rows"]
    for row in (buffer, loop):
        assert row["min"] <= row["ratio"] <= row["max"]
        assert len(row["ours"]["rounds"]) == len(row["theirs"]["rounds"]) == 3
        ratios = sorted(a / b for a, b in zip(row["ours"]["rounds"], row["theirs"]["rounds"], strict=True))
        rounding = 2 / min(*row["ours"]["rounds"], *row["theirs"]["rounds"])
        assert row["ratio"] == pytest.approx(ratios[1], rel=rounding)
    assert {(way["boards"], way["devices"]) for way in buffer["ours"]["tried"]} == {
        (4 * cores(), number) for number in (1, cores())
    }
    assert buffer["ours"]["compile_seconds"] > 0
    assert buffer["theirs"]["mask"] in ("list", "array")
    assert "ratio" not in nobody
    assert "jaxgames[dev]" in nobody["missing"]
    assert alone["peer"] is None
    assert {"date", "jax", "processor", "cores_used", "command"} <= result.keys()
    table = capsys.readouterr().out
    assert table.startswith(f"`{result['command']}`, {result['date']}")
    assert [line.count("|") for line in table.splitlines() if line.startswith("|")] == [8] * 6
    assert peers_table(result) in table


@pytest.mark.slow  # compiles whole games twice
@needs_compiler
def test_hand_written_loop_plays_the_same_game(tmp_path: Path) -> None:
    """The mean number of legal actions in random play, over some 6,000 games of each."""
    binary = peers.compiled_star_loop(tmp_path)
    asked = "200000 steps\n0.01 seconds\n"
    done = subprocess.run([binary, "1"], input=asked, check=True, capture_output=True, text=True)
    (speed, theirs), (clocked_speed, _) = (map(float, line.split()) for line in done.stdout.splitlines())
    assert min(speed, clocked_speed) > 0

    env = jaxgames.auto_reset(jaxgames.make("chinese_checkers", size=1, num_players=6, max_rounds=200))

    @jax.jit
    def mean(key: jax.Array) -> jax.Array:
        def body(boards: Any, key: jax.Array) -> Any:
            mask = jax.vmap(env.legal_action_mask)(boards)
            action = jax.vmap(jaxgames.random_action)(jax.random.split(key, 64), mask)
            return jax.vmap(env.step)(boards, action), mask.sum()

        boards = jax.vmap(env.init)(jax.random.split(key, 64))
        return jax.lax.scan(body, boards, jax.random.split(key, 3000))[1].mean() / 64

    assert theirs == pytest.approx(float(mean(jax.random.key(0))), rel=0.01)
    for size, line in (("9", ""), ("1", "1 hour\n")):
        refused = subprocess.run([binary, size], input=line, capture_output=True, text=True)
        assert refused.returncode == 2
        assert "a size from 1 to 8" in refused.stderr


@pytest.mark.parametrize("ways", list(itertools.product((False, True), repeat=4)))
def test_open_spiel_loop_starts_new_games_where_games_end(ways: tuple[bool, bool, bool, bool]) -> None:
    work = open_spiel_loop(pyspiel.load_game("tic_tac_toe"), *ways)
    assert work() + work() == 2000


def test_turn_is_timed_over_all_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count()  # one second per look at the clock
    monkeypatch.setattr(peer_process.time, "perf_counter", lambda: float(next(now)))
    assert play_repeatedly(lambda: 7)(3.0) == pytest.approx(7.0)


@pytest.mark.parametrize(("library", "game"), [("jaxgames", "dots_and_boxes"), ("pgx", "tic_tac_toe")])
def test_calls_are_long_enough_for_every_library(library: str, game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: dict[int, int] = {}

    def rollout(_: Any, batch: int, length: int, devices: int) -> Any:
        lengths[batch] = length
        return lambda: batch * length * devices

    monkeypatch.setattr(random_play, "rollout", rollout)
    monkeypatch.setattr(peer_process, "compile_time", lambda *_: 0.0)
    monkeypatch.setattr(jax.config, "update", lambda *_: None)  # of this process
    jax_side(library, game, [1, 256, 4096], [1], 8_192, 0.0)
    assert lengths == {1: 1000, 256: MIN_STEPS_PER_CALL, 4096: MIN_STEPS_PER_CALL}


def test_pgx_env_has_the_functions_of_ours() -> None:
    """Mask and observation are those of the state that the step returns, and finished boards restart."""
    bare, playing = pgx_env("tic_tac_toe")
    state = jax.jit(bare.init)(jax.random.key(0))
    step, rng = jax.jit(playing.step), random.Random(0)
    ends = 0
    for number in range(30):
        mask = playing.legal_action_mask(state)
        assert mask.shape == (9,)
        assert bare.observe(state).shape == (3, 3, 2)
        action = rng.choice(jnp.flatnonzero(mask).tolist())
        state = step(state, jnp.int32(action), jax.random.key(number))
        if state.terminated:
            ends += 1
            assert playing.legal_action_mask(state).all()
    assert ends >= 3


def test_contests_name_existing_games_kinds_and_configurations() -> None:
    for contest in CONTESTS.values():
        jaxgames.make(contest.game)
        for peer in contest.peers:
            assert peer.arguments["kind"] in KINDS
            assert peer.arguments.get("configuration", "methods") in OPEN_SPIEL_CONFIGURATIONS
            assert peer.arguments["kind"] == "star_loop" or missing(peer) is None


def test_tables_of_stored_results_stand_above_their_ratios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = stored("Xeon", {("minichess", "Pgx"): 93.51, ("checkers", "OpenSpiel"): 22.1})
    second = stored("EPYC", {("minichess", "Pgx"): 76.9})
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    for file, result in zip(files, (first, second), strict=True):
        file.write_text(json.dumps(result))
    monkeypatch.setattr("sys.argv", ["peers", "--table", *map(str, files)])
    peers.main()
    table = capsys.readouterr().out
    assert table.startswith("`peers`, 2026-11-21, 2 cores of Xeon, JAX 0.10.2, Pgx 2.6.0, g++ 12.2.0, Python 3.11.7:")
    assert "| `minichess` | 3,000 | Pgx | 1,000 | 93.5 (1.5-30.2) |  | 1.2 s |" in table
    assert table.endswith(
        "| game | peer | Xeon, 2026-11-21 | EPYC, 2026-11-21 |\n| --- | --- | --- | --- |\n"
        "| `minichess` | Pgx | 93.5 | 76.9 |\n| `checkers` | OpenSpiel | 22.1 |  |\n"
    )


@pytest.mark.slow  # processes of its own
@needs_compiler
def test_failing_side_is_reported_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours cannot start; of the peers one cannot start, one is not compiled, and one dies in its second turn."""
    built = iter([None, one_turn(tmp_path)])

    def compiled_star_loop(_: Path) -> Path:
        binary = next(built)
        if binary is None:
            raise Stopped("g++ stopped")
        return binary

    monkeypatch.setattr(peers, "compiled_star_loop", compiled_star_loop)
    broken = Side("broken", BUFFER | {"game": "no such game"})
    loops = [Side(name, {"kind": "star_loop", "size": 1}) for name in ("uncompiled", "dying")]
    ours, theirs = Contest("chess"), Contest(TINY.game, (broken, *loops, TINY.peers[0]))
    monkeypatch.setattr(peers, "CONTESTS", {"ours": ours, "theirs": theirs})
    file = tmp_path / "peers.json"
    options = [
        "--games",
        "ours",
        "theirs",
        "--seconds",
        "0.02",
        "--rounds",
        "3",
        "--boards",
        "4",
        "--output",
        str(file),
    ]
    monkeypatch.setattr("sys.argv", ["peers", *options])
    with pytest.raises(SystemExit, match=r"failed: ours, .* against broken, .* against uncompiled, .* against dying$"):
        peers.main()
    *failures, well = json.loads(file.read_text())["rows"]
    shown = capsys.readouterr()
    for row, name in zip(failures, ("broken", "uncompiled", "dying"), strict=True):
        assert row["missing"] == "failed"
        assert "ratio" not in row
        assert f"| {name} | failed |" in shown.out
        assert f"{name}: " in shown.err
    assert well["missing"] is None
    assert well["min"] <= well["ratio"] <= well["max"]
    assert len(well["ours"]["rounds"]) == len(well["theirs"]["rounds"]) == 3


def one_turn(folder: Path) -> Path:
    """A program that answers like the compiled loop and ends after its first answer."""
    binary = folder / "one_turn"
    binary.write_text("#!/bin/sh\nread line\necho 1000 2.5\n")
    binary.chmod(0o755)
    return binary


def test_team_has_stopped_when_one_of_its_processes_has_ended(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match="a process stopped with exit status 1"), Team({"kind": "chess"}, 1):
        pass
    with Team({"kind": "star_loop", "binary": str(one_turn(tmp_path)), "size": 1}, 2) as team:
        assert team.play(0.02) == 2000
        for _ in range(2):  # it ends in this turn; in the next turn it has ended
            with pytest.raises(Stopped, match="a process stopped with exit status 1"):
                team.play(0.02)


def test_loop_that_does_not_compile_has_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\nexit 3\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(Stopped, match=r"g\+\+ stopped with exit status 3"):
        peers.compiled_star_loop(tmp_path)
    assert peers.compiler_version() is None


def test_stamp_names_the_device_of_the_sides() -> None:
    command = [sys.executable, "-m", "benchmarks.peers", "--games"]
    environment = os.environ | {"JAX_PLATFORMS": "no_such_device"}
    done = subprocess.run(command, cwd=peers.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [2, 3, 24])
def test_every_device_gets_equally_many_boards(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "cores", lambda: number)
    for library, least in (("jaxgames", 128 * number), ("pgx", 256)):
        side = Side("", {"kind": "jax", "library": library})
        arguments = peers.process_arguments(side, Arguments(), tmp_path)
        assert arguments["devices"] == [1, number]
        assert all(boards % number == 0 for boards in arguments["boards"])
        assert 0 <= arguments["boards"][0] - least < number


def test_unknown_kind_of_side_is_refused_with_the_kinds() -> None:
    command = [sys.executable, "-m", "benchmarks.peer_process", '{"kind": "chess"}']
    done = subprocess.run(command, cwd=peers.ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "kind must be one of jax, open_spiel, star_loop, not 'chess'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (Arguments(games=("chess",)), "games must be among minichess, .*not chess"),
        (Arguments(rounds=0), "must be positive"),
        (Arguments(seconds=0.0), "must be positive"),
        (Arguments(boards=(0,)), "must be positive"),
        (Arguments(pgx_boards=(0,)), "must be positive"),
    ],
)
def test_bad_input_is_refused_with_the_allowed_values(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure_peers(arguments)
