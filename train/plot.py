"""Draws columns of the metrics of runs: one panel per column, all runs in each panel.

    python -m train.plot runs/a runs/b --columns episode_length episode_return/seat_0 --by seconds --output lengths

A line of several seeds is their median, in a band from the lowest to the highest. A win rate of one run is in a band of
95 % intervals. The dotted line of a win rate is the share of wins of equal players, without draws.

    columns = curves(open_runs(folders), ["win_rate"], by="steps")       # in Python
    figure = draw(columns, by="steps")                  # columns: {"win_rate": [Curve(label="gamma=0.5", ...), ...]}
"""

import dataclasses
import functools
import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
import tyro
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, NullFormatter
from numpy.typing import NDArray

from jaxgames.arena import wilson
from train import agents
from train.driver.commands import run_command
from train.driver.learner import format_setting, settings_of
from train.driver.metrics import GAMES, OPPONENT
from train.driver.run_folder import RunFolder

By = Literal["steps", "seconds", "iterations"]
Floats = NDArray[np.float64]

X_COLUMN = {"steps": "steps", "seconds": "seconds", "iterations": "iteration"}  # the column of each `By`
X_LABEL = {"steps": "environment steps", "seconds": "seconds of training", "iterations": "iterations"}
Y_LABEL = {"mean_turns": "turns to win"}  # of other columns: the name with spaces
FROM_ZERO = ("mean_turns", "episode_length")  # columns whose axis begins at 0; axes of rates have 0 to 1
EVALUATED = ("win_rate", "mean_turns")  # drawn where no columns are named
RATES = ("win_rate", "draw_rate", "truncated_rate")  # of the games of an evaluation
MAX_NAMED = 4  # settings in a label
MARGIN = 1.06  # of the largest value to the end of an axis that begins at 0
FORMATS = (".png", ".svg")
LOG_RATIO = 100  # the x axis is logarithmic where its largest value is more than this many times the smallest
MAX_PANELS_IN_ROW = 3
SHORT_LABEL, LONG_LABEL = 20, 70  # characters: short labels of a legend are three in a row, long ones have more lines
SMALL: Any = {"fontsize": "small", "title_fontsize": "small"}
MAX_MARKERS = 15  # of a line
COLOURS = mpl.color_sequences["petroff10"]  # chosen for colour vision deficiency: Petroff 2021, arXiv:2107.02270
MARKERS = "os^DvPX*<>"
LINE_STYLES = ("-", "--", ":", "-.")  # of lines 1-10, 11-20, ...


