"""Shows how a run's network plays positions that it cannot hold, checkpoint by checkpoint.

    python -m train.alphazero --env "chinese_checkers_diamond(size=4, pieces=3)" --keep-every 10 --run-dir runs/diamond
    python -m examples.papers.solution_strength.lost_positions --run runs/diamond --solution runs/43.npz

In a lost position every move keeps the value. A player that does not care which one it plays has a flat policy, and
delays the end as often as one that draws its moves. The positions are drawn uniformly from the lost and from the won
ones of the game. The network plays without a search, or with one of `--simulations`. Entropies are in units of a
uniform policy on the legal moves.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from examples.papers._experiment import ExperimentFields, Report, run_experiment, table_of
from jaxgames.agents import analyse_compiled
from jaxgames.solvers import Solution
from jaxgames.solvers.strength.graph import Graph, States, graph_of
from jaxgames.solvers.strength.policy_table import BATCH, boards
from train import agents
from train.models.tabulated import with_table
from train.strength import solution_of

COLUMNS = {
    "iteration": "{iteration}",
    "entropy, lost positions": "{entropy_lost:.3f}",
    "entropy, won positions": "{entropy_won:.3f}",
    "best move delays most": "{delays:.3f}",
    "sampled move delays most": "{delays_drawn:.3f}",
    "uniform move delays most": "{delays_uniform:.3f}",
    "best move wins soonest": "{hastens:.3f}",
}


@dataclass(frozen=True, kw_only=True)
class Arguments(ExperimentFields):
    run: Path
    """The folder of a run with several checkpoints, trained on a game whose seats alternate."""
    solution: Path | None = None
    """The file that `python -m jaxgames.solvers` wrote for the game. If not given, the game is solved first."""
    positions: int = 4096
    """The number of lost positions, and of won ones."""
    seed: int = 0
    """Seed of the positions."""
    simulations: int = 0
    """Simulations of the run's search. 0: its network alone."""
    output: Path = Path("runs/papers/solution_strength/lost_positions")


def report(arguments: Arguments) -> Report:
    run = agents.open_run(arguments.run)
    env = agents.env_for([str(arguments.run)], None)
    solution = solution_of(env, arguments.solution)
    graph, random = graph_of(solution), np.random.default_rng(arguments.seed)
    lost, won = (
        np.sort(random.permutation(graph.live[graph.value[graph.live] == value])[: arguments.positions])
        for value in (-1, 1)
    )
    numbers = {name: getattr(arguments, name) for name in ("positions", "seed", "simulations")}
    names = {"run": str(arguments.run), **numbers}
    searched = {"simulations": arguments.simulations} if arguments.simulations else agents.without_search(run.learner)
    rows: list[dict[str, Any]] = []
    for iteration in run.checkpoints():
        agent = agents.agent_of_run(run, iteration, env, **searched, temperature=1.0)
        compute = functools.partial(measured, solution, graph, agent, lost, won)
        rows.append({"iteration": iteration, **arguments.once(names | {"iteration": iteration}, compute)})
    return Report({"rows": rows}, table_of(rows, COLUMNS))


def measured(solution: Solution[Any], graph: Graph, agent: Any, lost: States, won: States) -> dict[str, Any]:
    """Returns the measures of an agent's policy in lost and in won positions."""
    tabulated = with_table(agent, len(lost) + len(won))
    of_lost, of_won = (_probabilities(solution, graph, tabulated, states) for states in (lost, won))
    delays, hastens = (_keeps_distance(graph, states) for states in (lost, won))
    result = {
        "entropy_lost": _entropy(of_lost, graph.num_moves[lost]),
        "entropy_won": _entropy(of_won, graph.num_moves[won]),
        "delays": np.take_along_axis(delays, of_lost.argmax(-1)[:, None], axis=-1).mean(),
        "delays_drawn": (of_lost * delays).sum(-1).mean(),
        "delays_uniform": (delays.sum(-1) / graph.num_moves[lost]).mean(),
        "hastens": np.take_along_axis(hastens, of_won.argmax(-1)[:, None], axis=-1).mean(),
    }
    return {name: round(float(value), 4) for name, value in result.items()}


def _keeps_distance(graph: Graph, states: States) -> np.ndarray:
    """Returns bool[B, K], which moves of lost positions delay the end most, and which of won ones win soonest."""
    return graph.keeps_distance(states[:, None], graph.children[states])


def _probabilities(solution: Solution[Any], graph: Graph, agent: Any, states: States) -> np.ndarray:
    """Returns float32[B, K], the probability of every move."""
    parts: list[np.ndarray] = []
    for begin in range(0, len(states), BATCH):
        chunk = states[begin : begin + BATCH]
        analysis = analyse_compiled(agent, boards(solution, chunk, seat=0))
        assert analysis is not None  # the agent of a run's network has probabilities
        of_actions = np.asarray(analysis.probabilities)[: len(chunk)]
        actions = graph.actions[chunk]
        parts.append(np.where(actions < 0, 0, np.take_along_axis(of_actions, np.maximum(actions, 0), axis=-1)))
    return np.concatenate(parts)


def _entropy(probabilities: np.ndarray, num_moves: np.ndarray) -> float:
    """Returns the mean entropy, divided by the entropy of a uniform policy; of positions with more than one move."""
    several = num_moves > 1
    rows = probabilities[several]
    entropy = -(rows * np.log(np.maximum(rows, 1e-30))).sum(-1)
    return float((entropy / np.log(num_moves[several])).mean())


if __name__ == "__main__":
    run_experiment(Arguments, None, report)
