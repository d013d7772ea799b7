"""Random play of this project beside Pgx, OpenSpiel and a hand-written C++ loop, in one run on all cores of a machine.

    python -m benchmarks.peers

Needs `pip install "jaxgames[dev]"` and g++. Where a peer is missing or fails, its row says so, and the other rows are
measured all the same.

Every side plays uniformly random legal actions, with the legal mask and the mover's observation at every step, and is
measured at its fastest (`benchmarks/peer_process.py`): a loop in JAX with the best of several batch sizes, on one or on
all of the virtual devices, one per core; OpenSpiel and the C++ loop with one process per core.

The sides take turns, ours first: whatever slows the machine for a while slows both. A ratio is the median over the
rounds, with the smallest and the largest beside it; below 1 the peer is faster. Compile time is that of a batched step
with mask and observation at 1,024 boards, without restarts and without any cache.

    python -m benchmarks.peers adapters
    python -m benchmarks.peers adapters --games checkers --adapters host pettingzoo

measures random play through each adapter to another library (`benchmarks/adapters.py`) beside the env's own loop on one
device, with equally many boards where an adapter plays several. A step is one ply on one board. In `gymnasium` and
`gymnax` it is one ply of the agent's seat and the plies of its random opponents that follow: about one ply per seat.
With `--no-async-dispatch` JAX runs a program in the thread that calls it. Otherwise the call waits for another thread,
which takes longer than a program with one board. `--published FOLDER` also measures the star environment that Gu and
Adhikari published, in games with 6 seats: FOLDER is a checkout of github.com/noahadhikari/pettingzoo-chinese-checkers,
which needs pygame and matplotlib.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax

import jaxgames
from benchmarks import harness
from benchmarks.adapters import ADAPTERS, PUBLISHED
from benchmarks.harness import Command
from benchmarks.peer_process import OPEN_SPIEL_CONFIGURATIONS
from train.driver.commands import stamp
from train.driver.tables import table_of

ROOT = Path(__file__).parents[1]
PACKAGES = {"pgx": "pgx", "open_spiel": "pyspiel"}  # distribution and module, by the kind or library of a side
TABLE = {
    "game": "`{game}`",
    "ours, steps/s": "{ours[steps_per_second]:,}",
    "side": "{peer}",
    "steps/s": "{theirs[steps_per_second]:,}",
    "ours is faster (min-max)": "{ratio:.3g} ({min:.3g}-{max:.3g})",
    "not measured": "{error}",
}


class Side(NamedTuple):
    """One side of a comparison."""

    name: str
    arguments: dict[str, Any]  # of benchmarks.peer_process


class Contest(NamedTuple):
    """A game of this project and the peers that play the same or a similar game."""

    game: str
    peers: tuple[Side, ...] = ()


def open_spiel(game: str) -> tuple[Side, ...]:
    """A game of OpenSpiel, once per configuration of its loop."""
    return tuple(
        Side(f"OpenSpiel, {name}", {"kind": "open_spiel", "game": game, "configuration": name})
        for name in OPEN_SPIEL_CONFIGURATIONS
    )


def star_loop(size: int) -> Side:
    return Side("C++ loop", {"kind": "star_loop", "size": size})


PGX = Side("Pgx `gardner_chess`", {"kind": "jax", "library": "pgx", "game": "gardner_chess"})
STAR_2, STAR_4 = (f"chinese_checkers(size={size}, num_players=6, max_rounds=200)" for size in (2, 4))
CONTESTS = {
    "minichess": Contest("minichess", (PGX,)),
    "king_capture": Contest("minichess(rules=king_capture)", (PGX,)),
    "dots_and_boxes": Contest("dots_and_boxes", open_spiel("dots_and_boxes(num_rows=5,num_cols=5)")),
    "checkers": Contest("checkers(draw_rule=openspiel)", open_spiel("checkers")),
    "star_4": Contest(  # at most 200 rounds of six turns, as the peers play it
        STAR_4,
        (*open_spiel("chinese_checkers(players=6,max_moves=1200)"), star_loop(4)),
    ),
    "star_2": Contest(STAR_2, (star_loop(2),)),
    "diamond": Contest("chinese_checkers_diamond"),
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = tuple(CONTESTS)
    """Comparisons to make, among: minichess, king_capture, dots_and_boxes, checkers, star_4, star_2, diamond."""
    rounds: int = 5
    seconds: float = 1.5
    """Length of a side's turn."""
    boards: tuple[int, ...] = (128, 1024, 4096)
    """Batch sizes to try for ours, on each device."""
    pgx_boards: tuple[int, ...] = (256, 2048)
    """Batch sizes to try for Pgx, over all devices, each rounded up to a multiple of the cores."""


def measure_peers(arguments: Arguments) -> dict[str, Any]:
    jax.config.update("jax_platforms", "cpu")  # the platform of the sides, so that the stamp names it
    harness.check_among("games", arguments.games, CONTESTS)
    harness.check_positive(arguments, "rounds", "seconds", "boards", "pgx_boards")
    rows: list[dict[str, Any]] = []
    for name in arguments.games:
        contest = CONTESTS[name]
        of_ours = {"kind": "jax", "library": "jaxgames", "game": contest.game}
        ours, *peers = (
            Side(side.name, completed(side.arguments, arguments))
            for side in (Side("jaxgames", of_ours), *contest.peers)
        )
        rows += compare(contest.game, ours, peers, arguments.rounds, arguments.seconds)
    harness.log(table_of(rows, TABLE))
    return {
        "cores_used": harness.cores(),
        "seconds_per_turn": arguments.seconds,
        "open_spiel_configurations": OPEN_SPIEL_CONFIGURATIONS,
        "peers": {name: harness.package_version(name) for name in PACKAGES} | {"g++": compiler_version()},
        **stamp(),
        "rows": rows,
    }


