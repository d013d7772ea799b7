"""Draws columns of the metrics of runs: one panel per column, all runs in each panel.

    python -m train.plot runs/a runs/b --columns episode_length episode_return/seat_0 --by seconds --output lengths

A line of several seeds is their median, in a band from the lowest to the highest (`train/curves.py`). A win rate of one
run is in a band of 95 % intervals. The dotted line of a win rate is the share of wins of equal players, without draws.

    columns = curves(open_runs(folders), ["win_rate"], by="steps")       # in Python
    figure = draw(columns, by="steps")
"""

import functools
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import matplotlib as mpl
import numpy as np
import tyro
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from train.curves import RATES, By, Curve, chance_of, common_settings, curves, evaluations_of, open_runs
from train.driver.commands import run_command
from train.driver.run_folder import RunFolder

Scale = Literal["auto", "linear", "log"]
X_LABEL = {"steps": "environment steps", "seconds": "seconds of training", "iterations": "iterations"}
Y_LABEL = {"mean_turns": "turns to win"}  # of other columns: the name with spaces
FROM_ZERO = ("mean_turns", "episode_length")  # columns whose axis begins at 0; axes of rates have 0 to 1
EVALUATED = ("win_rate", "mean_turns")  # drawn where no columns are named; the second one only if it changes
MIN_CHANGE = 0.1  # of a column that changes, as a share of its largest value
MARGIN = 1.06  # of the largest value to the end of an axis that begins at 0
FORMATS = (".png", ".svg")
LOG_RATIO = 100  # the x axis is logarithmic where its largest value is more than this many times the smallest
MAX_PANELS_IN_ROW = 3
SHORT_LABEL, LONG_LABEL = 20, 70  # characters: short labels of a legend are three in a row, long ones have more lines
SMALL: Any = {"fontsize": "small", "title_fontsize": "small"}
CHANCE: Any = {"ha": "left", "va": "bottom", "fontsize": "small", "color": "0.3"}  # the text at the dotted line
MAX_MARKERS = 15  # of a line
COLOURS = mpl.color_sequences["petroff10"]  # chosen for colour vision deficiency: Petroff 2021, arXiv:2107.02270
MARKERS = "os^DvPX*<>"
LINE_STYLES = ("-", "--", ":", "-.")  # of lines 1-10, 11-20, ...


