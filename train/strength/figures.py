"""Pictures of how strong the checkpoints of a run are, beside the numbers of the study that the measures are from.

The study is Ahmad, Sturtevant & Bowling, Measuring the Solution Strength of Learning Agents in Adversarial Perfect
Information Games. It trains AlphaZero on the 4 x 4 diamond with three pieces, 50 iterations of 800 games. The numbers
of its pictures are not available. So its lines have only the numbers of its text and Table 2. Figures 7 to 9 have none.
All of them are drawn only for runs on its board.

The x axis counts games of self-play, which both have. For a run they are its steps divided by the length of its games.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from jaxgames import Env
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from train.curves import common_settings
from train.driver.run_folder import RunFolder
from train.plot import MAX_MARKERS, save, style_of, text_of_tick

STUDY = "Ahmad, Sturtevant & Bowling"
STUDY_GAMES = 800  # per iteration of the study
STUDY_ITERATIONS = 50
STUDY_TABLE = {0: (0.886, 147_813), 10: (0.955, 45_390), 20: (0.980, 22_633), 30: (0.975, 35_272), 40: (0.976, 25_236)}
STATED = {"first player wins": (12, 1.0), "values right": (18, 1.0), "plies": (20, 5.0)}  # from an iteration on
STUDY_STYLE: Any = {"color": "black", "marker": "D", "markersize": 5, "linewidth": 1.2, "linestyle": "--"}
MISTAKES = {  # the tables of mistakes, and what their first columns count
    "ply": "plies played, in states that occur",
    "distance": "plies from the start, in all states",
    "share": "share of winning moves, in won states",
}
LINEAR_UP_TO = 1000  # games; the axis is logarithmic from there on


class Line(NamedTuple):
    """A line of a panel."""

    label: str
    x: Sequence[float]  # games of self-play
    y: Sequence[float]
    margin: Sequence[float] | None = None  # half the width of the 95 % interval


class Panel(NamedTuple):
    """One panel: lines of the run, and the numbers that the study states."""

    title: str
    y_label: str
    lines: Sequence[Line]
    study: Line | None
    is_rate: bool = False
    """True: the y axis is drawn from 0 to 1."""


def draw_checkpoints(run: RunFolder, rows: Sequence[Mapping[str, Any]], output: Path) -> list[Path]:
    """Writes the pictures of a run into a folder, as PNG and SVG. Returns their paths.

    Table 2 needs the weak measures, and the picture of mistakes a game that has tables of them.

    Args:
      run: its metrics give the panels of self-play.
      rows: of `train.strength` for its checkpoints, with `agent`, `search` and the measures.

    Raises ValueError for a run without metrics.
    """
    has_study = is_board_of_study(run.learner.env)
    content = panels(run.rows(), rows, games_played(run))
    if not has_study:
        content = [panel._replace(study=None) for panel in content]
    pictures = {"figures": draw(content, common_settings([run]))}
    if all("weak_solved" in row for row in rows):
        pictures["table_2"] = draw_table(rows, has_study)
    if any(f"mistakes_by_{name}" in row for row in rows for name in MISTAKES):
        pictures["mistakes"] = draw_mistakes(rows)
    return [path for name, figure in pictures.items() for path in save(figure, output / name)]


def is_board_of_study(env: Env[Any]) -> bool:
    """Returns whether the game is on the study's board, the 4 x 4 diamond with three pieces."""
    return isinstance(env, ChineseCheckersDiamond) and (env.size, env.pieces) == (4, 3)


def games_played(run: RunFolder) -> Mapping[int, float]:
    """Returns the games of self-play until the end of each iteration, by iteration; 0 for iteration 0.

    An iteration has as many games as its steps divided by the mean length of its games. Of an iteration in which no
    game ended, the length before counts.

    Raises ValueError for a run without metrics.
    """
    games, total, steps, length = {0: 0.0}, 0.0, 0, None
    for row in run.rows():
        length = row.get("episode_length") or length
        if length is not None:
            total += (row["steps"] - steps) / length
            steps = row["steps"]
        games[row["iteration"]] = total
    if length is None:
        raise ValueError(f"{run.folder} has no metrics of finished games yet: train it first")
    return games


