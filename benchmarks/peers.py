"""Random play of this project beside Pgx, OpenSpiel and a hand-written C++ loop, in one run on all cores of a machine.

    python -m benchmarks.peers

Needs `pip install "jaxgames[dev]"` and g++. Where a peer is missing or fails, its row says so, and the other rows are
measured all the same.

Every side plays uniformly random legal actions. At every step it writes out the legal mask and the mover's observation,
and it starts a new game where one ends. Each side is measured at its fastest (`benchmarks/peer_process.py`): a loop in
JAX with the best of several batch sizes, on one device or on one virtual device per core; OpenSpiel and the C++ loop
with one process per core.

In the comparisons "outputs" and "states" our side also stores every step, as a learner's rollout does: the mask and the
observation, or the board that gives them again. It runs on one device. New memory then costs more than the game unless
the C library asks for large pages: set GLIBC_TUNABLES=glibc.malloc.hugetlb=1 (glibc 2.35 or newer).

The sides take turns, ours first. A turn lasts a number of seconds, or one call where that takes longer: whatever slows
the machine for a while slows both. A ratio is the median over the rounds, with the smallest and the largest beside it;
below 1 the peer is faster. Compile time is measured for a batched, jitted step with mask and observation at 1,024
boards, without restarts and without any cache.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from benchmarks import harness
from benchmarks.harness import Command
from benchmarks.peer_process import OPEN_SPIEL_CONFIGURATIONS
from train.driver.machine import stamp

ROOT = Path(__file__).parents[1]
PACKAGES = {"pgx": "pgx", "open_spiel": "pyspiel"}  # distribution and module, by the kind or library of a side


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    name: str
    arguments: dict[str, Any]  # of benchmarks.peer_process
    target: float | None = None  # for a peer: the ratio that ours is meant to reach


@dataclass(frozen=True)
class Contest:
    """A game of this project and the peers that play the same or a similar game."""

    game: str
    peers: tuple[Side, ...] = ()
    stored: str | None = None  # of benchmarks.loops.STORED: what ours keeps of every step, on one device


def pgx(target: float) -> Side:
    """Pgx's minichess, the only game of Pgx that this project has too."""
    return Side("Pgx `gardner_chess`", {"kind": "jax", "library": "pgx", "game": "gardner_chess"}, target)


def open_spiel(game: str) -> tuple[Side, ...]:
    """A game of OpenSpiel, once per configuration of its loop."""
    targets = {"methods": 10.0}
    return tuple(
        Side(f"OpenSpiel, {name}", {"kind": "open_spiel", "game": game, "configuration": name}, targets.get(name))
        for name in OPEN_SPIEL_CONFIGURATIONS
    )


def star_loop(size: int) -> Side:
    return Side("C++ loop", {"kind": "star_loop", "size": size}, 0.5)