def completed(given: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """The arguments of a process of a side, with what it tries to be at its fastest."""
    if given["kind"] == "star_loop":
        return given
    tuning = {"tuning_seconds": arguments.seconds / 5}
    if given["kind"] == "open_spiel":
        return given | tuning
    ours = given["library"] == "jaxgames"
    devices = sorted({1, harness.cores()})
    shares = arguments.boards if ours else (-(-n // harness.cores()) for n in arguments.pgx_boards)  # of one device
    boards = [n * harness.cores() for n in dict.fromkeys(shares)]
    return given | tuning | {"devices": devices, "boards": boards, "steps": 200_000 if ours else 8_192}


@dataclass(frozen=True)
class AdaptersArguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = ("chinese_checkers(size=2, num_players=6)", "checkers", "dots_and_boxes")
    """Games, with their parameters."""
    adapters: tuple[str, ...] = tuple(ADAPTERS)
    """Adapters to measure."""
    boards: int = 1024
    """Boards of the env's own loop, and of adapters that play many at once."""
    rounds: int = 5
    """Turns of each side."""
    seconds: float = 2.0
    """Length of a turn."""
    async_dispatch: bool = True
    """JAX's default: programs for a CPU run in another thread. False runs them in the thread that calls them."""
    published: Path | None = None
    """A checkout of the published environment."""


def measure_adapters(arguments: AdaptersArguments) -> dict[str, Any]:
    """Measures all rows of the table; a game that an adapter cannot play has the reason in `error`."""
    harness.check_among("adapters", arguments.adapters, ADAPTERS)
    harness.check_positive(arguments, "boards", "rounds", "seconds")
    if arguments.published and not arguments.published.is_dir():
        raise ValueError(f"published must be a folder, not {str(arguments.published)!r}")
    names = (*arguments.adapters, *([PUBLISHED] if arguments.published else []))
    rows: list[dict[str, Any]] = []
    for game in (str(jaxgames.make(game)) for game in arguments.games):
        shared = {"kind": "adapter", "game": game, "boards": arguments.boards, "is_async": arguments.async_dispatch}
        shared["folder"] = str(arguments.published or "")
        ours, *peers = (Side(name, shared | {"name": name}) for name in ("jaxgames", *names))
        rows += compare(game, ours, peers, arguments.rounds, arguments.seconds)
    harness.log(table_of(rows, TABLE))
    settings = {name: getattr(arguments, name) for name in ("boards", "rounds", "seconds", "async_dispatch")}
    return {"rows": rows, **settings, **stamp()}


def compare(game: str, ours: Side, peers: Sequence[Side], rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns the rows of one game, one per peer; one row without a peer if there is none, or if ours fails."""
    first: dict[str, Any] = {"game": game}
    entries: dict[str, dict[str, Any]] = {peer.name: {"peer": peer.name, "missing": missing(peer)} for peer in peers}
    present = [ours, *(peer for peer in peers if entries[peer.name]["missing"] is None)]
    entries[ours.name] = {"peer": None}
    speeds: dict[str, list[float]] = {side.name: [] for side in present}

    def failed(name: str, error: Stopped) -> None:
        harness.log(f"{game}: {name}: {error}")
        entries[name]["error"] = str(error)

    with contextlib.ExitStack() as stack:
        teams: dict[str, Team] = {}
        for name, given in present:
            try:
                copies = harness.cores() if given["kind"] in ("open_spiel", "star_loop") else 1
                teams[name] = stack.enter_context(Team(given, copies))
            except Stopped as error:
                failed(name, error)
            if ours.name not in teams:
                return [first | entries[ours.name]]
        for number in range(rounds):
            harness.log(f"{game}: round {number + 1} of {rounds}")
            for name, team in [*teams.items()]:
                try:
                    speeds[name].append(team.play(seconds))
                except Stopped as error:
                    failed(name, error)
                    if name == ours.name:
                        return [first | entries[name]]
                    teams.pop(name).end()
    first["ours"] = side_result(teams[ours.name].facts, speeds[ours.name])
    for name in (peer.name for peer in peers if peer.name in teams):
        ratios = [a / b for a, b in zip(speeds[ours.name], speeds[name], strict=True)]
        entries[name]["theirs"] = side_result(teams[name].facts, speeds[name])
        entries[name] |= {"ratio": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}
    return [first | entries[peer.name] for peer in peers] or [first | entries[ours.name]]


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
            if "error" in self.facts:
                raise Stopped(self.facts["error"])
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


def missing(peer: Side) -> str | None:
    """Returns the command that installs this peer; None if it is installed."""
    if peer.arguments["kind"] == "star_loop":
        return None if shutil.which("g++") else "install g++"
    package = PACKAGES.get(peer.arguments.get("library", peer.arguments["kind"]))
    return None if package is None or importlib.util.find_spec(package) else 'pip install "jaxgames[dev]"'


def compiler_version() -> str | None:
    if shutil.which("g++") is None:
        return None
    return subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip() or None


def failure(result: dict[str, Any]) -> str | None:
    failed = [f"{row['game']}, {row['peer'] or 'jaxgames'}" for row in result["rows"] if "error" in row]
    return f"failed: {'; '.join(failed)}" if failed else None


COMMANDS = (
    Command("peers", Arguments, measure_peers, failure=failure),
    Command("peers adapters", AdaptersArguments, measure_adapters),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