# -- the panels ----------------------------------------------------------------------------------------------------


def panels(
    metrics: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], games: Mapping[int, float]
) -> list[Panel]:
    """Returns the panels: Figures 4 to 6 and 7 to 9 of the study, each row with a column of Table 2 at its end."""

    def play(label: str, *columns: str) -> list[Line]:
        return lines_of_metrics(metrics, games, label, columns)

    def both(strong: str, weak: str, margin: str | None = None) -> list[Line]:
        weak_margin = None if margin is None else f"weak_{margin}"
        of_all = lines_of_rows(rows, games, "all states", strong, margin)
        return of_all + lines_of_rows(rows, games, "weak states", weak, weak_margin)

    winners = play("first player", "episode_win_rate/seat_0") + play("second player", "episode_win_rate/seat_1")
    draws = play("draws", "episode_draw_rate", "episode_truncated_rate")
    wins, states = (study_line([*STUDY_TABLE], [entry[at] for entry in STUDY_TABLE.values()]) for at in (0, 1))
    accuracy = play("values", "self_play_value_accuracy")
    first_player = stated("first player wins", "first player, ")
    return [
        Panel("Figure 4: winners in self-play", "share of games", winners + draws, first_player, True),
        Panel("Figure 5: values in self-play", "accuracy", accuracy, stated("values right"), True),
        Panel("Figure 6: length of self-play", "plies", play("games", "episode_length"), stated("plies")),
        Panel("Table 2: win %", "share of final states", lines_of_rows(rows, games, "", "weak_states"), wins),
        Panel("Figure 7: values", "mean squared error", both("value_mse", "weak_value_mse", "value_mse_margin"), None),
        Panel("Figure 8: values", "accuracy", both("value_accuracy", "weak_value_accuracy"), None, True),
        Panel("Figure 9: actions", "share of best actions", both("strong_action", "action_weak"), None),
        Panel("Table 2: states", "agent to move", lines_of_rows(rows, games, "", "agent_states"), states),
    ]


def lines_of_metrics(
    metrics: Sequence[Mapping[str, Any]], games: Mapping[int, float], label: str, columns: Sequence[str]
) -> list[Line]:
    """Returns the line of the sum of some metrics; none if the first of them was never logged."""
    known = [row for row in metrics if row.get(columns[0]) is not None]
    values = [sum(row.get(column) or 0.0 for column in columns) for row in known]
    return [Line(label, [games[row["iteration"]] for row in known], values)] if known else []


def lines_of_rows(
    rows: Sequence[Mapping[str, Any]], games: Mapping[int, float], label: str, column: str, margin: str | None = None
) -> list[Line]:
    """Returns a line of a measure for each search that has it."""
    lines: list[Line] = []
    for search, of_search in by_search(rows).items():
        known = [row for row in of_search if row.get(column) is not None]
        if known:
            name = ", ".join(filter(None, (label, search or "network alone")))
            x, y = [games[iteration_of(row)] for row in known], [row[column] for row in known]
            margins = [row[margin] for row in known if margin in row] if margin else []
            lines.append(Line(name, x, y, margins or None))  # the values of Dots and Boxes have none
    return lines


def stated(name: str, label: str = "") -> Line:
    """Returns the line of a value that the study states from an iteration to its end."""
    iteration, value = STATED[name]
    return study_line([iteration, STUDY_ITERATIONS], [value, value], label)


def study_line(iterations: Sequence[int], values: Sequence[float], label: str = "") -> Line:
    """Returns a line of the study."""
    return Line(f"{label}{STUDY}", [STUDY_GAMES * iteration for iteration in iterations], values)


