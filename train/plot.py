"""Draws columns of the metrics of runs: one panel per column, all runs in each panel.

    python -m train.plot runs/first
    python -m train.plot runs/a runs/b --columns episode_length episode_return/seat_0 --by seconds --output lengths

Runs that differ only in their seed are one line: the median of the seeds, in a band from the lowest to the highest.
Every other run has a line of its own. Its label is made of the settings that differ between the lines.

In Python:

    columns = curves([agents.open_run(folder) for folder in folders], ["win_rate"], by="steps")
    figure = draw(columns, by="steps")
"""

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import matplotlib as mpl
import numpy as np
import tyro
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from train import agents
from train.driver.run_folder import RunFolder
from train.driver.stored_config import settings_of

mpl.use("Agg")

By = Literal["steps", "seconds", "iterations"]
X_COLUMN = {"steps": "steps", "seconds": "seconds", "iterations": "iteration"}  # the column of each `By`
X_LABEL = {"steps": "environment steps", "seconds": "seconds of training", "iterations": "iterations"}
Y_LABEL = {"mean_turns": "turns to win"}  # of other columns: the name with spaces
FROM_ZERO = ("mean_turns", "episode_length")  # columns whose axis begins at 0; those of rates have 0 to 1
EVALUATED = ("win_rate", "mean_turns")  # drawn where no columns are named
FORMATS = (".png", ".svg")
LOG_RATIO = 100  # the x axis is logarithmic where its largest value is more than this many times the smallest
MAX_PANELS_IN_ROW = 3
MAX_LABEL_WIDTH = 50  # characters of a line in the legend
CHARACTERS_PER_INCH = 15  # of the legend, at most
MAX_MARKERS = 15  # of a line
COLOURS = mpl.color_sequences["petroff10"]  # chosen for colour vision deficiency: Petroff 2021, arXiv:2107.02270
MARKERS = "os^DvPX*<>"
LINE_STYLES = ("-", "--", ":", "-.")  # of lines 1-10, 11-20, ...

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Arguments:
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or folders that hold run folders, such as that of a sweep."""
    columns: tuple[str, ...] = EVALUATED
    """Metrics to draw, one panel each: columns of metrics.jsonl."""
    by: By = "steps"
    """What the x axis counts."""
    output: Path | None = None
    """The picture, written as .png and as .svg. By default learning_curve in the folder, if only one is given."""
    log_x: bool | None = None
    """Whether the x axis is logarithmic. If not given, it is where the largest x is over 100 times the smallest."""


class Curve(NamedTuple):
    """A line of a panel: a column of one run, or of runs that differ only in their seed."""

    label: str
    """The settings that differ from those of the other lines; "" if there are none."""
    x: Floats  # float64[points], increasing; empty where no run has a number
    values: Floats  # float64[runs, points], finite
    interpolated: bool
    """Whether some values lie between those of their run, on a straight line."""
    remark: str
    """What the line leaves out, and why; "" if nothing."""


class Points(NamedTuple):
    """The numbers of a column in the metrics of a run."""

    folder: Path
    x: Floats  # float64[points]
    y: Floats  # float64[points]


def main() -> None:
    """The command `python -m train.plot`."""
    arguments = tyro.cli(Arguments, prog="python -m train.plot", description="Draw the learning curves of runs.")
    try:
        for path in plot(arguments):
            print(path)
    except (ValueError, OSError) as error:
        sys.exit(f"train.plot: {error}")


def plot(arguments: Arguments) -> list[Path]:
    """Writes the picture that the arguments describe. Returns its two paths.

    Raises:
      FileNotFoundError: a folder holds no run.
      ValueError: an unknown column, damaged metrics, a changed config.json, or a wrong `output`.
    """
    if not arguments.runs:
        raise ValueError("name the folder of at least one run")
    if not arguments.columns:
        raise ValueError("name at least one column")
    stem = arguments.output or arguments.runs[0] / "learning_curve"
    if arguments.output is None and len(arguments.runs) > 1:
        raise ValueError(f"{len(arguments.runs)} folders need --output: the path of the picture, without .png or .svg")
    stem = check_output(stem)
    runs = open_runs(arguments.runs)
    columns = curves(runs, arguments.columns, arguments.by)
    for curve in [curve for lines in columns.values() for curve in lines]:
        if curve.remark:
            print(curve.remark, file=sys.stderr)
    return save(draw(columns, arguments.by, common_settings(runs), arguments.log_x), stem)


def learning_curve(run: RunFolder) -> Path:
    """Writes the win rate and the turns to win of a run into its folder. Returns the path of the PNG.

    Raises ValueError for a run that was never evaluated, or whose metrics are damaged.
    """
    figure = draw(curves([run], EVALUATED), title=common_settings([run]))
    return save(figure, run.folder / "learning_curve")[0]


def open_runs(folders: Iterable[Path]) -> list[RunFolder]:
    """Returns the runs in the folders, each once. A folder without a run stands for the runs one or two levels below.

    Raises FileNotFoundError if a folder holds no run, and ValueError if a config.json was changed since its training.
    """
    found: dict[Path, RunFolder] = {}
    for folder in folders:
        inside: list[Path] = []
        if not (folder / "config.json").exists():
            inside = [path.parent for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/config.json")]
        for each in sorted(inside) or [folder]:
            found.setdefault(each.resolve(), agents.open_run(each))
    for run in found.values():
        run.check_settings()
    return [*found.values()]


def curves(runs: Sequence[RunFolder], columns: Sequence[str], by: By = "steps") -> dict[str, list[Curve]]:
    """Returns the lines of every column, in the order of the runs. Every column has the same lines.

    Runs that differ only in their seed are one line. It lies where all of them have values: it begins and ends with the
    shortest of them. Where only some of them have a value, the others are interpolated linearly. A run without the
    column is left out. If no run of a line has the column, the line is empty.

    Args:
      runs: from `open_runs` or `train.agents.open_run`.
      columns: names of metrics, such as "win_rate" or "episode_return/seat_0".
      by: what `x` counts: environment steps, seconds of training, or iterations.

    Raises:
      ValueError: a column that no run has, or a row that is damaged.
    """
    if by not in get_args(By):
        raise ValueError(f"by must be one of {', '.join(get_args(By))}, not {by!r}")
    rows = {run.folder: run.rows() for run in runs}
    known = list(dict.fromkeys(name for of_run in rows.values() for row in of_run for name in row))
    for column in columns:
        if column not in known:
            raise ValueError(unknown_column(column, known))
    lines = lines_of(runs)
    return {
        column: [
            curve_of(label, column, [points_of(run.folder, rows[run.folder], column, by) for run in of_line])
            for label, of_line in lines.items()
        ]
        for column in columns
    }


def unknown_column(column: str, known: Sequence[str]) -> str:
    """The error for a column that no run has."""
    if not known:
        return "the runs have no metrics yet"
    hint = "; evaluations add win_rate and others: train with --evaluate-every" if "win_rate" not in known else ""
    return f"no run has the column {column!r}; the columns are {', '.join(known)}{hint}"


def points_of(folder: Path, rows: Sequence[Mapping[str, Any]], column: str, by: By) -> Points:
    """Returns the rows that have a number in the column. Null means that there was nothing to measure.

    Raises ValueError, with the path and the line, for a value that is no number.
    """
    x: list[float] = []
    y: list[float] = []
    for number, row in enumerate(rows, start=1):
        if row.get(column) is None:
            continue
        place = f"{folder / 'metrics.jsonl'}, line {number}"
        for name in (X_COLUMN[by], column):
            value = row.get(name, "nothing")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{place}: {name} must be a number, not {value!r}")
            if name == X_COLUMN[by] and x and value <= x[-1]:
                raise ValueError(f"{place}: {name} must be more than {x[-1]:g}, its last value, not {value:g}")
        x.append(row[X_COLUMN[by]])
        y.append(row[column])
    return Points(folder, np.array(x, np.float64), np.array(y, np.float64))


def curve_of(label: str, column: str, seeds: Sequence[Points]) -> Curve:
    """Returns the line of runs that differ only in their seed."""
    present = [points for points in seeds if points.x.size]
    remarks = [f"{points.folder} has no numbers in {column}" for points in seeds if not points.x.size]
    if not present:
        return Curve(label, np.zeros(0), np.zeros((0, 0)), False, "; ".join(remarks))
    begin, end = max(points.x[0] for points in present), min(points.x[-1] for points in present)
    every_x = np.unique(np.concatenate([points.x for points in present]))
    x = every_x[(begin <= every_x) & (every_x <= end)]
    shortest = next(points.folder for points in present if points.x[-1] == end)
    if not x.size:
        remarks.append(f"{column} has no line: {shortest} ends at {end:g}, before another seed begins at {begin:g}")
    elif every_x[-1] > end:
        remarks.append(f"{shortest} ends at {end:g}, before other seeds; so does the line of {column}")
    values = np.stack([np.interp(x, points.x, points.y) for points in present])
    interpolated = any(not np.isin(x, points.x).all() for points in present)
    return Curve(label, x, values, interpolated, "; ".join(remarks))


# -- labels --------------------------------------------------------------------------------------------------------


def lines_of(runs: Sequence[RunFolder]) -> dict[str, list[RunFolder]]:
    """Returns the runs of every line by its label."""
    settings = [{"learner": run.learner.name} | settings_of(run.config) for run in runs]
    names = list(dict.fromkeys(name for of_run in settings for name in of_run if name != "seed"))
    differ = [name for name in names if not all_equal(of_run.get(name) for of_run in settings)]
    if "env" in differ:  # many settings have another default for another game
        differ = [name for name in differ if name == "env" or not follows_from("env", name, settings)]
    lines: dict[str, list[RunFolder]] = {}
    for run, of_run in zip(runs, settings, strict=True):
        named = [(name, text_of(of_run[name])) for name in differ if name in of_run]
        label = ", ".join(text if name == "env" else f"{name}={text}" for name, text in named)
        lines.setdefault(label, []).append(run)
    return lines


def follows_from(cause: str, name: str, settings: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether all runs with the same value of `cause` have the same value of `name`."""
    values = dict.fromkeys(of_run[cause] for of_run in settings)
    return all(all_equal(of_run.get(name) for of_run in settings if of_run[cause] == value) for value in values)


