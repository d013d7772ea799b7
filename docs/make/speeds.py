"""Draws the steps per second of a stored result of one device, by game: `python -m docs.make.speeds`.

The bars are the fastest batch sizes of random play. Bars of Pgx follow where the result has some, as that of
`benchmarks.device`.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from matplotlib.figure import Figure

from train.plot import new_picture, write

DOCS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Arguments:
    result: Path = DOCS / "results" / "h200_random_play.json"
    """A file of docs/results, or one that `benchmarks.device` has written."""
    output: Path = DOCS / "pictures" / "plots" / "h200_random_play.svg"
    """The picture."""


def main() -> None:
    arguments = tyro.cli(Arguments, prog="python -m docs.make.speeds", description=__doc__)
    stored = json.loads(arguments.result.read_text())  # of docs/results, or as the benchmark writes it
    write(draw(fastest(stored.get("results", [stored])[-1]["rows"])), arguments.output)


def fastest(rows: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """Returns the most steps per second of random play by library and game, the fastest game of a library first."""
    speeds: dict[tuple[str, str], float] = {}
    for row in rows:
        if "random play" in (row.get("part"), row.get("column")) and "steps_per_second" in row:
            key = (row.get("library", "jaxgames"), name_of(row["game"]))
            speeds[key] = max(speeds.get(key, 0.0), row["steps_per_second"])
    return dict(sorted(speeds.items(), key=lambda item: (item[0][0] != "jaxgames", -item[1])))


def name_of(game: str) -> str:
    """Returns a game with those of its parameters that tell the measured games apart."""
    kept = re.search(r"size=2|king_capture", game)
    return game.partition("(")[0] + (f", {kept[0]}" if kept else "")


def draw(speeds: dict[tuple[str, str], float]) -> Figure:
    """One bar per library and game, with its speed in millions of steps per second."""
    picture, (axes,) = new_picture(5.5, 0.3 * len(speeds) + 0.7)
    axes.grid(visible=False)
    names = [game if library == "jaxgames" else f"{library}: {game}" for library, game in speeds]
    colours = ["C0" if library == "jaxgames" else "C1" for library, _ in speeds]
    bars = axes.barh(names, [speed / 1e6 for speed in speeds.values()], color=colours)
    axes.bar_label(bars, [label(speed) for speed in speeds.values()], padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlabel="million steps per second of random play")
    return picture


def label(speed: float) -> str:
    return f"{speed / 1e6:,.0f} M"


if __name__ == "__main__":
    main()
