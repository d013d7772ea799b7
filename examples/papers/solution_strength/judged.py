"""Judges moves of agents by the values of other agents, beside the truth: a measure for games without a solution.

    python -m examples.papers.solution_strength.judged --agents first greedy runs/ppo \\
        --judges runs/ppo "mcts(simulations=100)" "solver(runs/43.npz)" --solution runs/43.npz

A judge finds a move as good as its own if the board after it is worth at least as much to the mover, up to a tolerance.
The positions are drawn uniformly from the legal ones of a solved game, so that the judge's errors can be counted: its
verdict is wrong if it finds a move good that does not keep the value, or bad that does. The judge `solver(FILE)` makes
no errors.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from examples.papers._experiment import Experiment, Report, run_experiment, table_of
from jaxgames import Env
from jaxgames.agents import Agent, act_compiled, analyse_compiled
from jaxgames.solvers import Solution
from train import agents
from train.strength import solution_of

QUICK: dict[str, Any] = {
    "env": "chinese_checkers_diamond(size=3, pieces=3)",
    "agents": ("first",),
    "judges": ("mcts(simulations=4)",),
    "positions": 50,
}
COLUMNS = {
    "judge": "`{judge}`",
    "agent": "`{agent}`",
    "good, by the judge": "{judged_good:.3f}",
    "good": "{good:.3f}",
    "found bad, is good": "{wrongly_bad:.3f}",
    "found good, is bad": "{wrongly_good:.3f}",
    "judge's own moves that are good": "{judge_good:.3f}",
}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/solution_strength/judged")
    env: str = "chinese_checkers_diamond(size=4, pieces=3)"
    """The game, one that can be solved."""
    solution: Path | None = None
    """The file that `python -m jaxgames.solvers` wrote for the game. If not given, the game is solved first."""
    agents: tuple[str, ...] = ("first", "greedy")
    """Agents whose moves are judged."""
    judges: tuple[str, ...] = ("mcts(simulations=20)", "mcts(simulations=100)")
    """Agents with values, which judge."""
    positions: int = 1000
    """The number of positions."""
    tolerance: float = 0.05
    """How much less a move may be worth than the judge's own."""
    seed: int = 0
    """Seed of the positions and of the agents."""


def report(arguments: Arguments) -> Report:
    """Judges what is not stored. Raises ValueError for a judge without values."""
    env = jaxgames.make(arguments.env)
    solution = solution_of(env, arguments.solution)
    states = random_positions(solution, arguments.positions, arguments.seed)
    best = solution.best_actions(states)
    rows: list[dict[str, Any]] = []
    for text in arguments.judges:
        for agent in arguments.agents:
            key = {"env": arguments.env, "judge": agents.name_of(text), "agent": agents.name_of(agent)}
            key |= {name: getattr(arguments, name) for name in ("positions", "tolerance", "seed")}
            rows.append(
                key | arguments.once(key, functools.partial(verdicts, env, text, agent, states, best, arguments))
            )
    return Report({"rows": rows}, table_of(rows, COLUMNS))


def random_positions(solution: Solution[Any], number: int, seed: int) -> Any:
    """Returns different legal positions of unfinished games, drawn uniformly; all if there are not more."""
    order = np.random.default_rng(seed).permutation(solution.num_states)[: 4 * number].astype(np.uint32)
    states = solution.states_at(order)
    live = np.flatnonzero(solution.is_legal(states) & ~np.asarray(states.terminated))[:number]
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[live], states)


def verdicts(env: Env[Any], judge: str, agent: str, states: Any, best: np.ndarray, arguments: Arguments) -> Any:
    """Returns the shares of an agent's moves by the verdict and by the truth, `best` of bool[B, num_actions]."""
    judging, rows = agents.make(judge, env), np.arange(len(best))
    own, actions = (_actions(each, states, arguments.seed) for each in (judging, agents.make(agent, env)))
    found = _worth(env, judging, judge, states, actions) >= (
        _worth(env, judging, judge, states, own) - arguments.tolerance
    )
    good = best[rows, actions]
    shares = {
        "judged_good": found,
        "good": good,
        "wrongly_bad": good & ~found,
        "wrongly_good": found & ~good,
        "judge_good": best[rows, own],
    }
    return {name: round(float(share.mean()), 4) for name, share in shares.items()}


def _worth(env: Env[Any], judge: Agent, text: str, states: Any, actions: np.ndarray) -> np.ndarray:
    """Returns float32[B], what the mover is paid by each action and, by the judge's values, from then on."""
    after = jax.jit(jax.vmap(env.step))(states, jnp.asarray(actions))
    analysis = analyse_compiled(judge, after)
    if analysis is None or analysis.values is None:
        raise ValueError(f"{text} has no values: a judge is a run, mcts or solver(FILE)")
    values = jnp.where((after.terminated | after.truncated)[:, None], 0.0, analysis.values)
    mover = states.current_player[:, None]
    return np.asarray(jnp.take_along_axis(after.rewards + values, mover, axis=1)[:, 0])


def _actions(agent: Agent, states: Any, seed: int) -> np.ndarray:
    return np.asarray(act_compiled(agent, jax.random.key(seed), states))


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
