"""Ours and the peers in one run on all cores of this machine: Pgx, OpenSpiel, and a hand-written C++ loop.

    python -m benchmarks.peers

needs what `pip install "jaxgames[dev]"` installs, and g++; a row whose peer is missing or fails says so and the rest
goes on.

Every side plays uniformly random legal actions, has the legal mask and the observation of the mover written out at
every step, and begins a new game where one ends. Each is at its best:

    ours, Pgx     of several batch sizes, on one device and on a virtual device a core; a loop of JAX
    OpenSpiel     from Python, one state in each of as many processes as cores; "methods" calls legal_actions_mask and
                  observation_tensor and gets lists, "buffer" has both in numpy arrays, which is faster, and "legal"
                  asks for the legal actions only, which is less work
    C++           benchmarks/star_loop.cpp, a process a core

The sides take turns, ours first, for so many seconds a turn, or for one call where that takes longer: what slows the
machine for a while slows both. A ratio is the median over the rounds, with the least and the most of them; where it is
below 1 the peer is faster. Compile time is that of a batched, jitted step with mask and observation at 1,024 boards,
without restarts and without any cache.
"""

import contextlib
import dataclasses
import datetime
import importlib.metadata
import importlib.util
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import tyro

from benchmarks.contestant import ASKING
from benchmarks.throughput import cores, keep, measured, say, where

ROOT = Path(__file__).parents[1]
PUBLISHED = "As published, on one core: PettingZoo Chinese Checkers makes 250 steps a second at N = 2 and 97 at N = 4."


@dataclass(frozen=True)
class Peer:
    """Who plays against ours, and how many times as fast ours is meant to be."""

    name: str
    words: dict[str, Any]  # for benchmarks.contestant
    wanted: float | None = None


@dataclass(frozen=True)
class Contest:
    game: str
    peers: tuple[Peer, ...] = ()


def pgx() -> Peer:
    return Peer("Pgx `gardner_chess`", {"kind": "jax", "library": "pgx", "game": "gardner_chess"})


def open_spiel(game: str) -> tuple[Peer, ...]:
    asked = {asking: {"kind": "open_spiel", "game": game, "asking": asking} for asking in ASKING}
    return tuple(Peer(f"OpenSpiel, {a}", words, 10 if a == "methods" else None) for a, words in asked.items())


def star_loop(size: int) -> Peer:
    return Peer("C++ loop", {"kind": "star_loop", "size": size}, 0.5)


CONTESTS = {
    "minichess": Contest("minichess", (dataclasses.replace(pgx(), wanted=15),)),
    "king_capture": Contest("minichess(rules=king_capture)", (dataclasses.replace(pgx(), wanted=40),)),
    "dots_and_boxes": Contest("dots_and_boxes", open_spiel("dots_and_boxes(num_rows=5,num_cols=5)")),
    "checkers": Contest("checkers(draw_rule=openspiel)", open_spiel("checkers")),
    "star_4": Contest(  # 200 rounds of six turns at most, like the peers
        "chinese_checkers(size=4, num_players=6, max_rounds=200)",
        (*open_spiel("chinese_checkers(players=6,max_moves=1200)"), star_loop(4)),
    ),
    "star_2": Contest("chinese_checkers(size=2, num_players=6, max_rounds=200)", (star_loop(2),)),
    "diamond": Contest("chinese_checkers_diamond"),
}
PACKAGES = {"pgx": "pgx", "open_spiel": "pyspiel"}  # of a kind or library, and what is imported of it


@dataclass(frozen=True)
class Arguments:
    games: tuple[str, ...] = tuple(CONTESTS)
    """Which comparisons to make, among: minichess, king_capture, dots_and_boxes, checkers, star_4, star_2, diamond."""
    rounds: int = 5
    seconds: float = 1.5
    """Of a side's turn."""
    boards: tuple[int, ...] = (128, 1024, 4096)
    """Batch sizes to try for ours, on each device."""
    pgx_boards: tuple[int, ...] = (256, 2048)
    """Batch sizes to try for Pgx, over all devices, each rounded up to a multiple of the cores."""
    output: Path | None = None
    """A file for the JSON."""


