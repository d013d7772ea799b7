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

from examples.papers._experiment import Report, command, new_picture, progress_over
from examples.papers._intervals import draw_band, format_interval, interval
from examples.papers.parameter_sharing.runs import FinishedRuns, runs_by_sharing
from examples.papers.parameter_sharing.study import STEPS_PER_ITERATION
from jaxgames import Env, arena, make
from jaxgames.policies.agent import PolicyAgent
from train import plot
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown
from train.models.policy import Params, Policy

GAME = "chinese_checkers(size=2, num_players=6, max_rounds={})"
LENGTH = "rounds"
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
    """Plays the matches of all seeds."""
    matches = play_all(arguments)
    rows = summary(matches, arguments.parts)
    text = markdown(
        ["iterations", *(f"{mode} wins" for mode in rows[0]["wins"]), "nobody wins", LENGTH],
        [[row["iterations"], *row["wins"].values(), row["nobody"], row[LENGTH]] for row in rows],
    )
    text += f"\n\n{table_of_differences(matches, arguments.parts)}"
    return Report({"rows": rows}, text, {"figure_4": draw(matches)})


def play_all(arguments: Arguments) -> dict[str, Any]:
    """Returns iterations [matches], LENGTH [seeds][matches], and the win rates by mode, [seeds][matches] each.

    Seeds whose matches are in the output folder are not played again.
    """
    of_mode = runs_by_sharing(arguments.runs, arguments.output, arguments.iterations, arguments.seeds)
    results: list[dict[str, Any]] = []
    for runs in progress_over([*zip(*of_mode.values(), strict=True)], unit="seeds"):
        last = min(run.config.num_iterations for run in runs)
        key = {"runs": str(arguments.runs or arguments.output), "modes": ",".join(of_mode), "seed": runs[0].config.seed}
        key |= {name: getattr(arguments, name) for name in ("games", "max_rounds")} | {"every": 1}
        iterations = [*range(1, last + 1)]
        play = functools.partial(match_after, runs, iterations, arguments.games, arguments.max_rounds)
        results.append(arguments.once(key, play, file="matches"))
    wins = {mode: [of_seed["wins"][index] for of_seed in results] for index, mode in enumerate(of_mode)}
    rounds = [of_seed[LENGTH] for of_seed in results]
    return {"iterations": results[0]["iterations"], "wins": wins, LENGTH: rounds}


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


# -- table and picture ---------------------------------------------------------------------------------------------


def parts_of(results: dict[str, Any], parts: int) -> dict[str, np.ndarray]:
    """Returns the matches of each part of the training: indices by "1-25" and so on."""
    split = np.array_split(np.arange(len(results["iterations"])), parts)
    return {f"{results['iterations'][part[0]]}-{results['iterations'][part[-1]]}": part for part in split if part.size}


def of_seeds(values: list[list[float]], part: np.ndarray) -> list[float]:
    return np.array(values)[:, part].mean(1).tolist()


def summary(results: dict[str, Any], parts: int) -> list[dict[str, Any]]:
    """Returns a row per part: means over seeds with their intervals, as text."""
    rows: list[dict[str, Any]] = []
    nobody = (1 - np.sum([*results["wins"].values()], axis=0)).tolist()
    for name, part in parts_of(results, parts).items():
        wins = {m: format_interval(interval(of_seeds(v, part), np.mean), "{:.2f}") for m, v in results["wins"].items()}
        rows.append(
            {
                "iterations": name,
                "wins": wins,
                "nobody": format_interval(interval(of_seeds(nobody, part), np.mean), "{:.2f}"),
                LENGTH: format_interval(interval(of_seeds(results[LENGTH], part), np.mean)),
            }
        )
    return rows


def table_of_differences(results: dict[str, Any], parts: int) -> str:
    """Returns the differences of win rates from the first way of sharing, by part, in Markdown.

    The ways of one seed play in the same games, so what one wins the others lose: the differences are taken seed by
    seed.
    """
    (first, of_first), *others = results["wins"].items()
    split = parts_of(results, parts)
    rows: list[list[str]] = []
    for mode, values in others:
        changes = (interval(np.subtract(of_seeds(of_first, p), of_seeds(values, p)), np.mean) for p in split.values())
        rows.append([f"{first} - {mode}", *(format_interval(change, "{:.2f}") for change in changes)])
    return markdown(["difference of win rates", *split], rows)


def draw(results: dict[str, Any]) -> Figure:
    """Returns Figure 4: win rates of the three ways, and rounds, by steps: medians of the seeds in their ranges."""
    figure, (left, right) = new_picture(9.6, 4.0, across=2)
    steps = np.array(results["iterations"]) * STEPS_PER_ITERATION
    lines = [(left, mode, values) for mode, values in results["wins"].items()] + [(right, LENGTH, results[LENGTH])]
    for index, (axes, label, values) in enumerate(lines):
        draw_band(axes, steps, values, index, label)
    left.set(ylabel="win rate, two seats of six", ylim=(-0.02, 1.02))
    left.legend(fontsize="small")
    right.set(ylabel="rounds of a game", ylim=(0, None))
    for axes in (left, right):
        axes.set_xlabel("environment steps")
        axes.xaxis.set_major_formatter(plot.text_of_tick)
    return figure


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
