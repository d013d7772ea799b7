"""How much a policy that samples explores, and how often it plays the best moves, by step of policy improvement.

    python -m examples.papers.alpha_mini.sampling --output runs/papers/alpha_mini/sampling

The study believes that sampling "allows the agent to explore a vast state space at the start and consistently play the
best moves near the end" (section 2.2), and measures neither. Here White samples its moves against a random player, and
its policy is measured where it moves: its entropy in nats, and the probabilities of its most probable move and of the
moves that alpha-beta finds best. The runs are those of `policy_improvement`: a folder with a star for its seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from examples.papers._experiment import ExperimentFields, Report, run_experiment
from examples.papers._intervals import format_mean
from examples.papers.alpha_mini import runs
from examples.papers.alpha_mini.placements import best_of
from jaxgames import Env
from jaxgames.agents import Agent, RandomAgent, analyse_in_chunks, pytree
from train import agents
from train.data import labels
from train.driver.tables import markdown

IMPROVED = "runs/papers/alpha_mini/policy_improvement/last/seed=*/white_{}"
GAME = "minichess(rules=king_capture, reward=material)"
MEASURES = {  # by their names in the results: the head of the column
    "legal": "legal moves",
    "entropy": "entropy",
    "greedy": "greedy move",
    "best": "best moves",
    "greedy_is_best": "greedy move is a best one",
    "random_is_best": "a random move is a best one",
}


@dataclass(frozen=True)
class Arguments(ExperimentFields):
    output: Path = Path("runs/papers/alpha_mini/sampling")
    agents: tuple[str, ...] = tuple(IMPROVED.format(step) for step in (0, 1, 2, 4, 8, 15))
    """Runs of White; a star in a folder stands for any characters."""
    judge: str = "alphabeta(depth=3)"
    """The agent whose best moves are the best ones."""
    positions: int = 400
    """Positions of games of each run; White moves on about half of them."""


@pytree
@dataclass(frozen=True)
class OneAgainstOther:
    """Plays White by one agent and Black by another."""

    on_device: ClassVar[bool] = True
    white: Agent
    black: Agent

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns int32[B], the action on every board."""
        white_key, black_key = jax.random.split(key)
        of_white, of_black = self.white.act(white_key, states), self.black.act(black_key, states)
        return jnp.where(states.current_player == runs.WHITE, of_white, of_black)


def report(arguments: Arguments) -> Report:

    def once(text: str) -> dict[str, Any]:
        key = {"agent": text, "env": GAME, "judge": arguments.judge, "positions": arguments.positions}
        return arguments.once(key, lambda: measured(arguments, text))

    found = runs.of_sets(arguments.agents, once)
    return Report(found, table(found))


def measured(arguments: Arguments, text: str) -> dict[str, float]:
    """Returns the means over White's decisions in games against a random player.

    Raises ValueError if the agent has no probabilities.
    """
    env = jaxgames.make(GAME)
    white = agents.make(agents.with_temperature(text, 1.0), env)
    played = boards_of_games(env, OneAgainstOther(white, RandomAgent(env)), arguments.positions)
    states = jax.tree.map(lambda leaf: leaf[played.current_player == runs.WHITE], played)
    policy = np.asarray(analyse_in_chunks(white, states).probabilities, np.float64)
    legal = np.asarray(jax.vmap(env.legal_action_mask)(states))
    best = best_of(arguments.judge, env, states) & legal
    rows = {
        "legal": legal.sum(1),
        "entropy": -(policy * np.log(np.where(policy > 0, policy, 1))).sum(1),
        "greedy": policy.max(1),
        "best": (policy * best).sum(1),
        "greedy_is_best": best[np.arange(len(best)), policy.argmax(1)],
        "random_is_best": best.sum(1) / legal.sum(1),
    }
    return {"decisions": len(policy)} | {name: float(np.mean(values)) for name, values in rows.items()}


def boards_of_games(env: Env[Any], player: Agent, count: int) -> Any:
    """Returns `count` boards of whole games of an agent, those that a limit cuts off left out."""
    generator = np.random.default_rng(0)
    games: list[list[Any]] = [[] for _ in range(labels.BOARDS)]
    kept: list[Any] = []
    for here, after in labels.steps(env, player, seed=0):
        for number, boards in enumerate(games):
            boards.append(jax.tree.map(lambda leaf, row=number: leaf[row].copy(), here))
            if after.terminated[number]:
                kept += [boards[ply] for ply in generator.permutation(len(boards))[: count - len(kept)]]
            if after.terminated[number] or after.truncated[number]:
                boards.clear()
        if len(kept) >= count:
            break
    return jax.tree.map(lambda *leaves: np.stack(leaves), *kept)


def table(found: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Returns the Markdown table: means over the runs of a set with 95 % intervals."""
    lines: list[tuple[object, ...]] = []
    for text, rows in found.items():
        forms = {"legal": "{:.1f}"}
        means = (format_mean([row[name] for row in rows], forms.get(name, "{:.3f}")) for name in MEASURES)
        lines.append((runs.name_of(text), len(rows), *means))
    return markdown(("agent", "runs", *MEASURES.values()), lines)


if __name__ == "__main__":
    run_experiment(Arguments, None, report)
