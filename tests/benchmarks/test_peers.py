"""Sides are measured in turns in processes of their own, and a peer that is missing spoils no other row."""

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
from benchmarks.contestant import ASKING, KINDS, LEAST, clocked, jax_loop, open_spiel_loop, pgx_env

import jaxgames
from benchmarks import contestant, peers
from benchmarks.peers import CONTESTS, PACKAGES, Arguments, Contest, Peer, Stopped, Team, lacking, markdown, measure
from benchmarks.throughput import cores

TINY = Contest(
    "dots_and_boxes(rows=1, cols=1)",
    (
        Peer("OpenSpiel, buffer", {"kind": "open_spiel", "game": "tic_tac_toe", "asking": "buffer"}, 10),
        Peer("C++ loop", {"kind": "star_loop", "size": 1}),
        Peer("nobody", {"kind": "nobody"}, 2),
    ),
)
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@needs_compiler
def test_a_run_gives_a_row_a_peer_and_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = Contest("minichess(rules=king_capture)")  # whose boards have a leaf without elements
    monkeypatch.setattr(peers, "CONTESTS", {"tiny": TINY, "alone": alone})
    monkeypatch.setattr(peers, "PACKAGES", PACKAGES | {"nobody": "no_such_package"})
    file = tmp_path / "new" / "peers.json"
    words = ["--games", "tiny", "alone", "--seconds", "0.02", "--rounds", "3", "--boards", "4", "--output", str(file)]
    monkeypatch.setattr("sys.argv", ["peers", *words])
    peers.main()
    result = json.loads(file.read_text())
    buffer, loop, nobody, alone = result["rows"]
    for row in (buffer, loop):
        assert row["least"] <= row["ratio"] <= row["most"]
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
    assert markdown(result) in table


@needs_compiler
def test_the_hand_written_loop_plays_the_same_game(tmp_path: Path) -> None:
    """The mean number of legal actions in random play, over some 6,000 games of each."""
    binary = peers.compiled_loop(tmp_path)
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
def test_an_open_spiel_loop_plays_on_over_the_ends_of_games(ways: tuple[bool, bool, bool, bool]) -> None:
    work = open_spiel_loop(pyspiel.load_game("tic_tac_toe"), *ways)
    assert work() + work() == 2000


def test_a_turn_is_clocked_over_all_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count()  # a second a look at the clock
    monkeypatch.setattr(contestant.time, "perf_counter", lambda: float(next(now)))
    assert clocked(lambda: 7)(3.0) == pytest.approx(7.0)


@pytest.mark.parametrize(("library", "game"), [("jaxgames", "dots_and_boxes"), ("pgx", "tic_tac_toe")])
def test_new_memory_counts_for_no_library(library: str, game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: dict[int, int] = {}

    def rollout(_: Any, batch: int, length: int, devices: int) -> Any:
        lengths[batch] = length
        return lambda: batch * length * devices

    monkeypatch.setattr(contestant, "rollout", rollout)
    monkeypatch.setattr(contestant, "compile_time", lambda *_: 0.0)
    monkeypatch.setattr(jax.config, "update", lambda *_: None)  # of this process
    jax_loop(library, game, [1, 256, 4096], [1], 8_192, 0.0)
    assert lengths == {1: 1000, 256: LEAST, 4096: LEAST}


def test_pgx_is_asked_for_what_ours_is() -> None:
    """Its mask and observation are those of the state that its step returns, and finished boards start anew."""
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


def test_the_contests_are_of_games_and_kinds_that_there_are() -> None:
    for contest in CONTESTS.values():
        jaxgames.make(contest.game)
        for peer in contest.peers:
            assert peer.words["kind"] in KINDS
            assert peer.words.get("asking", "methods") in ASKING
            assert peer.words["kind"] == "star_loop" or lacking(peer) is None


@needs_compiler
def test_a_side_that_fails_is_reported_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours cannot begin; of the peers one cannot begin, one is not compiled, one dies in its second turn."""
    built = iter([None, one_turn(tmp_path)])

    def compiled_loop(_: Path) -> Path:
        binary = next(built)
        if binary is None:
            raise Stopped("g++ stopped")
        return binary

    monkeypatch.setattr(peers, "compiled_loop", compiled_loop)
    broken = Peer("broken", {"kind": "open_spiel", "game": "no such game", "asking": "legal"})
    loops = [Peer(name, {"kind": "star_loop", "size": 1}) for name in ("uncompiled", "dying")]
    ours, theirs = Contest("chess"), Contest(TINY.game, (broken, *loops, TINY.peers[0]))
    monkeypatch.setattr(peers, "CONTESTS", {"ours": ours, "theirs": theirs})
    file = tmp_path / "peers.json"
    words = ["--games", "ours", "theirs", "--seconds", "0.02", "--rounds", "3", "--boards", "4", "--output", str(file)]
    monkeypatch.setattr("sys.argv", ["peers", *words])
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
    assert len(well["ours"]["rounds"]) == len(well["theirs"]["rounds"]) == 3


def one_turn(folder: Path) -> Path:
    """What answers like the compiled loop, and ends after its first answer."""
    binary = folder / "one_turn"
    binary.write_text("#!/bin/sh\nread line\necho 1000 2.5\n")
    binary.chmod(0o755)
    return binary


def test_a_team_with_a_process_that_has_ended_has_stopped(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match="a side stopped with exit status 1"), Team({"kind": "chess"}, 1):
        pass
    with Team({"kind": "star_loop", "binary": str(one_turn(tmp_path)), "size": 1}, 2) as team:
        assert team.play(0.02) == 2000
        for _ in range(2):  # it ends while it is asked, and is asked when it has ended
            with pytest.raises(Stopped, match="a side stopped with exit status 1"):
                team.play(0.02)


def test_a_loop_that_is_not_compiled_has_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\nexit 3\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(Stopped, match=r"g\+\+ stopped with exit status 3"):
        peers.compiled_loop(tmp_path)
    assert peers.compiler_version() is None


def test_the_device_named_is_the_one_that_the_sides_run_on() -> None:
    command = [sys.executable, "-m", "benchmarks.peers", "--games"]
    environment = os.environ | {"JAX_PLATFORMS": "no_such_device"}
    done = subprocess.run(command, cwd=peers.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [2, 3, 24])
def test_every_device_gets_as_many_boards(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "cores", lambda: number)
    for library, least in (("jaxgames", 128 * number), ("pgx", 256)):
        words = peers.completed(Peer("", {"kind": "jax", "library": library}), Arguments(), tmp_path)
        assert words["devices"] == [1, number]
        assert all(boards % number == 0 for boards in words["boards"])
        assert 0 <= words["boards"][0] - least < number


def test_a_contestant_of_no_kind_is_told_the_kinds() -> None:
    command = [sys.executable, "-m", "benchmarks.contestant", '{"kind": "chess"}']
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
def test_bad_input_is_refused_with_what_is_allowed(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(arguments)
