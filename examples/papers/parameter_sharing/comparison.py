"""The table, the differences and the picture of the sharing comparison, from the curves of finished runs."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from examples.papers._experiment import Column, new_picture
from examples.papers._intervals import Interval, difference, draw_band, exact_p, format_interval, format_p, interval
from examples.papers.parameter_sharing.study import MEASURES, PAPER, ROUNDS, WINDOW, published
from train import plot
from train.driver.tables import markdown

Curves = Mapping[str, Any]  # steps [iterations]; columns of evaluation.COLUMNS [seeds][iterations]

# The panels of Figure 2, row by row: column, label, and the published curve that is drawn beside it.
PANELS = (
    ("win_rate", "win rate", "win_rate"),
    ("rounds", f"rounds, {ROUNDS} if truncated", "rounds"),
    ("running_sums", "rewards as the study's code sums them", "reward"),
    ("decided_win_rate", "win rate without truncated games", None),
    ("mean_turns", "turns to win, games won", None),
    ("reward", "sum of rewards", None),
)


def measures(curves: Curves) -> dict[str, list[float]]:
    """Returns one number per seed for every entry of MEASURES; infinity where a rate was never reached."""
    steps = curves["steps"]
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for rates, turns in zip(curves["win_rate"], curves["mean_turns"], strict=True):
        high = [rate >= 0.9 for rate in rates]
        in_a_row = [all(high[i : i + 5]) and i + 5 <= len(high) for i in range(len(high))]
        full = [rate >= 1.0 for rate in rates]
        for name, flags in zip(MEASURES, (high, in_a_row, full), strict=False):
            values[name].append(float(steps[flags.index(True)]) if any(flags) else float("inf"))
        won = [turn for turn in turns[-WINDOW:] if turn is not None and np.isfinite(turn)]
        values["turns to win"].append(float(np.mean(won)) if won else float("inf"))
    return values


def reached(curves: Curves) -> dict[str, Interval]:
    """Returns the median over seeds and its 95 % interval for every measure; infinite if never reached."""
    return {name: interval(values) for name, values in measures(curves).items()}


def finite(numbers: Sequence[float]) -> list[float | None]:
    """Returns the numbers for JSON, which has no infinity: None is a rate that was never reached."""
    return [float(number) if np.isfinite(number) else None for number in numbers]


def table(results: Mapping[str, Mapping[str, Curves]]) -> str:
    """Returns the Markdown table: the study's single run beside our medians over seeds, one column per preset."""
    modes = list(dict.fromkeys(mode for of_preset in results.values() for mode in of_preset))
    medians = {preset: {mode: reached(c) for mode, c in of_preset.items()} for preset, of_preset in results.items()}
    rows = [
        [mode, name, f"{theirs:,}", *(text_of(name, ours.get(mode, {}).get(name)) for ours in medians.values())]
        for mode in modes
        for name, theirs in zip(MEASURES, PAPER[mode], strict=True)
    ]
    return markdown(["sharing", "measure", "study", *(f"`{preset}`" for preset in results)], rows)


def last_win_rates(results: Mapping[str, Curves]) -> str:
    """Returns the Markdown table of the mean win rates of the last WINDOW evaluations: the study's, and each run's."""
    rows = [
        [
            mode,
            f"{published()[mode].win_rate[-WINDOW:].mean():.2f}",
            ", ".join(f"{np.mean(rates[-WINDOW:]):.2f}" for rates in curves["win_rate"]),
        ]
        for mode, curves in results.items()
    ]
    return markdown(["sharing", "win rate at the end, study", "each run"], rows)


def text_of(measure: str, value: Interval | None) -> str:
    """Returns the entry of a table; "" for a measure that is not there."""
    form = "{:.2f}" if measure.startswith("rounds") else "{:.1f}" if measure == "turns to win" else "{:,.0f}"
    return "" if value is None else format_interval(value, form)


def differences(results: Mapping[str, Curves]) -> list[dict[str, Any]]:
    """Returns a row per pair of modes and measure: the difference of the medians, its interval, and the p-value."""
    of_mode = {mode: measures(curves) for mode, curves in results.items()}
    return [
        {
            "pair": f"{slower} - {faster}",
            "measure": name,
            "difference": difference(of_mode[slower][name], of_mode[faster][name]),
            "p": exact_p(of_mode[slower][name], of_mode[faster][name]),
        }
        for faster, slower in itertools.combinations(of_mode, 2)
        for name in MEASURES
    ]


DIFFERENCES: dict[str, Column] = {  # the table of `differences`
    "difference of": "{pair}",
    "measure": "{measure}",
    "medians (95 % interval)": lambda row: text_of(row["measure"], row["difference"]),
    "p": lambda row: format_p(row["p"]),
}


def draw(results: Mapping[str, Curves], title: str = "") -> Figure:
    """Returns Figure 2: a panel for each of PANELS, our medians in their ranges, the study's runs dotted."""
    figure, panels = new_picture(12.6, 7.6, down=2, across=3)
    for axes, (column, label, of_study) in zip(panels, PANELS, strict=True):
        for index, (mode, curves) in enumerate(results.items()):
            color = draw_band(axes, curves["steps"], curves[column], index, label=mode)
            if of_study is not None:
                theirs = published()[mode]
                axes.plot(
                    theirs.steps, getattr(theirs, of_study), ":", color=color, linewidth=1.2, label=f"_study, {mode}"
                )
        axes.set(xlabel="environment steps", ylabel=label)
        axes.xaxis.set_major_formatter(plot.text_of_tick)
        axes.set_ylim(bottom=0)
    handles = [Line2D([], [], label=mode, color=plot.style_of(i)["color"]) for i, mode in enumerate(results)]
    handles.append(Line2D([], [], label="the study's run", color="black", linestyle=":"))
    figure.legend(handles=handles, ncols=len(handles), loc="outside lower center", fontsize="small")
    figure.suptitle(title)
    return figure