def main() -> None:
    """The command `python -m benchmarks.peers`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.peers", description="Compare with the peers.")
    jax.config.update("jax_platforms", "cpu")  # as for the sides, so that `where` names what they ran on
    result = measured("peers", measure, arguments)
    keep(result, arguments.output)
    print(markdown(result))
    if result["failed"]:
        sys.exit(f"benchmarks.peers: failed: {', '.join(result['failed'])}")


def measure(arguments: Arguments) -> dict[str, Any]:
    """All rows of the table, and where they were measured."""
    unknown = set(arguments.games) - set(CONTESTS)
    if unknown:
        raise ValueError(f"games must be among {', '.join(CONTESTS)}, not {', '.join(unknown)}")
    if min(arguments.rounds, arguments.seconds, *arguments.boards, *arguments.pgx_boards) <= 0:
        raise ValueError("rounds, seconds and numbers of boards must be positive")
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    progress = Progress(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for name in dict.fromkeys(arguments.games):
            try:
                rows += compare(CONTESTS[name], arguments, Path(folder), progress)
            except Stopped as error:
                say(f"{name}: {error}")
                failed.append(name)
    return {
        "command": shlex.join(["python", "-m", "benchmarks.peers", *sys.argv[1:]]),
        "date": datetime.date.today().isoformat(),
        "cores_used": cores(),
        "seconds_a_turn": arguments.seconds,
        "asking": ASKING,
        "peers": {name: version(name) for name in PACKAGES} | {"g++": compiler_version()},
        **where(),
        "rows": rows,
        "failed": [
            *failed,
            *(f"{row['game']} against {row['peer']}" for row in rows if row.get("missing") == "failed"),
        ],
    }


def compare(contest: Contest, arguments: Arguments, folder: Path, progress: "Progress") -> list[dict[str, Any]]:
    """The rows of one game, one a peer; one for ours alone where there is none."""
    ours = Peer("jaxgames", {"kind": "jax", "library": "jaxgames", "game": contest.game})
    missing = {peer.name: lacking(peer) for peer in contest.peers}
    sides = [ours, *(peer for peer in contest.peers if missing[peer.name] is None)]

    def fail(name: str, error: Stopped) -> None:
        if name == ours.name:
            raise error
        say(f"{contest.game}: {name}: {error}")
        missing[name] = "failed"

    with contextlib.ExitStack() as stack:
        teams: dict[str, Team] = {}
        for side in sides:
            progress.say(f"{contest.game}: {side.name} gets ready")
            try:
                team = Team(completed(side, arguments, folder), copies=1 if side.words["kind"] == "jax" else cores())
                teams[side.name] = stack.enter_context(team)
            except Stopped as error:
                fail(side.name, error)
            progress.done(preparation(side, arguments))
        speeds: dict[str, list[float]] = {name: [] for name in teams}
        for turn in range(arguments.rounds):
            progress.say(f"{contest.game}: round {turn + 1} of {arguments.rounds}")
            for name, team in teams.items():
                if missing.get(name) is None:
                    try:
                        speeds[name].append(team.play(arguments.seconds))
                    except Stopped as error:
                        team.end()
                        fail(name, error)
            progress.done(len(teams) * arguments.seconds)
    own = {"game": contest.game, "ours": figures(teams[ours.name].facts, speeds[ours.name])}
    rows: list[dict[str, Any]] = []
    for peer in contest.peers:
        row = {**own, "peer": peer.name, "wanted": peer.wanted}
        if missing[peer.name] is None:
            theirs = figures(teams[peer.name].facts, speeds[peer.name])
            ratios = [a / b for a, b in zip(speeds[ours.name], speeds[peer.name], strict=True)]
            row |= {"theirs": theirs, "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
        rows.append(row | {"missing": missing[peer.name]})
    return rows or [{**own, "peer": None}]


def figures(facts: dict[str, Any], speeds: list[float]) -> dict[str, Any]:
    return {"steps_per_second": round(statistics.median(speeds)), "rounds": [round(speed) for speed in speeds], **facts}


# -- the sides --------------------------------------------------------------------------------------------


class Stopped(RuntimeError):
    """A process of a side has ended by itself, or could not be built."""


class Team:
    """One side: as many processes as it takes to use all cores, which play at the same time when told to."""

    def __init__(self, words: dict[str, Any], copies: int) -> None:
        command = [sys.executable, "-m", "benchmarks.contestant", json.dumps(words)]
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
            self.facts = [answer(process) for process in self.processes][-1]  # ready when all are
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
            with contextlib.suppress(BrokenPipeError):  # it has ended, and does not answer
                print(seconds, file=process.stdin, flush=True)
        return sum(answer(process) for process in self.processes)


def answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.endswith("\n"):
        raise Stopped(f"a side stopped with exit status {process.wait()}: what it wrote is above")
    return json.loads(line)


def completed(side: Peer, arguments: Arguments, folder: Path) -> dict[str, Any]:
    """The words for benchmarks.contestant."""
    words = dict(side.words)
    if words["kind"] == "star_loop":
        return words | {"binary": str(compiled_loop(folder))}
    words["tuning_seconds"] = arguments.seconds / 5
    if words["kind"] == "jax":
        own = words["library"] == "jaxgames"
        words["devices"] = sorted({1, cores()})
        shares = arguments.boards if own else (-(-n // cores()) for n in arguments.pgx_boards)  # of one device
        words["boards"] = [n * cores() for n in dict.fromkeys(shares)]
        words["steps"] = 200_000 if own else 8_192
    return words


def compiled_loop(folder: Path) -> Path:
    """The C++ loop, compiled for this machine; once a folder."""
    binary = folder / "star_loop"
    if not binary.exists():
        source = Path(__file__).with_name("star_loop.cpp")
        done = subprocess.run(["g++", "-O3", "-march=native", "-o", binary, source])
        if done.returncode != 0:
            raise Stopped(f"g++ stopped with exit status {done.returncode}: what it wrote is above")
    return binary


def lacking(peer: Peer) -> str | None:
    """What to install before this peer can play, None if it can."""
    if peer.words["kind"] == "star_loop":
        return None if shutil.which("g++") else "install g++"
    package = PACKAGES[peer.words.get("library", peer.words["kind"])]
    return None if importlib.util.find_spec(package) else 'pip install "jaxgames[dev]"'


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def compiler_version() -> str | None:
    if shutil.which("g++") is None:
        return None
    return subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip() or None


# -- what is shown ----------------------------------------------------------------------------------------


def preparation(side: Peer, arguments: Arguments) -> float:
    """Seconds until a side is ready, roughly."""
    if side.words["kind"] != "jax":
        return 2.0
    own = side.words["library"] == "jaxgames"
    return 8.0 + (6.0 * len(arguments.boards) if own else 50.0 * len(arguments.pgx_boards))


class Progress:
    """What is going on and how long it will take, by a rough idea of each part's length."""

    def __init__(self, arguments: Arguments) -> None:
        self.begin, self.behind, self.total = time.perf_counter(), 0.0, 0.0
        for name in arguments.games:
            peers = [peer for peer in CONTESTS[name].peers if lacking(peer) is None]
            sides = [Peer("ours", {"kind": "jax", "library": "jaxgames"}), *peers]
            self.total += sum(preparation(side, arguments) for side in sides)
            self.total += arguments.rounds * arguments.seconds * len(sides)

    def done(self, seconds: float) -> None:
        self.behind += seconds

    def say(self, text: str) -> None:
        spent = time.perf_counter() - self.begin
        left = (self.total - self.behind) * (spent / self.behind if self.behind else 1.0)
        say(f"[{spent / 60:.1f} min, about {left / 60:.1f} left] {text}")


