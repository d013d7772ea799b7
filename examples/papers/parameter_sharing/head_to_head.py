"""Figure 4: the three ways of sharing play each other after every iteration, two seats each, on drawn seats.

    python -m examples.papers.parameter_sharing.head_to_head --runs runs/papers/parameter_sharing/parameter_sharing

As in the study, a match has 20 games of at most 200 rounds, and a game without a winner counts for nobody. There are
several runs of each way here: the runs with the same seed play each other.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from examples.papers._experiment import Report, new_picture, progress_over, run_experiment
from examples.papers._intervals import draw_band, format_mean
from examples.papers.parameter_sharing.runs import FinishedRuns, runs_by_sharing
from examples.papers.parameter_sharing.study import STEPS_PER_ITERATION
from jaxgames import Env, arena, make
from jaxgames.policies.agent import PolicyAgent
from train import plot
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown
from train.models.policy import Params, Policy

GAME = "chinese_checkers(size=2, num_players=6, max_rounds={})"
NOBODY, LENGTH = "nobody", "rounds"
QUICK: dict[str, Any] = {"games": 2, "max_rounds": 5, "iterations": 2, "seeds": 2, "parts": 2}


@dataclass(frozen=True)
class Arguments(FinishedRuns):
    output: Path = Path("runs/papers/parameter_sharing/head_to_head")
    games: int = 20
    """Games of a match."""
    max_rounds: int = 200
    """The limit of a game; it counts as its length then."""
    iterations: int = 100
    """Iterations of runs that are trained here."""
    parts: int = 4
    """The number of equal parts of the training in the table."""


def report(arguments: Arguments) -> Report:
    iterations, values = play_all(arguments)
    parts = [part for part in np.array_split(np.arange(len(iterations)), arguments.parts) if part.size]
    names = [f"{iterations[part[0]]}-{iterations[part[-1]]}" for part in parts]
    means = {name: [each[:, part].mean(1).tolist() for part in parts] for name, each in values.items()}  # of each seed
    rows: list[dict[str, str]] = []
    for number, name in enumerate(names):
        rows.append({"iterations": name})
        for of, of_parts in means.items():
            form, head = ("{:.1f}", of) if of == LENGTH else ("{:.2f}", f"{of} wins")
            rows[-1][head] = format_mean(of_parts[number], form)
    (first, of_first), *others = list(means.items())[:-2]
    # The ways of one seed play in the same games, so what one wins the others lose: differences are taken seed by seed.
    differences = [
        [f"{first} - {mode}", *(format_mean(np.subtract(*of), "{:.2f}") for of in zip(of_first, of_mode, strict=True))]
        for mode, of_mode in others
    ]
    tables = [
        markdown([*rows[0]], ([*row.values()] for row in rows)),
        markdown(["difference of win rates", *names], differences),
    ]
    return Report({"rows": rows}, "\n\n".join(tables), {"figure_4": draw(iterations, values)})


def play_all(arguments: Arguments) -> tuple[list[int], dict[str, np.ndarray]]:
    """Returns the iterations of the matches, and numbers of each match, float64[seeds, matches] by name.

    They are the win rates of the ways of sharing, the share of NOBODY, and LENGTH. Seeds whose matches are in the
    output folder are not played again.
    """
    of_mode = runs_by_sharing(arguments.runs, arguments.output, arguments.iterations, arguments.seeds)
    results: list[dict[str, Any]] = []
    for runs in progress_over([*zip(*of_mode.values(), strict=True)], unit="seeds"):
        last = min(run.config.num_iterations for run in runs)
        key = {"runs": str(arguments.runs or arguments.output), "modes": ",".join(of_mode), "seed": runs[0].config.seed}
        key |= {name: getattr(arguments, name) for name in ("games", "max_rounds")} | {"every": 1}
        play = functools.partial(match_after, runs, [*range(1, last + 1)], arguments.games, arguments.max_rounds)
        results.append(arguments.once(key, play, file="matches"))
    wins = np.array([of_seed["wins"] for of_seed in results]).swapaxes(0, 1)  # [modes, seeds, matches]
    others = {NOBODY: 1 - wins.sum(0), LENGTH: np.array([of_seed[LENGTH] for of_seed in results])}
    return results[0]["iterations"], dict(zip(of_mode, wins, strict=True)) | others


def match_after(runs: tuple[RunFolder, ...], iterations: list[int], games: int, max_rounds: int) -> dict[str, Any]:
    """Returns the win rates [runs][iterations] and the mean rounds [iterations] of a match after each iteration."""
    params = [jax.tree.map(lambda *leaves: np.stack(leaves), *(r.params(i) for i in iterations)) for r in runs]
    policies = tuple(run.learner.policy for run in runs)  # pyright: ignore[reportAttributeAccessIssue]  # PPO has one
    keys = jax.random.split(jax.random.key(runs[0].config.seed), len(iterations))
    wins, rounds = jax.device_get(matches(make(GAME.format(max_rounds)), policies, games, params, keys))
    return {"iterations": iterations, "wins": wins.T.tolist(), LENGTH: rounds.tolist()}


@functools.partial(jax.jit, static_argnames=("env", "policies", "games"))
def matches(
    env: Env[Any], policies: tuple[Policy, ...], games: int, params: list[Params], keys: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Returns the win rates float32[matches, policies] and the mean rounds float32[matches] of matches.

    The seats are divided equally among the policies, and drawn for every game. `params` has the parameters of every
    policy, leaves [matches, ...], and there is a key for every match.
    """

    def one(match: tuple[list[Params], jax.Array]) -> tuple[jax.Array, jax.Array]:
        params, key = match
        agents = [PolicyAgent(each, env, policy) for each, policy in zip(params, policies, strict=True)]
        seat_key, start_key, play_key = jax.random.split(key, 3)
        seats = arena.seating([env.num_players // len(agents)] * len(agents), "drawn", games, seat_key)
        played = arena.advance_until_over(env, agents, seats, arena.start(env, start_key, games), play_key)
        won = arena.winners(env, played)
        wins = jnp.stack([(won & (seats == number)).any(-1).mean() for number in range(len(agents))])
        boards: Any = played.boards
        return wins, boards.round.mean()

    return jax.lax.map(one, (params, keys))


def draw(iterations: list[int], values: dict[str, np.ndarray]) -> Figure:
    """Returns Figure 4: win rates of the three ways, and rounds, by steps: medians of the seeds in their ranges."""
    figure, (left, right) = new_picture(9.6, 4.0, across=2)
    steps = np.array(iterations) * STEPS_PER_ITERATION
    lines = {name: each.tolist() for name, each in values.items() if name != NOBODY}
    for index, (label, each) in enumerate(lines.items()):
        draw_band(right if label == LENGTH else left, steps, each, index, label)
    left.set(ylabel="win rate, two seats of six", ylim=(-0.02, 1.02))
    right.set(ylabel="rounds of a game", ylim=(0, None))
    for axes in (left, right):
        axes.set_xlabel("environment steps")
        axes.xaxis.set_major_formatter(plot.text_of_tick)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