def by_search(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Returns the rows of each search, by iteration."""
    searches: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=iteration_of):
        searches.setdefault(row["search"], []).append(row)
    return searches


def iteration_of(row: Mapping[str, Any]) -> int:
    """Returns the iteration of a row, whose agent is a text such as runs/first@40."""
    return int(row["agent"].rpartition("@")[2])


# -- the pictures --------------------------------------------------------------------------------------------------


def draw(content: Sequence[Panel], title: str) -> Figure:
    """Returns the picture of the panels, four in a row, with a legend in each."""
    figure = Figure(figsize=(18, 8.5), layout="constrained")
    last = max(line.x[-1] for panel in content for line in (*panel.lines, panel.study) if line is not None)
    for axes, panel in zip(figure.subplots(2, 4).flat, content, strict=True):
        for index, line in enumerate(panel.lines):
            style = style_of(index)
            axes.plot(line.x, line.y, label=line.label, markevery=max(1, len(line.x) // MAX_MARKERS), **style)
            if line.margin is not None:
                below, above = np.subtract(line.y, line.margin), np.add(line.y, line.margin)
                axes.fill_between(line.x, below, above, color=style["color"], alpha=0.2, linewidth=0)
        if panel.study is not None:
            axes.plot(panel.study.x, panel.study.y, label=panel.study.label, **STUDY_STYLE)
        if not panel.lines:
            axes.text(0.5, 0.5, "not logged by this run", ha="center", va="center", transform=axes.transAxes)
        axes.set(title=panel.title, ylabel=panel.y_label, xlabel="games of self-play")
        axes.set_xscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.5)
        axes.xaxis.set_major_formatter(text_of_tick)
        axes.set_xlim(0, 1.2 * last)
        axes.set_xticks([0, *(10**power for power in range(3, 9) if 10**power <= last)], minor=False)
        axes.grid(alpha=0.3)
        if panel.is_rate:
            axes.set_ylim(-0.02, 1.02)
        if panel.lines or panel.study is not None:
            axes.legend(fontsize="x-small")
    figure.suptitle(title)
    return figure


def draw_table(rows: Sequence[Mapping[str, Any]], has_study: bool) -> Figure:
    """Returns the picture of Table 2: win % and states of the run's checkpoints with each search, below the study's."""
    of_study = STUDY_TABLE if has_study else {}
    cells = [
        [STUDY, "-" if at == 0 else f"{at:,}", "1,024 simulations", f"{share:.3f}", f"{states:,}", "no"]
        for at, (share, states) in of_study.items()
    ]
    for search, of_search in by_search(rows).items():
        for row in of_search:
            at, solved = iteration_of(row), "yes" if row["weak_solved"] else "no"
            share = "-" if row["weak_states"] is None else f"{row['weak_states']:.3f}"
            states = f"{row['agent_states']:,}"
            name = row["agent"].rpartition("@")[0]
            cells.append([name, "-" if at == 0 else f"{at:,}", search or "network alone", share, states, solved])
    heads = ["agent", "iterations", "search", "win %", "states", "weakly solved"]
    figure = Figure(figsize=(10, 0.6 + 0.26 * (len(cells) + 1)), layout="constrained")
    axes: Any = figure.subplots()
    axes.axis("off")
    table = axes.table(cellText=cells, colLabels=heads, loc="center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.auto_set_column_width(range(len(heads)))
    axes.set_title("Table 2: final states that are won, and states with the agent to move")
    return figure


def draw_mistakes(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns the picture of where the last checkpoint makes mistakes, with each search."""
    last = max(map(iteration_of, rows))
    return mistakes_of(
        {row["search"] or "network alone": row for row in rows if iteration_of(row) == last},
        f"Mistakes of the checkpoint of iteration {last:,}, as a share of the states where one is possible",
    )


def mistakes_of(rows: Mapping[str, Mapping[str, Any]], title: str) -> Figure:
    """Returns the picture of where agents make mistakes; `rows` has their measures by the labels of the lines.

    The y axis is the share of mistakes in the states in which some move is a mistake. A line is left out where its row
    has no such table.
    """
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    for axes, (name, label) in zip(figure.subplots(1, 3), MISTAKES.items(), strict=True):
        for index, (agent, row) in enumerate(rows.items()):
            table = row.get(f"mistakes_by_{name}")
            if table is None:  # not a measure of this game
                continue
            known = [at for at, decisive in enumerate(table["decisive"]) if decisive]
            x = [table[name][at] for at in known]
            y = [table["mistakes"][at] / table["decisive"][at] for at in known]
            axes.plot(x, y, label=agent, **style_of(index))
        axes.set(xlabel=label, ylabel="mistakes")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="x-small")
    figure.suptitle(title)
    return figure