@dataclass(frozen=True)
class Arguments:
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or folders that hold run folders, such as the folder of a sweep."""
    columns: tuple[str, ...] = ()
    """Metrics to draw, one panel each: columns of metrics.jsonl. By default win_rate and mean_turns."""
    by: By = "steps"
    """The x axis: environment steps, seconds of training, or iterations."""
    output: Path | None = None
    """The picture, written as .png and as .svg. By default learning_curve in the folder, if only one is given."""


def plot(arguments: Arguments) -> list[str]:
    """Writes the picture that the arguments describe. Returns its two paths."""
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
    figure = draw(columns, arguments.by, title_of(runs, columns), chance_of(runs))
    return [str(path) for path in save(figure, stem.with_suffix("") if is_picture else stem)]


# -- lines -----------------------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """A line of a panel: a column of one run, or of several seeds."""

    label: str
    """The settings that differ between the lines; "" if there are none."""
    x: Floats  # float64[points], increasing; empty where no run has a number
    values: Floats  # float64[runs, points], finite
    interval: Floats | None = None
    """float64[2, points], the ends of the 95 % intervals of a rate; None for several runs, and for what is no rate."""


def open_runs(folders: Iterable[Path]) -> list[RunFolder]:
    """Returns the runs in the folders, each once; a folder without a run stands for those one or two levels below."""
    runs: dict[Path, RunFolder] = {}
    for folder in folders:
        inside: list[Path] = []
        if not (folder / "config.json").exists():
            inside = [path.parent for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/config.json")]
        for each in sorted(inside) or [folder]:
            runs.setdefault(each.resolve(), agents.open_run(each))
    return [*runs.values()]


def curves(runs: Sequence[RunFolder], columns: Sequence[str], by: By = "steps") -> dict[str, list[Curve]]:
    """Returns the lines of every column, in the order of the runs. Every column has the same lines.

    Runs that differ only in their seed are one line. It lies where all of them have values: it begins and ends with the
    shortest of them. Where only some of them have a value, the others are interpolated linearly. A run without the
    column is left out. If no run of a line has the column, the line is empty.

    Args:
      runs: from `open_runs` or `train.agents.open_run`.
      columns: names of metrics, such as "win_rate" or "episode_return/seat_0".
      by: what `x` counts: environment steps, seconds of training, or iterations.

    Raises ValueError for a column that no run has, and for a row that is damaged.
    """
    rows = {run.folder: run.rows() for run in runs}
    known = list(dict.fromkeys(name for of_run in rows.values() for row in of_run for name in row))
    for column in columns:
        if column not in known:
            hint = "" if "win_rate" in known else "; evaluations add win_rate and others: train with --evaluate-every"
            listed = f"no run has the column {column!r}; the columns are {', '.join(known)}{hint}"
            raise ValueError(listed if known else "the runs have no metrics yet")
    lines = [(label, {run.folder: rows[run.folder] for run in of_line}) for label, of_line in lines_of(runs).items()]
    return {column: [curve_of(label, column, X_COLUMN[by], seeds) for label, seeds in lines] for column in columns}


def curve_of(label: str, column: str, x_column: str, rows: Mapping[Path, Sequence[Mapping[str, Any]]]) -> Curve:
    """Returns the line of runs that differ only in their seed, from the rows of each run's metrics by its folder."""
    measured = {folder: [row for row in of_run if row.get(column) is not None] for folder, of_run in rows.items()}
    seeds = [points_of(folder, of_run, column, x_column) for folder, of_run in measured.items() if of_run]
    if not seeds:
        return Curve(label, np.zeros(0), np.zeros((0, 0)))
    every_x = np.unique(np.concatenate([x for x, _ in seeds]))
    common = (every_x >= max(x[0] for x, _ in seeds)) & (every_x <= min(x[-1] for x, _ in seeds))
    values = np.stack([np.interp(every_x[common], x, y) for x, y in seeds])
    (first, *others), interval = measured.values(), None
    if column in RATES and not others and all(row.get(GAMES) for row in first):
        interval = np.array([wilson(round(row[column] * row[GAMES]), row[GAMES]) for row in first], np.float64).T
    return Curve(label, every_x[common], values, interval)


def points_of(folder: Path, rows: Sequence[Mapping[str, Any]], column: str, x_column: str) -> Floats:
    """Returns float64[2, points], x and y of the rows. Raises ValueError unless they are numbers, and x grows."""
    for before, row in itertools.pairwise([{}, *rows]):
        place = f"{folder / 'metrics.jsonl'}, iteration {row.get('iteration')}"
        for name in (x_column, column):
            if type(row.get(name)) not in (int, float):
                raise ValueError(f"{place}: {name} must be a number, not {row.get(name)!r}")
        if before and row[x_column] <= before[x_column]:
            raise ValueError(f"{place}: {x_column} must be more than {before[x_column]:g}, its last value")
    return np.array([(row[x_column], row[column]) for row in rows], np.float64).T


# -- labels and titles -----------------------------------------------------------------------------------------------


def lines_of(runs: Sequence[RunFolder]) -> dict[str, list[RunFolder]]:
    """Returns the runs of every line by its label: the settings that differ, or the folders if these are many."""
    settings = [{"learner": run.learner.name} | settings_of(run.config) for run in runs]
    names = list(dict.fromkeys(name for of_run in settings for name in of_run if name != "seed"))
    differ = [name for name in names if any(of_run.get(name) != settings[0].get(name) for of_run in settings)]
    lines: dict[str, list[RunFolder]] = {}
    for run, of_run in zip(runs, settings, strict=True):
        named = [(name, format_setting(of_run[name])) for name in differ if name in of_run]
        label = ", ".join(text if name == "env" else f"{name}={text}" for name, text in named)
        lines.setdefault(label, []).append(run)
    if len(differ) <= MAX_NAMED:
        return lines
    return {", ".join(str(run.folder) for run in of_line): of_line for of_line in lines.values()}


def common_settings(runs: Sequence[RunFolder]) -> str:
    """Returns the values that identify all of the runs as the title of a picture, without seeds and default values."""
    first, config = runs[0].learner.headline, runs[0].config
    default = {field.name: field.default for field in dataclasses.fields(config)}
    names = [name for name in first if name == "env" or (name != "seed" and first[name] != default.get(name))]
    same = [name for name in names if all(run.learner.headline.get(name) == first[name] for run in runs)]
    return ", ".join(str(first[name]) if name == "env" else f"{name}={first[name]}" for name in same)


