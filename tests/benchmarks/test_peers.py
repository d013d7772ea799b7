"""benchmarks.peers measures its sides in turns, and a missing or failing peer spoils no other row."""

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pyspiel
import pytest

import jaxgames
from benchmarks import harness, peer_process, peers
from benchmarks.harness import cores
from benchmarks.peer_process import KINDS, OPEN_SPIEL_CONFIGURATIONS, open_spiel_loop, take_turn
from benchmarks.peers import CONTESTS, PACKAGES, Arguments, Contest, Side, Stopped, Team, measure_peers, missing
from train.driver.machine import stamp

BUFFER: dict[str, Any] = {"kind": "open_spiel", "game": "tic_tac_toe", "configuration": "buffer"}
TINY = Contest(
    "dots_and_boxes(rows=1, cols=1)",
    (
        Side("OpenSpiel, buffer", BUFFER),
        Side("C++ loop", {"kind": "star_loop", "size": 1}),
        Side("nobody", {"kind": "open_spiel", "library": "nobody"}),
    ),
)
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.mark.slow  # one process for each side, each a start of JAX
@needs_compiler
def test_real_sides_are_measured_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Contest("minichess(rules=king_capture)")  # whose boards have a leaf without elements
    monkeypatch.setattr(peers, "CONTESTS", {"tiny": TINY, "alone": alone})
    monkeypatch.setattr(peers, "PACKAGES", PACKAGES | {"nobody": "no_such_package"})
    result = json.loads(
        json.dumps(measure_peers(Arguments(games=("tiny", "alone"), rounds=3, seconds=0.02, boards=(4,))))
    )
    buffer, loop, nobody, alone = result["rows"]
    for row in (buffer, loop):
        ratios = sorted(a / b for a, b in zip(row["ours"]["rounds"], row["theirs"]["rounds"], strict=True))
        rounding = 2 / min(*row["ours"]["rounds"], *row["theirs"]["rounds"])
        assert [row["min"], row["ratio"], row["max"]] == pytest.approx(ratios, rel=rounding)
    tried = {(way["boards"], way["devices"]) for way in buffer["ours"]["tried"]}
    assert tried == {(4 * cores(), number) for number in (1, cores())}
    assert buffer["ours"]["compile_seconds"] > 0
    assert buffer["theirs"]["mask"] in ("list", "array")
    assert "ratio" not in nobody
    assert "jaxgames[dev]" in nobody["missing"]
    assert alone["peer"] is None


class PretendedTeam:
    """Plays at made-up speeds: ours 6, 8 and 10 steps per second, the others 2; some cannot start, or stop."""

    def __init__(self, arguments: dict[str, Any], copies: int) -> None:
        self.game = arguments.get("game", "")
        self.speeds: Iterator[float] = itertools.repeat(2.0)
        if arguments.get("library") == "jaxgames":
            self.speeds = iter([6.0, 8.0, 10.0])
        elif self.game == "stops":
            self.speeds = iter([2.0])
        self.facts = {"compile_seconds": 1.25}

    def __enter__(self) -> "PretendedTeam":
        if self.game in ("chess", "broken"):
            raise Stopped("no such game")
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        pass

    def play(self, seconds: float) -> float:
        speed = next(self.speeds, None)
        if speed is None:
            raise Stopped("a process stopped")
        return speed


def test_failing_side_is_reported_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours cannot start in one game; in the other one peer cannot start, one is missing, one stops in a turn."""
    platforms: list[str] = []
    monkeypatch.setattr(jax.config, "update", lambda _, platform: platforms.append(platform))
    monkeypatch.setattr(peers, "Team", PretendedTeam)
    monkeypatch.setattr(peers, "PACKAGES", PACKAGES | {"nobody": "no_such_package"})
    sides = [Side(name, BUFFER | {"game": name}) for name in ("broken", "stops", "well")]
    theirs = Contest(TINY.game, (*sides, TINY.peers[2]))
    monkeypatch.setattr(peers, "CONTESTS", {"ours": Contest("chess"), "theirs": theirs})
    file = tmp_path / "peers.json"
    monkeypatch.setattr("sys.argv", ["peers", "--games", "ours", "theirs", "--rounds", "3", "--output", str(file)])
    with pytest.raises(SystemExit, match=r"failed: chess, jaxgames; .*, broken; .*, stops$"):
        harness.run(*peers.COMMANDS)
    assert platforms == ["cpu"]
    result = json.loads(file.read_text())
    keys = {"cores_used", "seconds_per_turn", "open_spiel_configurations", "peers", "rows"}
    assert result.keys() == keys | stamp().keys()
    _, broken, stops, well, nobody = result["rows"]
    assert [row.get("error") for row in (broken, stops, well)] == ["no such game", "a process stopped", None]
    assert "jaxgames[dev]" in nobody["missing"]
    assert not any("ratio" in row for row in (broken, stops, nobody))
    assert well["ours"] == {"steps_per_second": 8, "rounds": [6, 8, 10], "compile_seconds": 1.25}
    assert (well["min"], well["ratio"], well["max"]) == (3, 4, 5)
    printed = capsys.readouterr()
    assert all(f"{name}: " in printed.err for name in ("broken", "stops"))
    assert "| 8 | well | 2 | 4 (3-5) |" in printed.err
    assert json.loads(printed.out) == result


@pytest.mark.slow  # compiles whole games twice
@needs_compiler
def test_hand_written_loop_plays_the_same_game(tmp_path: Path) -> None:
    """The mean number of legal actions in random play, over some 6,000 games of each."""
    binary = peer_process.compiled_star_loop(tmp_path)
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
    assert take_turn(lambda: 7, 3.0) == pytest.approx(7.0)


def test_contests_name_existing_games_kinds_and_configurations() -> None:
    for contest in CONTESTS.values():
        jaxgames.make(contest.game)
        for peer in contest.peers:
            assert peer.arguments["kind"] in KINDS
            assert peer.arguments.get("configuration", "methods") in OPEN_SPIEL_CONFIGURATIONS
            assert peer.arguments["kind"] == "star_loop" or missing(peer) is None


def test_team_has_stopped_when_one_of_its_processes_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    compiler = tmp_path / "g++"  # makes a loop that answers once and ends
    compiler.write_text('#!/bin/sh\nprintf "#!/bin/sh\\nread line\\necho 1000 2.5\\n" > $4\nchmod +x $4\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(Stopped, match="a process stopped with exit status 1"), Team({"kind": "chess"}, 1):
        pass
    assert "kind must be one of jax, open_spiel, star_loop, adapter, not 'chess'" in capfd.readouterr().err
    with Team({"kind": "star_loop", "size": 1}, 2) as team:
        assert team.play(0.02) == 2000
        for _ in range(2):  # it ends in this turn; in the next turn it has ended
            with pytest.raises(Stopped, match="a process stopped with exit status 1"):
                team.play(0.02)


def test_loop_that_does_not_compile_has_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\nexit 3\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ValueError, match=r"g\+\+ stopped with exit status 3"):
        peer_process.compiled_star_loop(tmp_path)
    assert peers.compiler_version() is None
