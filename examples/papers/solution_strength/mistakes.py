"""Measures how near agents come to solving a game, and draws where they make mistakes.

    python -m examples.papers.solution_strength.mistakes --solution runs/43.npz \\
        --agents greedy runs/ppo "runs/diamond(simulations=64)" --sampled "mcts(simulations=100)"

Agents of --agents have all measures of `train.strength`. Those of --sampled are asked for their moves in some random
positions only: a tree search with many simulations would take hours for all positions. Results are kept in the output
folder, so that a repeated command measures only what is missing.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxgames
from examples.papers._experiment import Experiment, Report, command, table_of
from jaxgames.solvers import Solution
from jaxgames.solvers.strength import measure
from train import agents
from train.driver.metrics import rounded
from train.strength.figures import mistakes_of
from train.strength.players import DIGITS, deterministic, format_measure, solution_of

PLIES = 50  # after which a game is drawn
QUICK: dict[str, Any] = {
    "env": "chinese_checkers_diamond(size=3, pieces=3)",
    "agents": ("first",),
    "sampled": ("greedy",),
    "states": 200,
}
COLUMNS = {
    "ultra-weak": "ultra_weak",
    "weakly solved": "weak_solved",
    "`weak_states`": "weak_states",
    "`weak_optimal`": "weak_optimal",
    "`sure_fraction`": "sure_fraction",
    "`sure_won`": "sure_won",
    "`kept_value`": "kept_value",
    "positions": "strong_states",
    "`strong_action`": "strong_action",
    "`strong_decisive`": "strong_decisive",
    "`strong_won`": "strong_won",
    "`strong_fastest`": "strong_fastest",
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
    """The number of random positions for the agents of --sampled."""


def report(arguments: Arguments) -> Report:
    """Measures the agents that are not stored."""
    env = jaxgames.make(arguments.env)
    solution = solution_of(env, arguments.solution)
    whole = {"env": arguments.env, "plies": PLIES}
    part = {"env": arguments.env, "states": arguments.states}
    in_sample: dict[str, Any] = {"strong_states": min(arguments.states, solution.num_states), "weak": False}
    rows = [
        {"agent": name, **arguments.once(settings | {"agent": name}, functools.partial(compute, text), file)}
        for texts, settings, compute, file in (
            (arguments.agents, whole, functools.partial(_measured, arguments, solution), "cells"),
            (arguments.sampled, part, functools.partial(_measured, arguments, solution, **in_sample), "sampled"),
        )
        for text in texts
        for name in [agents.name_of(text)]
    ]
    title = f"Mistakes on {arguments.env}, as a share of the states where one is possible"
    return Report({"rows": rows}, table(rows), {"mistakes": mistakes_of(_by_agent(rows), title)})


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the Markdown table: a row per agent."""
    columns = {"agent": "`{agent}`"} | {head: functools.partial(_entry, name) for head, name in COLUMNS.items()}
    return table_of(rows, columns)


def _measured(arguments: Arguments, solution: Solution[Any], text: str, **options: Any) -> dict[str, Any]:
    env = solution.env
    player = deterministic(text, agents.make(text, env), env)
    return rounded(measure(env, player.act, solution, PLIES, **options), DIGITS)


def _by_agent(rows: list[dict[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {row["agent"]: row for row in rows}


def _entry(name: str, row: Mapping[str, Any]) -> str:
    value = row.get(name)
    return f"{value:.4f}" if isinstance(value, float) else format_measure(value)


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
