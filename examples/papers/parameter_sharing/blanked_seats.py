"""Tests the study's explanation that agents "fixate on their own pieces": the pegs of other seats are blanked.

    python -m examples.papers.parameter_sharing.blanked_seats --runs runs/papers/parameter_sharing/parameter_sharing

A policy plays with a part of its observation set to zero: the planes of the other seats, or for comparison the plane
of its own pegs. Legal actions are still the actions of the real board. The games are in seat 0 against random players,
and in one seat against the whole policy on the five others, where equal players win 1/6.
"""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers._experiment import Report, run_experiment
from examples.papers._intervals import format_mean
from examples.papers.parameter_sharing.runs import FinishedRuns, evaluate, runs_by_sharing
from examples.papers.parameter_sharing.study import GAME, MODES
from jaxgames import arena, make
from jaxgames.policies.agent import PolicyAgent
from train.driver.metrics import rounded
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown
from train.models.policy import Params, Policy, Sharing

BLANKED = {"nothing": (), "other seats": (1, 2, 3, 4, 5), "own pegs": (0,)}  # planes of the observation
SEEN = {name: np.isin(np.arange(8), planes, invert=True) for name, planes in BLANKED.items()}  # bool[planes]
evaluate_on_drawn_seats = jax.jit(arena.evaluate, static_argnums=(0, 4))
QUICK: dict[str, Any] = {"modes": ("shared",), "games": 4, "iterations": 2, "seeds": 2}


@dataclass(frozen=True)
class Arguments(FinishedRuns):
    output: Path = Path("runs/papers/parameter_sharing/blanked_seats")
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""
    games: int = 200
    """Games of each run and kind."""
    iterations: int = 100
    """The iteration of the policies."""


@dataclass(frozen=True)
class Blanked:
    """A policy that does not see some planes of its observation; see `jaxgames.policies.policy.Policy`.

    Its parameters are the parameters of the policy, and bool[planes], the planes that it sees. So all kinds of blanking
    share their compiled programs.
    """

    policy: Policy

    def apply(
        self, params: tuple[Params, jax.Array], observation: jax.Array, seat: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Returns logits float32[B, num_actions] and values float32[B]."""
        of_policy, seen = params
        return self.policy.apply(of_policy, observation & seen, seat)


def report(arguments: Arguments) -> Report:
    of_mode = runs_by_sharing(arguments.runs, arguments.output, arguments.iterations, arguments.seeds, arguments.modes)
    results: dict[str, dict[str, list[dict[str, float]]]] = {}
    for mode, runs in of_mode.items():
        results[mode] = {name: [] for name in BLANKED}
        for name, run in itertools.product(BLANKED, runs):
            key = {"run": str(run.folder), "blanked": name}
            key |= {"games": arguments.games, "iterations": arguments.iterations}
            results[mode][name].append(arguments.once(key, functools.partial(measure, run, name, arguments)))
    return Report(rounded(results), table(results))


def measure(run: RunFolder, blanked: str, arguments: Arguments) -> dict[str, float]:
    """Returns the measures of a run's policy without the planes of BLANKED[blanked]."""
    policy: Policy = run.learner.policy  # pyright: ignore[reportAttributeAccessIssue]  # PPO has one
    whole, partial = run.params(arguments.iterations), Blanked(policy)
    params = whole, jnp.asarray(SEEN[blanked])
    keys = jax.random.split(jax.random.key(run.config.seed), 4)
    against_random: Any = evaluate(partial, params, keys[0], arguments.games)  # pyright: ignore[reportArgumentType]  # a policy of another class
    env = make(GAME)
    numbers = {name: against_random[name] for name in ("win_rate", "mean_turns", "truncated_rate")}
    agents = PolicyAgent(params, env, partial), PolicyAgent(whole, env, policy)
    numbers["win rate among own kind"] = evaluate_on_drawn_seats(env, *agents, keys[1], arguments.games)["win_rate"]
    return {name: float(value) for name, value in numbers.items()}


def table(results: Mapping[str, Mapping[str, list[dict[str, float]]]]) -> str:
    """Returns the Markdown table: a row per way of sharing and blanked part, means over seeds with their intervals.

    The last column is the change of the turns to win by the blanking, a difference of the same runs.
    """
    names = list(next(iter(next(iter(results.values())).values()))[0])
    rows: list[list[str]] = []
    for mode, kinds in results.items():
        whole = [row["mean_turns"] for row in kinds["nothing"]]
        for kind, of_seeds in kinds.items():
            means = [format_mean([row[name] for row in of_seeds], "{:.2f}") for name in names]
            change = format_mean(np.subtract([row["mean_turns"] for row in of_seeds], whole), "{:+.2f}")
            rows.append([mode, kind, *means, "" if kind == "nothing" else change])
    return markdown(["sharing", "blanked", *names, "change of turns"], rows)


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
