"""Opponents between random players and the policy itself: how far its play carries from the games of its training.

    python -m examples.papers.parameter_sharing.mixed_opponents --runs runs/papers/parameter_sharing/parameter_sharing

In self-play a policy meets only itself (section 4.4 of the study). Here a policy with full sharing has one drawn seat
against five equal opponents: the policy itself, which plays a part `epsilon` of its submoves at random; the policy
after fewer iterations; `greedy`, which it never met. For comparison `greedy` plays the same seat: it learns nothing,
so no opponents are new to it.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from examples.papers._experiment import Report, run_experiment
from examples.papers._intervals import format_mean
from examples.papers.parameter_sharing.runs import FinishedRuns, runs_by_sharing
from examples.papers.parameter_sharing.study import GAME, finite
from jaxgames import Env, arena, make
from jaxgames.agents import GreedyAgent, with_epsilon
from jaxgames.policies.agent import PolicyAgent
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown

ENV: Env[Any] = make(GAME)
evaluate = jax.jit(arena.evaluate, static_argnums=(0, 4))
ITSELF, GREEDY = "itself", "greedy"
QUICK = {"games": 2, "epsilons": (1.0,), "earlier": (1,), "greedy_epsilons": (), "iterations": 2, "seeds": 2}
COLUMNS = {"won": "win_rate", "turns to win": "mean_turns", "`greedy` in its seat: won": "greedy_win_rate"}

Results = Mapping[str, Sequence[Mapping[str, float]]]  # by opponents: the measures of every run


class Opponents(NamedTuple):
    """Five equal opponents."""

    agent: str  # ITSELF or GREEDY
    iteration: int  # of the policy itself
    epsilon: float  # share of random submoves


@dataclass(frozen=True)
class Arguments(FinishedRuns):
    output: Path = Path("runs/papers/parameter_sharing/mixed_opponents")
    games: int = 100
    """Games of each run against each kind of opponents, and as many of `greedy` in its seat."""
    epsilons: tuple[float, ...] = (1.0, 0.75, 0.5, 0.25, 0.0)
    """Shares of random submoves of the policy itself as opponent; with 1 it is a random player."""
    earlier: tuple[int, ...] = (25, 10)
    """Iterations after which the policy itself is the opponent."""
    greedy_epsilons: tuple[float, ...] = (0.5, 0.2, 0.0)
    """Shares of random submoves of `greedy` as opponent."""
    iterations: int = 100
    """The iteration of the policies."""


def report(arguments: Arguments) -> Report:
    last = arguments.iterations
    known = {named(ITSELF, epsilon): Opponents(ITSELF, last, epsilon) for epsilon in arguments.epsilons}
    earlier = {f"{ITSELF}, iteration {at}": Opponents(ITSELF, at, 0.0) for at in arguments.earlier}
    new = {named(f"`{GREEDY}`", epsilon): Opponents(GREEDY, last, epsilon) for epsilon in arguments.greedy_epsilons}
    [finished] = runs_by_sharing(arguments.runs, arguments.output, last, arguments.seeds, ("shared",)).values()
    results: dict[str, list[dict[str, float]]] = {}
    for name, kind in (known | earlier | new).items():
        results[name] = []
        for run in finished:
            key = {"run": str(run.folder), **kind._asdict(), "games": arguments.games, "iterations": last}
            results[name].append(arguments.once(key, functools.partial(measure, run, kind, arguments)))
    of_runs = {
        kind: {name: finite([round(row[name], 4) for row in rows]) for name in rows[0]}
        for kind, rows in results.items()
    }
    tables = [table(results)]
    if len(known) > 1 and new:
        tables.append(table_of_losses([results[name] for name in known], {name: results[name] for name in new}))
    return Report(of_runs, "\n\n".join(tables))


def named(agent: str, epsilon: float) -> str:
    """Returns the words for opponents in the table."""
    if epsilon == 1 and agent == ITSELF:
        return "random"
    return f"{agent}, {100 * epsilon:.0f} % random" if epsilon else agent


def measure(run: RunFolder, kind: Opponents, arguments: Arguments) -> dict[str, float]:
    """Returns the measures of a run's policy on a drawn seat against five opponents, by the values of COLUMNS.

    The turns to win are NaN if it wins no game.
    """
    policy: Any = run.learner.policy  # pyright: ignore[reportAttributeAccessIssue]  # PPO has one
    player = PolicyAgent(run.params(arguments.iterations), ENV, policy)
    same = PolicyAgent(run.params(kind.iteration), ENV, policy)
    opponent = with_epsilon(ENV, GreedyAgent(ENV) if kind.agent == GREEDY else same, kind.epsilon)
    key = jax.random.key(run.config.seed)
    found, greedy = (evaluate(ENV, agent, opponent, key, arguments.games) for agent in (player, GreedyAgent(ENV)))
    wins, turns, of_greedy = found["win_rate"], found["mean_turns"], greedy["win_rate"]
    return {"win_rate": float(wins), "mean_turns": float(turns), "greedy_win_rate": float(of_greedy)}


def table(results: Results) -> str:
    """Returns the Markdown table: a row for each kind of opponents, means over runs with their intervals."""
    rows: list[list[str]] = []
    for kind, of_runs in results.items():
        rows.append([kind, *(format_mean([row[name] for row in of_runs], "{:.2f}") for name in COLUMNS.values())])
    return markdown(["five opponents", *COLUMNS], rows)


def table_of_losses(
    known: Sequence[Sequence[Mapping[str, float]]], new: Mapping[str, Sequence[Mapping[str, float]]]
) -> str:
    """Returns how much less the policy wins against new opponents than against versions of itself that are as hard.

    Opponents are as hard if `greedy` wins as much in the same seat. New opponents that in the mean are harder or easier
    than all versions have a dash.

    Args:
      known: the measures of the runs against each version, those with a share of random submoves.
      new: the measures of the runs against each new opponent, by its words.
    """
    means = [np.mean([measures["greedy_win_rate"] for measures in of_kind]) for of_kind in known]
    rows: list[list[str]] = []
    for kind, of_runs in new.items():
        losses: list[float] = []
        for run, measures in enumerate(of_runs):
            points = [(of_kind[run]["greedy_win_rate"], of_kind[run]["win_rate"]) for of_kind in known]
            losses.append(expected(points, measures["greedy_win_rate"]) - measures["win_rate"])
        is_between = min(means) <= np.mean([measures["greedy_win_rate"] for measures in of_runs]) <= max(means)
        rows.append([kind, format_mean(losses, "{:.2f}") if is_between else "-"])
    return markdown(["five opponents", "wins less than against itself"], rows)


def expected(known: Sequence[tuple[float, float]], greedy_win_rate: float) -> float:
    """Returns the win rate at a win rate of `greedy`, on lines between points of both; outside, of the last one."""
    x, y = zip(*sorted(known), strict=True)
    return float(np.interp(greedy_win_rate, x, y))


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