def markdown(result: dict[str, Any]) -> str:
    """The table with its command, hardware, versions and date, as it stands in the README."""
    versions = {"JAX": result["jax"], "Pgx": result["peers"]["pgx"], "OpenSpiel": result["peers"]["open_spiel"]}
    versions |= {"g++": result["peers"]["g++"], "Python": result["python"]}
    named = ", ".join(f"{name} {number}" for name, number in versions.items() if number is not None)
    lines = [
        f"`{result['command']}`, {result['date']}, {result['cores_used']} cores of {result['processor']}, {named}:",
        "",
        "| game | ours, steps/s | peer | its steps/s | ratio (least-most) | wanted | compiled in, ours / peer |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        cells = [f"`{row['game']}`", f"{row['ours']['steps_per_second']:,}", row["peer"] or "none"]
        compiled = f"{row['ours']['compile_seconds']:.1f} s"
        if "theirs" in row:
            cells += [
                f"{row['theirs']['steps_per_second']:,}",
                f"{row['ratio']:.3g} ({row['least']:.3g}-{row['most']:.3g})",
            ]
            if "compile_seconds" in row["theirs"]:
                compiled += f" / {row['theirs']['compile_seconds']:.1f} s"
        else:
            cells += [row.get("missing") or "", ""]
        wanted = row.get("wanted")
        lines.append(f"| {' | '.join([*cells, '' if wanted is None else f'{wanted:g}', compiled])} |")
    return "\n".join([*lines, "", PUBLISHED])


if __name__ == "__main__":
    main()
