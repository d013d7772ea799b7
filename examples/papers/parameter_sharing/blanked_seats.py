"""Tests the study's explanation that agents "fixate on their own pieces": the pegs of other seats are blanked.

    python -m examples.papers.parameter_sharing.blanked_seats --runs runs/papers/parameter_sharing/parameter_sharing

A policy plays with a part of its observation set to zero: the planes of the other seats, or for comparison the plane
of its own pegs. Legal actions are still the actions of the real board. Three tables:

- games in seat 0 against random players: the win rate and the turns to win;
- games in one seat against the whole policy on the five others: the win rate, 1/6 for equal players;
- positions of such games and of self-play: how much the blanked policy differs from the whole one.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers._experiment import Report, command
from examples.papers._intervals import format_interval, interval
from examples.papers.parameter_sharing.evaluation import evaluate
from examples.papers.parameter_sharing.runs import FinishedRuns, runs_by_sharing
from examples.papers.parameter_sharing.study import MODES, ROUNDS
from jaxgames import Env, arena, make
from jaxgames.agents import RandomAgent
from jaxgames.policies.agent import PolicyAgent
from jaxgames.sampling import MASKED_LOGIT
from train.driver.metrics import rounded
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown
from train.models.policy import Params, Policy, Sharing
from train.ops.masked_categorical import kl_divergence

GAME = f"chinese_checkers(size=2, num_players=6, max_rounds={ROUNDS})"
PLANES = 8
BLANKED = {"nothing": (), "other seats": (1, 2, 3, 4, 5), "own pegs": (0,)}  # planes of the observation
evaluate_on_drawn_seats = jax.jit(arena.evaluate, static_argnums=(0, 4))
QUICK: dict[str, Any] = {"modes": ("shared",), "games": 4, "steps": 8, "iterations": 2, "seeds": 2}


@dataclass(frozen=True)
class Arguments(FinishedRuns):
    output: Path = Path("runs/papers/parameter_sharing/blanked_seats")
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""
    games: int = 200
    """Games of each run and kind."""
    steps: int = 240
    """Steps of the games whose positions are compared."""
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


def seen_without(planes: tuple[int, ...]) -> jax.Array:
    """Returns bool[planes], False for these planes of the observation."""
    return jnp.asarray(np.isin(np.arange(PLANES), planes, invert=True))


def report(arguments: Arguments) -> Report:
    """Measures every run with each part of its observation blanked."""
    of_mode = runs_by_sharing(arguments.runs, arguments.output, arguments.iterations, arguments.seeds, arguments.modes)
    results = {
        mode: {name: [measured(run, name, arguments) for run in runs] for name in BLANKED}
        for mode, runs in of_mode.items()
    }
    return Report(rounded(results), table(results))


def measured(run: RunFolder, blanked: str, arguments: Arguments) -> dict[str, float]:
    key = {"run": str(run.folder), "blanked": blanked}
    key |= {name: getattr(arguments, name) for name in ("games", "steps", "iterations")}
    return arguments.once(key, functools.partial(measure, run, BLANKED[blanked], arguments))


def measure(run: RunFolder, planes: tuple[int, ...], arguments: Arguments) -> dict[str, float]:
    """Returns the measures of a run's policy without some planes."""
    policy: Policy = run.learner.policy  # pyright: ignore[reportAttributeAccessIssue]  # PPO has one
    whole, blanked = run.params(arguments.iterations), Blanked(policy)
    params = whole, seen_without(planes)
    keys = jax.random.split(jax.random.key(run.config.seed), 4)
    against_random: Any = evaluate(blanked, params, keys[0], arguments.games)  # pyright: ignore[reportArgumentType]  # a policy of another class
    env = make(GAME)
    numbers = {name: against_random[name] for name in ("win_rate", "mean_turns", "truncated_rate")}
    agents = PolicyAgent(params, env, blanked), PolicyAgent(whole, env, policy)
    numbers["win rate among own kind"] = evaluate_on_drawn_seats(env, *agents, keys[1], arguments.games)["win_rate"]
    for name, alone, key in (("v. random", True, keys[2]), ("self-play", False, keys[3])):
        differs = divergence(env, blanked, params, key, arguments.games, arguments.steps, alone)
        numbers |= {f"{measure}, {name}": value for measure, value in differs.items()}
    return {name: float(value) for name, value in numbers.items()}


@functools.partial(jax.jit, static_argnames=("env", "blanked", "games", "steps", "alone"))
def divergence(
    env: Env[Any], blanked: Blanked, params: Any, key: jax.Array, games: int, steps: int, alone: bool
) -> dict[str, jax.Array]:
    """Returns the differences of the blanked policy from the whole one, float32[] each, means over positions.

        KL           of the whole policy from the blanked one, in nats
        same move    whether the most probable actions are the same

    The whole policy plays games of `steps` steps: if `alone`, seat 0 against random players, else all seats. Positions
    count in which it has to choose among several actions.
    """
    start_key, play_key = jax.random.split(key)
    agents = PolicyAgent(params[0], env, blanked.policy), RandomAgent(env)
    seats = arena.one_seat(start_key, games, env.num_players, 0) * alone
    begun = arena.start(env, start_key, games)

    def body(games: Any, key: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        boards = games.boards
        mask = jax.vmap(env.legal_action_mask)(boards)
        seat, observation = boards.current_player, jax.vmap(env.observe)(boards)
        whole, _ = blanked.policy.apply(params[0], observation, seat)
        partial, _ = blanked.apply(params, observation, seat)
        chooses = ~games.over & (mask.sum(-1) > 1) & ((seat == 0) | (not alone))
        best = (jnp.where(mask, logits, MASKED_LOGIT).argmax(-1) for logits in (whole, partial))
        same = jnp.equal(*best)
        after, _ = arena.advance(env, agents, seats, games, key)
        return after, (chooses, jnp.where(chooses, kl_divergence(whole, partial, mask), 0), chooses & same)

    _, (chooses, kl, same) = jax.lax.scan(body, begun, jax.random.split(play_key, steps))
    return {"KL": kl.sum() / chooses.sum(), "same move": same.sum() / chooses.sum()}


def table(results: Mapping[str, Mapping[str, list[dict[str, float]]]]) -> str:
    """Returns the Markdown table: a row per way of sharing and blanked part, means over seeds with their intervals.

    The last column is the change of the turns to win by the blanking, a difference of the same runs.
    """
    names = list(next(iter(next(iter(results.values())).values()))[0])
    rows: list[list[str]] = []
    for mode, kinds in results.items():
        whole = [row["mean_turns"] for row in kinds["nothing"]]
        for kind, of_seeds in kinds.items():
            means = [format_interval(interval([row[name] for row in of_seeds], np.mean), "{:.2f}") for name in names]
            change = interval(np.subtract([row["mean_turns"] for row in of_seeds], whole), np.mean)
            rows.append([mode, kind, *means, "" if kind == "nothing" else format_interval(change, "{:+.2f}")])
    return markdown(["sharing", "blanked", *names, "change of turns"], rows)


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
