"""Speed of random play by batch and by board size, as JSON and as two pictures.

    python -m benchmarks.sweep --pictures docs/pictures

Random play (benchmarks/random_play.py) is measured for every game at 1 to 65,536 boards, and for the star game of size
2 to 8 with six seats, at 64 boards and at 1,024. Linear cost shows as a flat line in the first picture (steps per
second by batch, beyond the small batches), and as a straight line in the second (microseconds per step by cells, with
the line of best fit). Boards are kept between the timed calls.

    python -m benchmarks.sweep --one-core

measures CPU time on one core: the cost of a step, whatever else the machine does.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, random_play

mpl.use("Agg")
STAR = "chinese_checkers(size={}, num_players=6, max_rounds=200)"
GAMES = {
    "checkers": "checkers",
    "dots_and_boxes": "dots_and_boxes",
    "chinese_checkers, N = 2": STAR.format(2),
    "chinese_checkers, N = 4": STAR.format(4),
    "chinese_checkers_diamond": "chinese_checkers_diamond",
    "minichess": "minichess",
    "minichess, king_capture": "minichess(rules=king_capture)",
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = tuple(GAMES)
    """Lines of the picture by batch, by their names there."""
    batch_sizes: tuple[int, ...] = tuple(4**i for i in range(9))
    """From 1 to 65,536 boards."""
    sizes: tuple[int, ...] = tuple(range(2, 9))
    """Sizes N of the star."""
    boards: tuple[int, ...] = (64, 1024)
    """Batch sizes at which the sizes are measured, one line of the picture each."""
    devices: int = 1
    """Devices that the boards are divided between; batch sizes that are not multiples of it are left out."""
    one_core: bool = False
    """Measure CPU time on one core instead of wall-clock time on all cores."""
    steps: int = 100_000
    """Approximate steps over all boards in one timed call; each board makes at least 32."""
    repeats: int = 3
    pictures: Path | None = None
    """A folder for throughput_by_batch.svg and step_by_cells.svg."""


def main() -> None:
    """The command `python -m benchmarks.sweep`."""
    arguments = harness.parse_arguments("sweep", Arguments)
    if arguments.one_core:
        harness.keep_to_one_core()
    result = harness.run_command("sweep", arguments, measure_sweep)
    if arguments.pictures is not None:
        harness.save_picture(draw_by_batch(result["by_batch"]), arguments.pictures / "throughput_by_batch.svg")
        harness.save_picture(draw_by_cells(result["by_size"], result["fits"]), arguments.pictures / "step_by_cells.svg")


def measure_sweep(arguments: Arguments) -> dict[str, Any]:
    """Measures both sweeps."""
    unknown = set(arguments.games) - set(GAMES)
    if unknown:
        raise ValueError(f"games must be among {'; '.join(GAMES)}, not {', '.join(unknown)}")
    if not (arguments.games and arguments.batch_sizes and arguments.boards):
        raise ValueError("games, batch sizes and boards must each name at least one")
    if min(*arguments.batch_sizes, *arguments.boards, arguments.steps, arguments.repeats) < 1:
        raise ValueError("batch sizes, boards, steps and repeats must be positive")
    if len(set(arguments.sizes)) < 2 or not set(arguments.sizes) <= set(range(1, 9)):
        raise ValueError(f"sizes must be two or more different ones from 1 to 8, not {arguments.sizes}")
    if arguments.one_core and arguments.devices != 1:
        raise ValueError("one core is one device: leave out --one-core or --devices")
    harness.provide_devices(arguments.devices)
    batches = [batch for batch in arguments.batch_sizes if batch % arguments.devices == 0]
    if not batches or any(boards % arguments.devices for boards in arguments.boards):
        raise ValueError(f"boards and some of the batch sizes must be multiples of devices = {arguments.devices}")
    points = [(name, GAMES[name], batch) for name in arguments.games for batch in batches]
    pairs = [(boards, size) for boards in arguments.boards for size in arguments.sizes]
    sizes = [(f"N = {size}", STAR.format(size), boards) for boards, size in pairs]
    rows = measure_points([*sizes, *points], arguments)
    by_size = [{"size": size, "cells": star_cells(size), **next(rows)} for _, size in pairs]
    return {
        "by_size": by_size,
        "fits": [fit(boards, [row for row in by_size if row["boards"] == boards]) for boards in arguments.boards],
        "by_batch": [{"game": name, **row} for (name, *_), row in zip(points, rows, strict=True)],
        "devices_used": arguments.devices,
        "one_core": arguments.one_core,
        **harness.stamp(),
    }


def star_cells(size: int) -> int:
    """Cells of a star: a hexagon of 3N(N + 1) + 1 cells and six triangles of N(N + 1) / 2."""
    return 6 * size * (size + 1) + 1


def fit(boards: int, rows: list[dict[str, Any]]) -> dict[str, float]:
    """The line of best fit of microseconds over cells."""
    slope, start = np.polyfit([row["cells"] for row in rows], [row["microseconds"] for row in rows], 1)
    return {"boards": boards, "microseconds_per_cell": float(slope), "microseconds_at_zero": float(start)}


def measure_points(points: list[tuple[str, str, int]], arguments: Arguments) -> Iterator[dict[str, Any]]:
    """Yields one row per point (name, env, boards), logged as it is measured."""
    progress = harness.Progress(len(points), "point")
    clock = time.process_time if arguments.one_core else time.perf_counter
    for name, env, batch in points:
        playing = random_play.Playing(jaxgames.make(env))
        length = random_play.steps_per_call(arguments.steps, batch)
        play = random_play.rollout(playing, batch, length, arguments.devices)
        median, spread = harness.median_and_spread([steps_per_second(play, clock) for _ in range(arguments.repeats)])
        progress.finish(f"{name:>26}, {batch:>6,} boards: {median:>12,.0f} steps/s ({spread:.0%})")
        yield {"boards": batch, "steps_per_second": round(median), "microseconds": 1e6 / median, "spread": spread}


def steps_per_second(play: Callable[[], int], clock: Callable[[], float]) -> float:
    """Speed of one call of `play`, which returns its number of steps, by a clock in seconds."""
    start = clock()
    return play() / (clock() - start)


# -- pictures ---------------------------------------------------------------------------------------------


def draw_by_batch(rows: list[dict[str, Any]]) -> Figure:
    """Steps per second by boards, one line per game, both axes logarithmic."""
    picture, axes = new_picture()
    for number, game in enumerate(dict.fromkeys(row["game"] for row in rows)):
        line = [row for row in rows if row["game"] == game]
        boards, speeds = [row["boards"] for row in line], [row["steps_per_second"] for row in line]
        axes.plot(boards, speeds, color=f"C{number}", marker="o", markersize=3.5, label=game)
    axes.set(title="Random play by batch", xlabel="boards played at once", ylabel="steps per second")
    axes.set_xscale("log", base=4)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    picture.legend(loc="outside right center", fontsize=8, frameon=False)
    return picture


def draw_by_cells(rows: list[dict[str, Any]], fits: list[dict[str, float]]) -> Figure:
    """Microseconds per step of the star game by the cells of its star, and the lines of best fit."""
    picture, axes = new_picture()
    for number, line in enumerate(fits):
        points = [row for row in rows if row["boards"] == line["boards"]]
        cells, color = np.array([row["cells"] for row in points]), f"C{number}"
        label = f"{line['boards']:,} boards: {1000 * line['microseconds_per_cell']:.1f} ns per cell"
        fitted = line["microseconds_at_zero"] + line["microseconds_per_cell"] * cells
        axes.plot(cells, fitted, color=color, linewidth=1, alpha=0.5)
        axes.plot(cells, [row["microseconds"] for row in points], "o", color=color, markersize=5, label=label)
    for row in rows[-len(rows) // len(fits) :]:
        place = (row["cells"], row["microseconds"])
        axes.annotate(f"N = {row['size']}", place, xytext=(-6, 6), textcoords="offset points", ha="right", fontsize=8)
    axes.set(title="Chinese Checkers, six seats: time per step by size of the star", xlim=(0, 460), ylim=(0, None))
    axes.set(xlabel="cells of the star", ylabel="microseconds per step")
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return picture


def new_picture() -> tuple[Figure, Any]:
    """An empty picture and its axes."""
    picture = Figure(figsize=(8, 4.2), layout="constrained", facecolor="white")
    axes: Any = picture.subplots()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return picture, axes


if __name__ == "__main__":
    main()
