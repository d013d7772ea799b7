"""Experiments that change one setting of the training, such as the number of seats, the rewards or the entropy weight.

    python -m examples.papers.parameter_sharing.sweeps seats --output runs/papers/parameter_sharing/other_seats
    python -m examples.papers.parameter_sharing.sweeps games --output runs/papers/parameter_sharing/other_games
    python -m examples.papers.parameter_sharing.sweeps rewards --iterations 50 \\
        --output runs/papers/parameter_sharing/reward_schemes
    python -m examples.papers.parameter_sharing.sweeps entropy --iterations 50 --seeds 10 \\
        --output runs/papers/parameter_sharing/entropy

    seats      2, 3, 4 and 6 seats: the study has six, and says that others can be had
    games      sections 4.3 and 5 expect full sharing to do well on a game with chance, and to gain less where seats are
               unequal. In `chance_moves` a random legal submove takes the place of a quarter of the submoves, in
               `unequal_seats` half of the seats cannot hop. The policy plays in the game that it was trained on, a
               sixth of the games on each seat
    rewards    the four schemes of section 3.1.8: the study says that agents with sparse ones had difficulty learning
    entropy    Figure 5: the study trains one run with each of the weights 0, 0.005 and 0.01, and finds no effect

Except for `games`, an evaluation is as in Figure 2: the policy in seat 0, random players on all others. Differences are
from the first kind. A command that was stopped continues when it is repeated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import tyro
from matplotlib.figure import Figure

from examples.papers._experiment import Report, new_picture, run_experiment
from examples.papers._intervals import difference, draw_band, exact_p, format_p, interval
from examples.papers.parameter_sharing import runs
from examples.papers.parameter_sharing.study import (
    MEASURES,
    MODES,
    PACKAGE,
    ROUNDS,
    WINDOW,
    Preset,
    finite,
    measures,
    published,
    settings_of,
    text_of,
)
from jaxgames._checks import check_choice
from train import plot
from train.driver.tables import markdown
from train.models.policy import Sharing

Name = Literal["seats", "games", "rewards", "entropy"]
GAME = f"chinese_checkers(size=2, num_players={{}}, max_rounds={ROUNDS}, reward={{}})"
LAST_ROUNDS, ALL_ROUNDS = "rounds, last evaluations", "rounds, all evaluations"
DRAWN = {"rounds": "rounds, 150 if truncated", "mean_turns": "turns to win, games won"}  # the panels of Figure 5
QUICK: dict[str, Any] = {"seeds": 2, "iterations": 2, "games": 2}


class Entry(NamedTuple):
    """An experiment: the settings of its kinds of runs, and the measures of its table."""

    heading: str  # of the column of kinds
    kinds: Mapping[str, Mapping[str, Any]]  # arguments of `settings_of`
    modes: tuple[Sharing, ...] = ("shared",)  # ways of sharing
    shown: tuple[str, ...] = MEASURES
    compared: str | None = None  # the measure whose differences are tested
    in_its_game: bool = False  # evaluations are of the game of the training
    statistic: Callable[..., Any] = np.median  # over runs


ENTRIES: dict[Name, Entry] = {
    "seats": Entry("seats", {str(n): {"env": GAME.format(n, "positive_sum")} for n in (2, 3, 4, 6)}, MODES),
    "games": Entry(
        "game",
        {
            "plain": {"env": GAME.format(6, "positive_sum")},
            "chance": {"env": f"{PACKAGE}.chance_moves:chance_moves(max_rounds={ROUNDS})"},
            "unequal seats": {"env": f"{PACKAGE}.unequal_seats:unequal_seats(max_rounds={ROUNDS})"},
        },
        MODES,
        in_its_game=True,
    ),
    "rewards": Entry(
        "rewards",
        {scheme: {"env": GAME.format(6, scheme)} for scheme in ("positive_sum", "goal", "movement", "sparse")},
        shown=("steps to 0.9", "steps to 1.0", "turns to win"),
        compared="steps to 0.9",
    ),
    "entropy": Entry(
        "entropy weight",
        {f"{weight:g}": {"ent_coef": (weight,)} for weight in (0.0, 0.005, 0.01, 0.03, 0.1)},
        shown=(LAST_ROUNDS, ALL_ROUNDS),
        compared=LAST_ROUNDS,
        statistic=np.mean,
    ),
}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    experiment: Annotated[Name, tyro.conf.Positional] = "entropy"
    """The setting that is changed."""
    output: Path = Path("runs/papers/parameter_sharing/sweeps")
    preset: Preset = "parameter_sharing"
    """The settings of training: ours, or those of the study's code; a game that is changed has its own rewards."""
    kinds: tuple[str, ...] = ()
    """Kinds of runs, such as 2 and 3 of the seats; all if not given."""


