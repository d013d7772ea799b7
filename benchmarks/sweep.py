"""How speed grows with the batch and with the board, as figures and as two pictures.

    python -m benchmarks.sweep

Random play (benchmarks.throughput) of every game at 1 to 65,536 boards, and of the star game of size 2 to 8 with six
seats, at 64 boards and at 1,024. What is linear shows as a line that is flat (steps per second by batch, beyond the
small batches) or straight (microseconds a step by cells, with the line that fits best). Prints JSON, and writes
pictures with --pictures docs/pictures. Boards are kept between the timed calls.

    python -m benchmarks.sweep --one-core

shows what a step costs, without how well two cores share it and without what else the machine does: CPU time on one.
"""

import datetime
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import tyro
from matplotlib.figure import Figure as Picture

import jaxgames
from benchmarks.baseline import keep_to_one_core
from benchmarks.contestant import LEAST, rollout
from benchmarks.throughput import Playing, keep, measured, provide, say, where

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
class Arguments:
    games: tuple[str, ...] = tuple(GAMES)
    """Which lines to draw by batch, by the names in the picture."""
    batch_sizes: tuple[int, ...] = tuple(4**i for i in range(9))
    """From 1 to 65,536 boards."""
    sizes: tuple[int, ...] = tuple(range(2, 9))
    """Of the star, N."""
    boards: tuple[int, ...] = (64, 1024)
    """For the sizes, a line in the picture each."""
    devices: int = 1
    """How many devices the boards are spread over; batch sizes that they do not divide are left out."""
    one_core: bool = False
    """Clock CPU time on one core, not the time on the wall on all of them."""
    steps: int = 100_000
    """Steps over all boards that one timed call makes, about; at least LEAST of each board."""
    repeats: int = 3
    output: Path | None = None
    """A file for the JSON, which is printed in any case."""
    pictures: Path | None = None
    """A folder for throughput_by_batch.svg and step_by_cells.svg."""


