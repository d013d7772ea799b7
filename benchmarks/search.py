"""Simulations per second of the tree search, beside mctx over all actions and beside Pgx with mctx.

    python -m benchmarks.search
    python -m benchmarks.search --parts simulations --picture docs/pictures/search_by_simulations.svg

A simulation adds one board to the tree of one root: selection, a step, the network, the backup. The parts of the table:

    boards        both searches by the number of roots searched at once
    simulations   both searches by simulations: microseconds per simulation of one root
    slots         ours by the number of slots of a node
    peer          minichess: ours, mctx over all actions of our boards, and mctx on Pgx's `gardner_chess`
    profile       the network alone, the rules alone, and the rest of a simulation of ours

Settings that a part does not vary are `budget` simulations of `batch` roots (`curve_batch` in the part `simulations`)
with the first of the slots. The searches are those of benchmarks/search_sides.py, with networks of equal hidden sizes
and random weights. Roots are positions after random play. Keys differ in every call; without noise at the root they
change nothing.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, search_sides
from benchmarks.search_sides import NetworkEvaluate, Params, Side
from jaxgames.mcts import SearchConfig

PARTS = ("boards", "simulations", "slots", "peer", "profile")
SIDES: dict[str, Callable[[str, int, SearchConfig, tuple[int, ...]], Side]] = {
    "jaxgames": search_sides.ours,
    "mctx": search_sides.dense,
    "Pgx + mctx": search_sides.pgx,
}
PEER_GAMES = {"jaxgames": "minichess", "mctx": "minichess", "Pgx + mctx": "gardner_chess"}
HEADER = (
    *("game", "search", "roots", "simulations", "slots", "simulations/s", "us each", "bytes per node", "compiled in"),
    "ratio",
)


class Point(NamedTuple):
    """One row of the table."""

    side: str
    game: str
    boards: int
    simulations: int
    slots: int | None  # None: a slot for every action


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    env: str = "chinese_checkers_diamond(size=4, pieces=3)"
    """A zero-sum game of two seats, with its parameters; the part `peer` has games of its own."""
    parts: tuple[str, ...] = PARTS
    """Parts of the table: boards, simulations, slots, peer, profile."""
    batch_sizes: tuple[int, ...] = (16, 64, 256, 1024)
    """Roots searched at once, in the part `boards`."""
    simulations: tuple[int, ...] = (16, 32, 64, 128, 256)
    """Simulations, in the part `simulations`."""
    slots: tuple[int, ...] = (20, 8, 64)
    """Slots of a node, in the part `slots`; the other parts have the first. 20 hold all moves of the default game."""
    peer_slots: int = 64
    """Slots of a node in the part `peer`."""
    batch: int = 256
    """Roots searched at once, in the parts `slots`, `peer` and `profile`."""
    curve_batch: int = 64
    """Roots searched at once, in the part `simulations`, where mctx takes long."""
    budget: int = 32
    """Simulations, in the other parts."""
    hidden_sizes: tuple[int, ...] = (256, 256, 256)
    """Widths of the hidden layers of every network."""
    repeats: int = 5
    picture: Path | None = None
    """A file for the curves of the part `simulations`, such as search.svg."""


def main() -> None:
    """The command `python -m benchmarks.search`."""
    arguments = harness.parse_arguments("search", Arguments)
    result = harness.run_command("search", arguments, measure_search)
    if arguments.picture is not None:
        harness.save_picture(draw_by_simulations(result["rows"], arguments), arguments.picture)


def measure_search(arguments: Arguments) -> dict[str, Any]:
    """Measures all parts; the JSON is written after every row, so that a later failure loses nothing."""
    check(arguments)
    points = {part: list(points_of(part, arguments)) for part in arguments.parts if part != "profile"}
    different = list(dict.fromkeys(point for each in points.values() for point in each))
    progress = harness.Progress(len(different) + ("profile" in arguments.parts), "row")
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"rows": rows, "hidden_sizes": [*arguments.hidden_sizes], **harness.stamp()}
    result["versions"] = {name: harness.package_version(name) for name in ("mctx", "pgx")}
    for point in different:
        rows.append(measure_point(point, arguments))
        harness.write_json("search", arguments, result)
        row = rows[-1]
        progress.finish(f"{point.side}, {point.game}: {row['simulations_per_second']:,.0f} simulations/s")
    for part, members in points.items():
        harness.log(f"\n{part}:\n\n{table_of([row_at(rows, point) for point in members])}")
    if "profile" in arguments.parts:
        result["profile"] = measure_profile(arguments)
        progress.finish("profile")
        cells = [f"{name}: {value:.2f}" for name, value in result["profile"].items()]
        harness.log(f"\nprofile, microseconds per simulation: {', '.join(cells)}")
    return result


def check(arguments: Arguments) -> None:
    """Raises ValueError for arguments that cannot be measured."""
    numbers = (*arguments.batch_sizes, *arguments.simulations, *arguments.slots, *arguments.hidden_sizes)
    numbers += (arguments.peer_slots, arguments.batch, arguments.curve_batch, arguments.budget, arguments.repeats)
    if min(numbers) < 1:
        raise ValueError("batch sizes, simulations, slots, hidden sizes and repeats must be positive")
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        raise ValueError(f"parts must be among {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    if arguments.picture is not None and "simulations" not in arguments.parts:
        raise ValueError("picture needs the part simulations: add it to parts, or leave picture out")
    search_sides.game_of_two(arguments.env)


def points_of(part: str, arguments: Arguments) -> Iterator[Point]:
    """Yields the rows of a part, ours before the search with which it is compared."""
    batch, budget, slots = arguments.batch, arguments.budget, arguments.slots
    if part == "peer":
        for side, game in PEER_GAMES.items():
            yield Point(side, game, batch, budget, arguments.peer_slots if side == "jaxgames" else None)
    elif part == "slots":
        for number in slots:
            yield Point("jaxgames", arguments.env, batch, budget, number)
    else:
        pairs = [(boards, budget) for boards in arguments.batch_sizes]
        if part == "simulations":
            pairs = [(arguments.curve_batch, simulations) for simulations in arguments.simulations]
        for boards, simulations in pairs:
            yield Point("jaxgames", arguments.env, boards, simulations, slots[0])
            yield Point("mctx", arguments.env, boards, simulations, None)


def measure_point(point: Point, arguments: Arguments) -> dict[str, Any]:
    """Returns the row of a point."""
    config = SearchConfig(simulations=point.simulations, slots=point.slots)
    side = SIDES[point.side](point.game, point.boards, config, arguments.hidden_sizes)
    total = point.boards * point.simulations
    timing = harness.time_program(side.program, (side.params, side.boards), total, arguments.repeats)
    return {
        **point._asdict(),
        "simulations_per_second": timing.steps_per_second,
        "spread": timing.spread,
        "microseconds": 1e6 / timing.steps_per_second,
        "bytes_per_node": side.bytes_per_node,
        "network": [[*weights.shape] for weights, _ in side.params],
        "compile_seconds": timing.compile_seconds,
        "memory_bytes": timing.memory_bytes,
    }


# -- profile ----------------------------------------------------------------------------------------------


def measure_profile(arguments: Arguments) -> dict[str, float]:
    """Returns microseconds per simulation of ours: in all, of the network and of the rules alone, and the rest."""
    point = Point("jaxgames", arguments.env, arguments.batch, arguments.budget, arguments.slots[0])
    whole = measure_point(point, arguments)["microseconds"]
    env = search_sides.game_of_two(arguments.env)
    params, boards = search_sides.parameters_for(env, arguments.hidden_sizes), search_sides.positions(env, point.boards)
    times = {"whole": whole}
    for name, program in (("network", network_alone), ("rules", rules_alone)):
        loop = functools.partial(program, env, arguments.budget)
        timing = harness.time_program(loop, (params, boards), point.boards * arguments.budget, arguments.repeats)
        times[name] = 1e6 / timing.steps_per_second
    return {**times, "rest": whole - times["network"] - times["rules"]}


def network_alone(env: jaxgames.Env[Any], length: int, key: jax.Array, params: Params, boards: Any) -> Any:
    """Returns the sum of `length` evaluations of all boards, each from the observations on."""

    def body(carry: tuple[Any, jax.Array], _: None) -> Any:
        boards, total = carry
        logits, values = NetworkEvaluate(env)(params, boards)
        total += logits.sum() + values[:, 0].sum()
        # Another order of the boards in every step, or the compiler would evaluate them once.
        return (jax.tree.map(lambda leaf: jnp.roll(leaf, 1, axis=0), boards), total), None

    return jax.lax.scan(body, (boards, jnp.float32(0)), length=length)[0]


def rules_alone(env: jaxgames.Env[Any], length: int, key: jax.Array, params: Params, boards: Any) -> Any:
    """Returns the boards after `length` steps with the first legal action of each."""

    def body(boards: Any, _: None) -> Any:
        action = jax.vmap(env.legal_action_mask)(boards).argmax(-1)
        return jax.vmap(env.step)(boards, action), None

    return jax.lax.scan(body, boards, length=length)[0]


# -- tables -----------------------------------------------------------------------------------------------


def row_at(rows: list[dict[str, Any]], point: Point) -> dict[str, Any]:
    """Returns the row of a point."""
    return next(row for row in rows if point._asdict().items() <= row.items())


def table_of(rows: list[dict[str, Any]]) -> str:
    """Returns a part as Markdown; a ratio is the speed of the last row of ours divided by the speed of the row."""
    first = rows[0]
    lines: list[list[str]] = []
    for row in rows:
        is_ours = row["side"] == "jaxgames"
        first = row if is_ours else first
        lines.append(
            [
                f"`{row['game']}`",
                row["side"],
                f"{row['boards']:,}",
                f"{row['simulations']:,}",
                "all actions" if row["slots"] is None else f"{row['slots']:,}",
                f"{row['simulations_per_second']:,.0f} ({row['spread']:.0%})",
                f"{row['microseconds']:.1f}",
                f"{row['bytes_per_node']:,}",
                f"{row['compile_seconds']:.1f} s",
                "" if is_ours else f"{row['microseconds'] / first['microseconds']:.1f}",
            ]
        )
    return harness.markdown_table(HEADER, lines)


def draw_by_simulations(rows: list[dict[str, Any]], arguments: Arguments) -> Figure:
    """Returns the curves of the part `simulations`, both axes logarithmic."""
    picture = Figure(figsize=(6, 3.6), layout="constrained", facecolor="white")
    axes: Any = picture.subplots()
    members = [row_at(rows, point) for point in points_of("simulations", arguments)]
    for number, side in enumerate(dict.fromkeys(row["side"] for row in members)):
        line = sorted((row for row in members if row["side"] == side), key=lambda row: row["simulations"])
        label = f"{side}, {line[0]['slots'] or 'all'} {'slots' if line[0]['slots'] else 'actions'}"
        times = [row["microseconds"] for row in line]
        axes.plot([row["simulations"] for row in line], times, color=f"C{number}", marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set(xlabel="simulations", ylabel="microseconds per simulation")
    axes.set_title(f"{arguments.env}, {arguments.curve_batch} roots", fontsize=10)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    return picture


if __name__ == "__main__":
    main()