def report(arguments: Arguments) -> Report:
    """Trains the runs of each kind. Raises ValueError for an unknown kind."""
    entry = ENTRIES[arguments.experiment]
    for kind in arguments.kinds:
        check_choice("kinds", kind, entry.kinds)
    kinds = arguments.kinds or [*entry.kinds][: 2 if arguments.quick else None]
    modes = entry.modes[: 1 if arguments.quick else None]
    folder = arguments.output / arguments.preset
    curves: dict[tuple[str, Sharing], dict[str, Any]] = {}
    for kind in kinds:
        for mode in modes:
            settings = settings_of(arguments.preset, arguments.iterations, mode, **entry.kinds[kind])
            part = folder / kind.replace(",", "").replace(" ", "_") / mode
            seeds, games = arguments.seeds, arguments.games
            trained = runs.train_all(part, settings, seeds, games, keep_every=0, in_its_game=entry.in_its_game)
            curves[kind, mode] = runs.curves_of(trained)
    values = {cell: all_measures(of_cell) for cell, of_cell in curves.items()}
    result = [
        {entry.heading: kind, "sharing": mode}
        | {name: finite(interval(found[name], entry.statistic)) for name in entry.shown}
        for (kind, mode), found in values.items()
    ]
    figures = {f"figure_5_{arguments.preset}": draw(curves)} if arguments.experiment == "entropy" else {}
    return Report(result, table(entry, values), figures)


def all_measures(curves: Mapping[str, Any]) -> dict[str, list[float]]:
    """Returns one number per seed: the measures of Figure 2, and mean rounds of the last and of all evaluations."""
    found = measures(curves)
    if "rounds" in curves:
        rounds = np.array(curves["rounds"])
        found |= {LAST_ROUNDS: rounds[:, -WINDOW:].mean(1).tolist(), ALL_ROUNDS: rounds.mean(1).tolist()}
    return found


def table(entry: Entry, values: Mapping[tuple[str, Sharing], Mapping[str, list[float]]]) -> str:
    """Returns the Markdown table: a row per kind and way of sharing, and the difference from the first row."""
    first = next(iter(values.values()))
    header, rows = [entry.heading, "sharing", *entry.shown], list[list[str]]()
    for (kind, mode), found in values.items():
        rows.append([kind, mode, *(text_of(name, interval(found[name], entry.statistic)) for name in entry.shown)])
        if (name := entry.compared) and found is not first:
            change = difference(found[name], first[name], entry.statistic)
            rows[-1] += [text_of(name, change), format_p(exact_p(found[name], first[name]))]
        elif name:
            rows[-1] += ["", ""]
    return markdown(header + [f"difference of {entry.compared}", "p"] * bool(entry.compared), rows)


def draw(curves: Mapping[tuple[str, Sharing], Any]) -> Figure:
    """Returns Figure 5: lengths by steps, medians in their ranges; the study's runs dotted."""
    figure, panels = new_picture(9.6, 4.0, across=len(DRAWN))
    for axes, (column, label) in zip(panels, DRAWN.items(), strict=True):
        for index, ((weight, _), curve) in enumerate(curves.items()):
            color = draw_band(axes, curve["steps"], curve[column], index, weight)
            theirs = published().get(f"entropy {weight}")
            if column == "rounds" and theirs is not None:
                within = theirs.steps <= curve["steps"][-1]
                axes.plot(theirs.steps[within], theirs.rounds[within], ":", color=color, label=f"_study, {weight}")
        axes.set(xlabel="environment steps", ylabel=label, ylim=(0, None))
        axes.xaxis.set_major_formatter(plot.text_of_tick)
    panels[0].legend(title="entropy weight", fontsize="small")
    return figure


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
