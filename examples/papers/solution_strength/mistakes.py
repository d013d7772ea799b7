"""Measures how near agents come to solving a game, and draws where they make mistakes.

    python -m examples.papers.solution_strength.mistakes --solution runs/43.npz \\
        --agents greedy runs/ppo "runs/diamond(simulations=64)" --sampled "mcts(simulations=100)"

Agents of --agents have all measures of `train.strength`. Those of --sampled are asked for their moves in some random
positions only: a tree search with many simulations would take hours for all positions. Results are kept in the output
folder, so that a repeated command measures only what is missing.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from examples.papers._experiment import Experiment, Report, new_picture, run_experiment, table_of
from jaxgames import make
from train import strength
from train.plot import style_of
from train.strength import format_measure

QUICK: dict[str, Any] = {
    "env": "chinese_checkers_diamond(size=3, pieces=3)",
    "agents": ("first",),
    "sampled": ("greedy",),
    "states": 200,
}
COLUMNS = {
    "ultra-weak": "ultra_weak",
    "weakly solved": "weak_solved",
    **{f"`{name}`": name for name in ("weak_states", "weak_optimal", "sure_fraction", "sure_won", "kept_value")},
    "positions": "strong_states",
    **{f"`{name}`": name for name in ("strong_action", "strong_decisive", "strong_won", "strong_fastest")},
}

MISTAKES = {  # the tables of mistakes, and what their first columns count
    "ply": "plies played, in states that occur",
    "distance": "plies from the start, in all states",
    "share": "share of winning moves, in won states",
}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/solution_strength/mistakes")
    env: str = "chinese_checkers_diamond(size=4, pieces=3)"
    """The game, one whose seats alternate."""
    solution: Path | None = None
    """The file that `python -m jaxgames.solvers` wrote for the game. If not given, the game is solved first."""
    agents: tuple[str, ...] = ("first", "greedy")
    """Agents that are measured in full."""
    sampled: tuple[str, ...] = ()
    """Agents that are asked for their moves in random positions only."""
    states: int = 4096
    """The number of random positions for the agents of --sampled, at most all."""


def report(arguments: Arguments) -> Report:
    given = {name: getattr(arguments, name) for name in ("agents", "env", "solution", "output")}
    in_full = strength.Arguments(**given)
    states = arguments.states
    if arguments.sampled:
        states = min(states, strength.solution_of(make(arguments.env), arguments.solution).num_states)
    in_part = replace(in_full, agents=arguments.sampled, strong_states=states, weak=False)
    rows = [row for each in (in_full, in_part) if each.agents for row in strength.strength(each)["rows"]]
    return Report({"rows": rows}, table(rows), {"mistakes": mistakes_of(rows)})


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the Markdown table: a row per agent."""
    columns = {"agent": "`{agent}`"} | {head: functools.partial(_entry, name) for head, name in COLUMNS.items()}
    return table_of(rows, columns)


def mistakes_of(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns the picture of where agents make mistakes.

    The y axis is the share of mistakes in the states in which some move is a mistake. A line is left out where its row
    has no such table.
    """
    figure, panels = new_picture(13, 4.2, across=3)
    for axes, (name, label) in zip(panels, MISTAKES.items(), strict=True):
        for index, row in enumerate(rows):
            table = row.get(f"mistakes_by_{name}")
            if table is not None:  # a measure of this game
                known = np.array(table["decisive"]) > 0
                shares = np.array(table["mistakes"])[known] / np.array(table["decisive"])[known]
                axes.plot(np.array(table[name])[known], shares, label=row["agent"], **style_of(index))
        axes.set(xlabel=label, ylabel="mistakes")
        axes.set_ylim(bottom=0)
    lines = {str(line.get_label()): line for axes in panels for line in axes.lines}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3)
    return figure


def _entry(name: str, row: Mapping[str, Any]) -> str:
    value = row.get(name)
    return f"{value:.4f}" if isinstance(value, float) else format_measure(value)


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
