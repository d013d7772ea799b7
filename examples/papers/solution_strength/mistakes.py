"""Measures how near agents come to solving a game, and draws where they make mistakes.

    python -m examples.papers.solution_strength.mistakes --solution runs/43.npz \\
        --agents greedy runs/ppo "runs/diamond(simulations=64)" --sampled "mcts(simulations=100)"

Agents of --agents have all measures of `train.strength`. Those of --sampled are asked for their moves in some random
positions only: a tree search with many simulations would take hours for all positions. Results are kept in the output
folder, so that a repeated command measures only what is missing.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jaxgames
from examples.papers._experiment import Experiment, Report, command, table_of
from jaxgames.solvers import Solution, load, solve
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.alternating import strong_measures
from jaxgames.solvers.strength.graph import graph_of
from jaxgames.solvers.strength.policy_table import PolicyTable
from train import agents
from train.driver.metrics import rounded
from train.strength import __main__ as strength
from train.strength.figures import mistakes_of

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
    plies: int = 50
    """The length at which a game is cut off and drawn."""
    seed: int = 0
    """Seed of the random positions."""


def report(arguments: Arguments) -> Report:
    """Measures the agents that are not stored."""
    env = jaxgames.make(arguments.env)
    solution = solve(env) if arguments.solution is None else load(arguments.solution, env)
    whole = {"env": arguments.env, "plies": arguments.plies}
    part = {"env": arguments.env, "states": arguments.states, "seed": arguments.seed}
    rows = [
        {"agent": name, **arguments.once(settings | {"agent": name}, functools.partial(compute, text), file)}
        for texts, settings, compute, file in (
            (arguments.agents, whole, functools.partial(_in_full, arguments, solution), "cells"),
            (arguments.sampled, part, functools.partial(_in_sample, arguments, solution), "sampled"),
        )
        for text in texts
        for name in [agents.name_of(text)]
    ]
    columns = {"agent": "`{agent}`"} | {head: functools.partial(_entry, name) for head, name in COLUMNS.items()}
    title = f"Mistakes on {arguments.env}, as a share of the states where one is possible"
    return Report({"rows": rows}, table_of(rows, columns), {"mistakes": mistakes_of(_by_agent(rows), title)})


def _in_full(arguments: Arguments, solution: Solution[Any], text: str) -> dict[str, Any]:
    env = solution.env
    player = strength.deterministic(text, agents.make(text, env), env)
    measures = measure(env, player.act, solution, arguments.plies)
    return rounded(measures, strength.DIGITS)


def _in_sample(arguments: Arguments, solution: Solution[Any], text: str) -> dict[str, Any]:
    env, graph = solution.env, graph_of(solution)
    player = strength.deterministic(text, agents.make(text, env), env)
    random = np.random.default_rng(arguments.seed)
    states = np.sort(random.choice(graph.live, min(arguments.states, len(graph.live)), replace=False))
    return rounded(strong_measures(graph, PolicyTable(solution, graph, player.act), states), strength.DIGITS)


def _by_agent(rows: list[dict[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {row["agent"]: row for row in rows}


def _entry(name: str, row: Mapping[str, Any]) -> str:
    value = row.get(name)
    return f"{value:.4f}" if isinstance(value, float) else strength.format_measure(value)


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