def main() -> None:
    """The command `python -m benchmarks.sweep`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.sweep", description="Speed by batch and by board.")
    if arguments.one_core:
        keep_to_one_core()
    result = measured("sweep", measure, arguments)
    keep(result, arguments.output)
    if arguments.pictures is not None:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
        save(by_batch(result["by_batch"]), arguments.pictures / "throughput_by_batch.svg")
        save(by_cells(result["by_size"], result["fits"]), arguments.pictures / "step_by_cells.svg")
    print(json.dumps(result))


def measure(arguments: Arguments) -> dict[str, Any]:
    """Both sweeps."""
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
    provide(arguments.devices)
    batches = [batch for batch in arguments.batch_sizes if batch % arguments.devices == 0]
    if not batches or any(boards % arguments.devices for boards in arguments.boards):
        raise ValueError(f"boards and some of the batch sizes must be multiples of devices = {arguments.devices}")
    points = [(name, GAMES[name], batch) for name in arguments.games for batch in batches]
    pairs = [(boards, size) for boards in arguments.boards for size in arguments.sizes]
    sizes = [(f"N = {size}", STAR.format(size), boards) for boards, size in pairs]
    rows = timed_rows([*sizes, *points], arguments)
    by_size = [{"size": size, "cells": star_cells(size), **next(rows)} for _, size in pairs]
    return {
        "by_size": by_size,
        "fits": [fit(boards, [row for row in by_size if row["boards"] == boards]) for boards in arguments.boards],
        "by_batch": [{"game": name, **row} for (name, *_), row in zip(points, rows, strict=True)],
        "devices_used": arguments.devices,
        "one_core": arguments.one_core,
        "date": datetime.date.today().isoformat(),
        **where(),
    }


def star_cells(size: int) -> int:
    """A hexagon of 3N(N + 1) + 1 cells and six triangles of N(N + 1) / 2."""
    return 6 * size * (size + 1) + 1


def fit(boards: int, rows: list[dict[str, Any]]) -> dict[str, float]:
    """The straight line of microseconds over cells that fits best."""
    slope, start = np.polyfit([row["cells"] for row in rows], [row["microseconds"] for row in rows], 1)
    return {"boards": boards, "microseconds_a_cell": float(slope), "microseconds_at_none": float(start)}


def timed_rows(points: list[tuple[str, str, int]], arguments: Arguments) -> Iterator[dict[str, Any]]:
    """A row a point (name, env, boards), said as it is measured."""
    begin = time.perf_counter()
    clock = time.process_time if arguments.one_core else time.perf_counter
    for done, (name, env, batch) in enumerate(points):
        length = max(LEAST, min(1000, arguments.steps // batch))
        work = rollout(Playing(jaxgames.make(env)), batch, length, arguments.devices)
        speeds = sorted(clocked_speed(work, clock) for _ in range(arguments.repeats))
        median = float(np.median(speeds))
        spread = (speeds[-1] - speeds[0]) / median
        spent = time.perf_counter() - begin
        left = spent / (done + 1) * (len(points) - done - 1)
        say(
            f"[{spent / 60:.1f} min, about {left / 60:.1f} left] {name:>26}, {batch:>6,} boards:"
            f" {median:>12,.0f} ({spread:.0%})"
        )
        yield {"boards": batch, "steps_per_second": round(median), "microseconds": 1e6 / median, "spread": spread}


def clocked_speed(work: Callable[[], int], clock: Callable[[], float]) -> float:
    begin = clock()
    return work() / (clock() - begin)


# -- pictures ---------------------------------------------------------------------------------------------


def by_batch(rows: list[dict[str, Any]]) -> Picture:
    """Steps per second by boards, a line a game, both axes logarithmic."""
    picture, axes = drawing()
    for number, game in enumerate(dict.fromkeys(row["game"] for row in rows)):
        own = [row for row in rows if row["game"] == game]
        boards, speeds = [row["boards"] for row in own], [row["steps_per_second"] for row in own]
        axes.plot(boards, speeds, color=f"C{number}", marker="o", markersize=3.5, label=game)
    axes.set(title="Random play by batch", xlabel="boards played at once", ylabel="steps per second")
    axes.set_xscale("log", base=4)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    picture.legend(loc="outside right center", fontsize=8, frameon=False)
    return picture


def by_cells(rows: list[dict[str, Any]], fits: list[dict[str, float]]) -> Picture:
    """Microseconds a step of the star game by the cells of its star, and the straight lines that fit best."""
    picture, axes = drawing()
    for number, line in enumerate(fits):
        own = [row for row in rows if row["boards"] == line["boards"]]
        cells, color = np.array([row["cells"] for row in own]), f"C{number}"
        label = f"{line['boards']:,} boards: {1000 * line['microseconds_a_cell']:.1f} ns a cell"
        fitted = line["microseconds_at_none"] + line["microseconds_a_cell"] * cells
        axes.plot(cells, fitted, color=color, linewidth=1, alpha=0.5)
        axes.plot(cells, [row["microseconds"] for row in own], "o", color=color, markersize=5, label=label)
    for row in rows[-len(rows) // len(fits) :]:
        place = (row["cells"], row["microseconds"])
        axes.annotate(f"N = {row['size']}", place, xytext=(-6, 6), textcoords="offset points", ha="right", fontsize=8)
    axes.set(title="Chinese Checkers, six seats: a step by the size of the star", xlim=(0, 460), ylim=(0, None))
    axes.set(xlabel="cells of the star", ylabel="microseconds a step")
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return picture


def drawing() -> tuple[Picture, Any]:
    picture = Picture(figsize=(8, 4.2), layout="constrained", facecolor="white")
    axes: Any = picture.subplots()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return picture, axes


def save(picture: Picture, file: Path) -> None:
    """The same figures give the same bytes."""
    with mpl.rc_context({"svg.hashsalt": "jaxgames"}):
        picture.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