def chance_of(runs: Sequence[RunFolder]) -> Fraction | None:
    """Returns the share of games that each of equal players wins; None if the runs differ in it, or if a game is drawn.

    Where games are drawn or truncated, equal players win less, and how much less depends on the players.
    """
    if any(row.get(name, 0) > 0 for run in runs for row in run.rows() for name in ("draw_rate", "truncated_rate")):
        return None
    players = {run.learner.env.num_players for run in runs}
    return Fraction(1, players.pop()) if len(players) == 1 and players != {1} else None


def title_of(runs: Sequence[RunFolder], columns: Mapping[str, Sequence[Curve]]) -> str:
    """Returns the title of a picture: what all runs have in common, and the games of their evaluations."""
    played = dict.fromkeys((row[GAMES], row[OPPONENT]) for run in runs for row in run.rows() if OPPONENT in row)
    if not played or not {*columns} & {*EVALUATED, *RATES}:
        return common_settings(runs)
    games = " or ".join(f"{count:,} games against {opponent}" for count, opponent in played)
    has_intervals = any(curve.interval is not None for lines in columns.values() for curve in lines)
    return f"{common_settings(runs)}\neach point: {games}{'; band: 95 % interval' * has_intervals}"


# -- the picture ---------------------------------------------------------------------------------------------------


def draw(
    columns: Mapping[str, Sequence[Curve]],
    by: By = "steps",
    title: str = "",
    chance: Fraction | None = None,
) -> Figure:
    """Returns the picture: a panel per column, one legend below.

    Args:
      columns: from `curves`; every column has the same lines.
      by: what `x` counts.
      title: the text above the panels.
      chance: a dotted line in the panel of the win rate.
    """
    down = -(-len(columns) // MAX_PANELS_IN_ROW)
    across = -(-len(columns) // down)
    labels, legend_title = legend_of([*columns.values()])
    per_row = 1 if max(map(len, labels), default=0) > SHORT_LABEL else 3
    rows = "\n".join([*labels, legend_title]).count("\n") / per_row + 1
    figure, panels = new_picture(max(6.0, 4.2 * across), 3.4 * down + 0.6 + 0.2 * rows, down, across)
    every_x = np.concatenate([curve.x for lines in columns.values() for curve in lines] or [np.zeros(0)])
    is_log = bool(every_x.size) and every_x.max() > LOG_RATIO * every_x.min() > 0
    for axes, (column, lines) in zip(panels, columns.items(), strict=False):
        draw_panel(axes, column, lines)
        axes.set(xlabel=X_LABEL[by], xscale="log" if is_log else "linear")
        if column == EVALUATED[0] and chance is not None:
            axes.axhline(float(chance), color="0.4", linestyle=":", linewidth=1)
            place = axes.get_yaxis_transform()  # x in parts of the width, y in the unit of the axis
            axes.text(0.01, float(chance), f"equal players {chance}", transform=place, fontsize="small", va="bottom")
        if is_log:
            axes.xaxis.set_minor_formatter(NullFormatter())
        elif every_x.size:
            axes.set_xlim(0, MARGIN * every_x.max())
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
        named = f"{curve.label}, {count} seeds".removeprefix(", ") if min(seeds) < count else curve.label
        labels.append(textwrap.fill(named, LONG_LABEL))
    number = f"{min(seeds)} " if min(seeds) == max(seeds) else ""
    return labels, f"lines: median of {number}seeds; bands: lowest to highest" if max(seeds) > 1 else ""


def text_of_tick(x: float, position: int | None = None) -> str:
    """Returns a number of the x axis as text, such as "0.5", "200" or "50k"."""
    return EngFormatter(sep="")(x) if abs(x) >= 1000 else f"{x:g}"


def draw_panel(axes: Any, column: str, lines: Sequence[Curve]) -> None:
    """Draws the lines of a column."""
    for index, curve in enumerate(lines):
        style = style_of(index)
        band = (curve.values.min(0), curve.values.max(0)) if curve.values.shape[0] > 1 else curve.interval
        if band is not None:
            axes.fill_between(curve.x, *band, color=style["color"], alpha=0.2, linewidth=0)
        if curve.x.size:
            marked = max(1, curve.x.size // MAX_MARKERS)
            axes.plot(curve.x, np.median(curve.values, axis=0), markevery=marked, **style)
    axes.set_ylabel(Y_LABEL.get(column, column.replace("_", " ").replace("/", ", ")))
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