@dataclass(frozen=True)
class Arguments:
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or folders that hold run folders, such as the folder of a sweep."""
    columns: tuple[str, ...] = ()
    """Metrics to draw, one panel each: columns of metrics.jsonl. By default win_rate, and mean_turns if it changes."""
    by: By = "steps"
    """The x axis: environment steps, seconds of training, or iterations."""
    output: Path | None = None
    """The picture, written as .png and as .svg. By default learning_curve in the folder, if only one is given."""
    x_scale: Scale = "auto"
    """Scale of the x axis; auto is log where the largest x is more than 100 times the smallest, else linear."""


def plot(arguments: Arguments) -> list[str]:
    """Writes the picture that the arguments describe. Returns its two paths.

    Raises:
      FileNotFoundError: a folder holds no run.
      ValueError: an unknown column, damaged metrics, or no `output` for several runs.
    """
    if not arguments.runs:
        raise ValueError("name the folder of at least one run")
    stem = arguments.output or arguments.runs[0] / "learning_curve"
    is_picture = stem.suffix.lower() in FORMATS
    if not is_picture and stem.suffix.lower().removeprefix(".") in Figure().canvas.get_supported_filetypes():
        raise ValueError(f"output must end in .png or .svg, which are both written, or in neither, not {stem.suffix!r}")
    if arguments.output is None and len(arguments.runs) > 1:
        raise ValueError(f"{len(arguments.runs)} folders need --output: the path of the picture, without .png or .svg")
    runs = open_runs(arguments.runs)
    columns = curves(runs, arguments.columns or EVALUATED, arguments.by)
    columns = columns if arguments.columns else without_constant(columns)
    figure = draw(columns, arguments.by, title_of(runs, columns), arguments.x_scale, chance_of(runs))
    return [str(path) for path in save(figure, stem.with_suffix("") if is_picture else stem)]


def learning_curve(run: RunFolder) -> Path:
    """Writes the win rate and the turns to win of a run into its folder. Returns the path of the PNG.

    Raises ValueError for a run that was never evaluated, or whose metrics are damaged.
    """
    return Path(plot(Arguments(runs=(run.folder,)))[0])


def title_of(runs: Sequence[RunFolder], columns: Mapping[str, Sequence[Curve]]) -> str:
    """Returns the title of a picture: what all runs have in common, and the games of their evaluations."""
    games = evaluations_of(runs) if {*columns} & {*EVALUATED, *RATES} else ""
    if games and any(curve.interval is not None for lines in columns.values() for curve in lines):
        games += "; band: 95 % interval"
    return "\n".join([common_settings(runs), *([f"each point: {games}"] if games else [])])


def without_constant(columns: Mapping[str, list[Curve]]) -> dict[str, list[Curve]]:
    """Returns the columns without the second of EVALUATED, if it is nearly the same everywhere and so tells nothing."""
    values = np.concatenate([curve.values.ravel() for curve in columns[EVALUATED[1]]])
    changes = values.size > 0 and np.ptp(values) > MIN_CHANGE * values.max()
    return {name: lines for name, lines in columns.items() if name == EVALUATED[0] or changes}


# -- the picture ---------------------------------------------------------------------------------------------------


def draw(
    columns: Mapping[str, Sequence[Curve]],
    by: By = "steps",
    title: str = "",
    x_scale: Scale = "auto",
    chance: Fraction | None = None,
) -> Figure:
    """Returns the picture: a panel per column, one legend below.

    Args:
      columns: from `curves`; every column has the same lines.
      by: what `x` counts.
      title: the text above the panels.
      x_scale: of the x axis; "auto" is "log" where the largest x is more than LOG_RATIO times the smallest. Another
        axis begins at 0.
      chance: a dotted line in the panel of the win rate.
    """
    down = -(-len(columns) // MAX_PANELS_IN_ROW)
    across = -(-len(columns) // down)
    labels, legend_title = legend_of([*columns.values()])
    per_row = 1 if max(map(len, labels), default=0) > SHORT_LABEL else 3
    rows = sum(1 + label.count("\n") for label in labels) / per_row + bool(legend_title)
    figure = Figure(figsize=(max(6.0, 4.2 * across), 3.4 * down + 0.6 + 0.2 * rows))
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.08)
    panels: list[Any] = [*figure.subplots(down, across, squeeze=False).flat]
    every_x = np.concatenate([curve.x for lines in columns.values() for curve in lines] or [np.zeros(0)])
    ratio = every_x.max() / every_x.min() if every_x.size and every_x.min() > 0 else 1.0
    if x_scale == "auto":
        x_scale = "log" if ratio > LOG_RATIO else "linear"
    for axes, (column, lines) in zip(panels, columns.items(), strict=False):
        draw_panel(axes, column, lines)
        axes.set(xlabel=X_LABEL[by], xscale=x_scale)
        if column == EVALUATED[0] and chance is not None:
            axes.axhline(float(chance), color="0.4", linestyle=":", linewidth=1)
            place = (0.01, float(chance))
            axes.annotate(f"equal players {chance}", place, xycoords=("axes fraction", "data"), **CHANCE)
        if x_scale == "linear" and every_x.size:
            axes.set_xlim(0, MARGIN * every_x.max())
        if x_scale == "log":
            axes.xaxis.set_major_locator(LogLocator(subs=(1,) if ratio > LOG_RATIO else (1, 2, 5)))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(text_of_tick)
    for axes in panels[len(columns) :]:
        axes.remove()
    figure.suptitle(title, fontsize="medium", wrap=True)
    if legend_title or len(labels) > 1:
        handles = [Line2D([], [], label=label, **style_of(index)) for index, label in enumerate(labels)]
        figure.legend(handles=handles, title=legend_title, ncols=per_row, loc="outside lower center", **SMALL)
    return figure


def legend_of(columns: Sequence[Sequence[Curve]]) -> tuple[list[str], str]:
    """Returns the label of each line, and the title of the legend, which explains the bands of several seeds."""
    seeds = [max(curve.values.shape[0] for curve in of_line) for of_line in zip(*columns, strict=True)]
    labels: list[str] = []
    for curve, count in zip(columns[0], seeds, strict=True):
        named = [curve.label] * bool(curve.label) + [f"{count} seeds"] * (min(seeds) < count or not curve.label)
        labels.append(textwrap.fill(", ".join(named), LONG_LABEL))
    number = f"{min(seeds)} " if min(seeds) == max(seeds) else ""
    title = f"lines: median of {number}seeds; bands: lowest to highest" if max(seeds) > 1 else ""
    return labels, title


def text_of_tick(x: float, position: int | None = None) -> str:
    """Returns a number of the x axis as text, such as "0.5", "200" or "50k"."""
    return EngFormatter(sep="")(x) if abs(x) >= 1000 else f"{x:g}"


def draw_panel(axes: Any, column: str, lines: Sequence[Curve]) -> None:
    """Draws the lines of a column."""
    for index, curve in enumerate(lines):
        style = style_of(index)
        if curve.values.shape[0] > 1:
            lowest, highest = curve.values.min(0), curve.values.max(0)
            axes.fill_between(curve.x, lowest, highest, color=style["color"], alpha=0.2, linewidth=0)
        elif curve.interval is not None:
            axes.fill_between(curve.x, *curve.interval, color=style["color"], alpha=0.2, linewidth=0)
        if curve.x.size:
            marked = max(1, curve.x.size // MAX_MARKERS)
            axes.plot(curve.x, np.median(curve.values, axis=0), markevery=marked, **style)
    axes.set_ylabel(Y_LABEL.get(column, column.replace("_", " ").replace("/", ", ")))
    axes.grid(alpha=0.3)
    if not any(curve.x.size for curve in lines):
        axes.text(0.5, 0.5, "no numbers", ha="center", va="center", transform=axes.transAxes)
    if "_rate" in column:
        axes.set_ylim(-0.02, 1.02)
    elif column in FROM_ZERO:
        highest = max((curve.values.max() for curve in lines if curve.values.size), default=1.0)
        axes.set_ylim(0, MARGIN * highest)


def style_of(index: int) -> dict[str, Any]:
    """Returns the colour, marker and line style of a line. No two of forty lines have the same."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINE_STYLES[index // len(COLOURS) % len(LINE_STYLES)],
        "markersize": 4,
        "linewidth": 1.5,
    }


def new_picture(
    width: float, height: float, down: int = 1, across: int = 1, **options: Any
) -> tuple[Figure, list[Any]]:
    """Returns a picture of that many inches, and its panels with grids, row by row. `options` are of `subplots`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    panels: list[Any] = [*figure.subplots(down, across, squeeze=False, **options).flat]
    for axes in panels:
        axes.grid(alpha=0.3)
    return figure, panels


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes the picture as PNG and as SVG. Returns their paths."""
    paths = [stem.with_name(stem.name + ending) for ending in FORMATS]
    for path in paths:
        write(figure, path)
    return paths


def write(figure: Figure, path: Path) -> None:
    """Writes the picture as PNG or SVG, by the suffix of the path; creates its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 150}
    with mpl.rc_context({"svg.hashsalt": path.stem}):  # so that the same numbers give the same file
        figure.savefig(path, **options)


main = functools.partial(run_command, "train.plot", Arguments, plot)

if __name__ == "__main__":
    main()