STAR_2, STAR_4 = (f"chinese_checkers(size={size}, num_players=6, max_rounds=200)" for size in (2, 4))
CONTESTS = {
    "minichess": Contest("minichess", (pgx(target=15),)),
    "king_capture": Contest("minichess(rules=king_capture)", (pgx(target=40),)),
    "dots_and_boxes": Contest("dots_and_boxes", open_spiel("dots_and_boxes(num_rows=5,num_cols=5)")),
    "checkers": Contest("checkers(draw_rule=openspiel)", open_spiel("checkers")),
    "star_4": Contest(  # at most 200 rounds of six turns, as the peers play it
        STAR_4,
        (*open_spiel("chinese_checkers(players=6,max_moves=1200)"), star_loop(4)),
    ),
    "star_2": Contest(STAR_2, (star_loop(2),)),
    "diamond": Contest("chinese_checkers_diamond"),
    "star_4_outputs": Contest(STAR_4, (star_loop(4),), "outputs"),
    "star_4_states": Contest(STAR_4, (star_loop(4),), "states"),
    "star_2_outputs": Contest(STAR_2, (star_loop(2),), "outputs"),
    "star_2_states": Contest(STAR_2, (star_loop(2),), "states"),
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = tuple(CONTESTS)
    """Comparisons to make, among: minichess, king_capture, dots_and_boxes, checkers, star_4, star_2, diamond, and
    star_4_outputs, star_4_states, star_2_outputs, star_2_states, in which ours stores every step."""
    rounds: int = 5
    seconds: float = 1.5
    """Length of a side's turn."""
    boards: tuple[int, ...] = (128, 1024, 4096)
    """Batch sizes to try for ours, on each device."""
    pgx_boards: tuple[int, ...] = (256, 2048)
    """Batch sizes to try for Pgx, over all devices, each rounded up to a multiple of the cores."""


def measure_peers(arguments: Arguments) -> dict[str, Any]:
    """Measures all rows of the table."""
    jax.config.update("jax_platforms", "cpu")  # the platform of the sides, so that the stamp names it
    harness.check_among("games", arguments.games, CONTESTS)
    harness.check_positive(arguments, "rounds", "seconds", "boards", "pgx_boards")
    contests = {name: CONTESTS[name] for name in arguments.games}
    progress = harness.Progress(
        sum(1 + sum(missing(peer) is None for peer in contest.peers) for contest in contests.values()), "side"
    )
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, contest in contests.items():
            try:
                rows += compare(contest, arguments, Path(folder), progress)
            except Stopped as error:
                harness.log(f"{name}: {error}")
                failed.append(name)
    failed += [f"{row['game']} against {row['peer']}" for row in rows if row.get("missing") == "failed"]
    harness.log(harness.table(TABLE, map(with_texts, rows)))
    return {
        "cores_used": harness.cores(),
        "seconds_per_turn": arguments.seconds,
        "open_spiel_configurations": OPEN_SPIEL_CONFIGURATIONS,
        "peers": {name: harness.package_version(name) for name in PACKAGES} | {"g++": compiler_version()},
        **stamp(),
        "rows": rows,
        "failed": failed,
    }


def compare(contest: Contest, arguments: Arguments, folder: Path, progress: harness.Progress) -> list[dict[str, Any]]:
    """Returns the rows of one game, one per peer; without peers, one row for ours."""
    arguments_of_ours = {"kind": "jax", "library": "jaxgames", "game": contest.game, "stored": contest.stored}
    ours = Side("jaxgames", arguments_of_ours)
    absent = {peer.name: missing(peer) for peer in contest.peers}
    sides = [ours, *(peer for peer in contest.peers if absent[peer.name] is None)]

    def fail(name: str, error: Stopped) -> None:
        if name == ours.name:
            raise error
        harness.log(f"{contest.game}: {name}: {error}")
        absent[name] = "failed"

    with contextlib.ExitStack() as stack:
        teams: dict[str, Team] = {}
        for side in sides:
            try:
                copies = 1 if side.arguments["kind"] == "jax" else harness.cores()
                teams[side.name] = stack.enter_context(Team(process_arguments(side, arguments, folder), copies))
            except Stopped as error:
                fail(side.name, error)
            progress.finish(f"{contest.game}: {side.name}")
        speeds: dict[str, list[float]] = {name: [] for name in teams}
        harness.log(f"{contest.game}: {arguments.rounds} rounds")
        for _ in range(arguments.rounds):
            for name, team in teams.items():
                if absent.get(name) is None:
                    try:
                        speeds[name].append(team.play(arguments.seconds))
                    except Stopped as error:
                        team.end()
                        fail(name, error)
    row = {
        "game": contest.game,
        "stored": contest.stored,
        "ours": side_result(teams[ours.name].facts, speeds[ours.name]),
    }
    rows: list[dict[str, Any]] = []
    for peer in contest.peers:
        entry: dict[str, Any] = {"peer": peer.name, "target": peer.target, "missing": absent[peer.name]}
        if absent[peer.name] is None:
            ratios = [a / b for a, b in zip(speeds[ours.name], speeds[peer.name], strict=True)]
            entry["theirs"] = side_result(teams[peer.name].facts, speeds[peer.name])
            entry |= {"ratio": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}
        rows.append(row | entry)
    return rows or [row | {"peer": None}]


def side_result(facts: dict[str, Any], speeds: list[float]) -> dict[str, Any]:
    """The entry of one side in the JSON: its speeds in steps per second, and the facts of its process."""
    return {"steps_per_second": round(statistics.median(speeds)), "rounds": [round(speed) for speed in speeds], **facts}


# -- the processes of a side ------------------------------------------------------------------------------


class Stopped(RuntimeError):
    """Raised where a process of a side has ended by itself, or could not be built."""


class Team:
    """The processes of one side, as many as it needs to use all cores; they play at the same time."""

    def __init__(self, arguments: dict[str, Any], copies: int) -> None:
        command = [sys.executable, "-m", "benchmarks.peer_process", json.dumps(arguments)]
        environment = os.environ | {"JAX_PLATFORMS": "cpu"}
        self.processes = [
            subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(copies)
        ]
        self.facts: dict[str, Any] = {}

    def __enter__(self) -> "Team":
        try:
            self.facts = [read_answer(process) for process in self.processes][-1]  # ready when all are
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()

    def play(self, seconds: float) -> float:
        """Steps per second over all processes."""
        for process in self.processes:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended: read_answer raises
                print(seconds, file=process.stdin, flush=True)
        return sum(read_answer(process) for process in self.processes)


def read_answer(process: subprocess.Popen[str]) -> Any:
    """The next line of JSON that a process prints. Raises Stopped where the process has ended."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.endswith("\n"):
        raise Stopped(f"a process stopped with exit status {process.wait()}; its message is above")
    return json.loads(line)


def process_arguments(side: Side, arguments: Arguments, folder: Path) -> dict[str, Any]:
    completed = dict(side.arguments)
    if completed["kind"] == "star_loop":
        return completed | {"binary": str(compiled_star_loop(folder))}
    completed["tuning_seconds"] = arguments.seconds / 5
    if completed["kind"] == "jax":
        ours = completed["library"] == "jaxgames"
        completed["devices"] = [1] if completed.get("stored") else sorted({1, harness.cores()})
        shares = arguments.boards if ours else (-(-n // harness.cores()) for n in arguments.pgx_boards)  # of one device
        completed["boards"] = [n * harness.cores() for n in dict.fromkeys(shares)]
        completed["steps"] = 200_000 if ours else 8_192
    return completed


def compiled_star_loop(folder: Path) -> Path:
    """The C++ loop, compiled for this machine, once per folder."""
    binary = folder / "star_loop"
    if not binary.exists():
        source = Path(__file__).with_name("star_loop.cpp")
        done = subprocess.run(["g++", "-O3", "-march=native", "-o", binary, source])
        if done.returncode != 0:
            raise Stopped(f"g++ stopped with exit status {done.returncode}; its message is above")
    return binary


def missing(peer: Side) -> str | None:
    """Returns the command that installs this peer; None if it is installed."""
    if peer.arguments["kind"] == "star_loop":
        return None if shutil.which("g++") else "install g++"
    package = PACKAGES[peer.arguments.get("library", peer.arguments["kind"])]
    return None if importlib.util.find_spec(package) else 'pip install "jaxgames[dev]"'


def compiler_version() -> str | None:
    if shutil.which("g++") is None:
        return None
    return subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip() or None


# -- tables -----------------------------------------------------------------------------------------------


TABLE = {
    "game": "`{game}`",
    "stored": "{stored}",
    "ours, steps/s": "{ours[steps_per_second]:,}",
    "peer": "{peer}",
    "peer, steps/s": "{speed}",
    "ratio (min-max)": "{ratio:.3g} ({min:.3g}-{max:.3g})",
    "target": "{target:g}",
    "compiled in, ours / peer": "{compiled}",
}


def with_texts(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with the speed of the peer, or why it is missing, and the compile times of both as texts."""
    sides = [row["ours"], row.get("theirs", {})]
    speed = f"{row['theirs']['steps_per_second']:,}" if "theirs" in row else row.get("missing")
    compiled = " / ".join(f"{side['compile_seconds']:.1f} s" for side in sides if "compile_seconds" in side)
    return row | {"peer": row["peer"] or "none", "speed": speed, "compiled": compiled}


def failure(result: dict[str, Any]) -> str | None:
    return f"failed: {', '.join(result['failed'])}" if result["failed"] else None


COMMANDS = (Command("peers", Arguments, measure_peers, failure=failure),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