def all_equal(values: Iterable[Any]) -> bool:
    """Returns whether there are no two different values."""
    listed = list(values)
    return all(value == listed[0] for value in listed)


def text_of(value: Any) -> str:
    """Returns the value of a setting as it is typed on a command line."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def common_settings(runs: Sequence[RunFolder]) -> str:
    """Returns the values that identify all of the runs, without their seeds, as the title of a picture."""
    first = runs[0].learner.summary
    same = [name for name in first if name != "seed" and all_equal(run.learner.summary.get(name) for run in runs)]
    return ", ".join(str(first[name]) if name == "env" else f"{name}={first[name]}" for name in same)


# -- the picture ---------------------------------------------------------------------------------------------------


def draw(
    columns: Mapping[str, Sequence[Curve]], by: By = "steps", title: str = "", log_x: bool | None = None
) -> Figure:
    """Returns the picture: a panel per column, one legend below.

    Args:
      columns: from `curves`; every column has the same lines.
      by: what `x` counts.
      title: the text above the panels.
      log_x: whether the x axis is logarithmic; None: where the largest x is more than LOG_RATIO times the smallest.
    """
    down = -(-len(columns) // MAX_PANELS_IN_ROW)
    across = -(-len(columns) // down)
    figure = Figure(figsize=(max(6.0, 4.2 * across), 3.4 * down + 0.8))
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.08)
    panels: list[Any] = [*figure.subplots(down, across, squeeze=False).flat]
    every_x = np.concatenate([curve.x for lines in columns.values() for curve in lines] or [np.zeros(0)])
    if log_x is None:
        log_x = bool(every_x.size) and every_x.max() > LOG_RATIO * every_x.min()
    for axes, (column, lines) in zip(panels, columns.items(), strict=False):
        draw_panel(axes, column, lines)
        axes.set(xlabel=X_LABEL[by], xscale="log" if log_x else "linear")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    for axes in panels[len(columns) :]:
        axes.remove()
    if title:
        figure.suptitle("\n".join(textwrap.wrap(title, 24 * across + 12)))
    draw_legend(figure, [*columns.values()])
    return figure


def draw_panel(axes: Any, column: str, lines: Sequence[Curve]) -> None:
    """Draws the lines of a column."""
    for index, curve in enumerate(lines):
        style = style_of(index)
        if curve.values.shape[0] > 1:
            lowest, highest = curve.values.min(0), curve.values.max(0)
            axes.fill_between(curve.x, lowest, highest, color=style["color"], alpha=0.2, linewidth=0)
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
        axes.set_ylim(bottom=0)


def draw_legend(figure: Figure, columns: Sequence[Sequence[Curve]]) -> None:
    """Draws the legend below the panels; none for a single run."""
    handles: list[Line2D | Patch] = []
    seeds = [max(curve.values.shape[0] for curve in of_line) for of_line in zip(*columns, strict=True)]
    for index, (curve, count) in enumerate(zip(columns[0], seeds, strict=True)):
        named = [curve.label] * bool(curve.label) + [f"{count} seeds"] * (min(seeds) < count)
        label = "\n".join(textwrap.wrap(", ".join(named), MAX_LABEL_WIDTH, break_long_words=False))
        handles.append(Line2D([], [], label=label, **style_of(index)))
    if max(seeds) > 1:
        drawn = [curve for lines in columns for curve in lines]
        number = f"{min(seeds)} " if min(seeds) == max(seeds) else ""
        between = ", interpolated" if any(curve.interpolated for curve in drawn) else ""
        label = f"line: median of {number}seeds{between}; band: lowest to highest"
        handles.append(Patch(color="0.8", label=label))
    if len(handles) > 1:
        width = max(len(line) for handle in handles for line in str(handle.get_label()).splitlines())
        across = max(1, int(figure.get_figwidth() * CHARACTERS_PER_INCH) // (width + 8))
        figure.legend(handles=handles, loc="outside lower center", ncols=min(across, len(handles)), fontsize="small")


def style_of(index: int) -> dict[str, Any]:
    """Returns the colour, marker and line style of a line. No two of forty lines have the same."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINE_STYLES[index // len(COLOURS) % len(LINE_STYLES)],
        "markersize": 4,
        "linewidth": 1.5,
    }


def check_output(path: Path) -> Path:
    """Returns the path without .png or .svg. Raises ValueError if it has the ending of another format."""
    if path.suffix.lower() in FORMATS:
        return path.with_suffix("")
    if path.suffix.lower().removeprefix(".") in Figure().canvas.get_supported_filetypes():
        raise ValueError(f"output must end in .png or .svg, which are both written, or in neither, not {path.suffix!r}")
    return path


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes the picture as PNG and as SVG. Returns their paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(stem.name + ending) for ending in FORMATS]
    figure.savefig(paths[0], dpi=150)
    with mpl.rc_context({"svg.hashsalt": stem.name}):  # so that the same curves give the same file
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


if __name__ == "__main__":
    main()
