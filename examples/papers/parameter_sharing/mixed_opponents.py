"""Opponents between random players and the policy itself: how far its play carries from the games of its training.

    python -m examples.papers.parameter_sharing.mixed_opponents --runs runs/papers/parameter_sharing/parameter_sharing

In self-play a policy meets only itself (section 4.4 of the study). Here a policy with full sharing has one drawn seat
against five equal opponents: the policy itself, which plays a part `epsilon` of its submoves at random; the policy
after fewer iterations; `greedy`, which it never met. For comparison `greedy` plays the same seat: it learns nothing,
so no opponents are new to it.

    entropy      of the policy, in nats, mean over the positions in which it has to choose
    same move    the share of these positions where its most probable action is the same without the other seats' pegs
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers._experiment import Report, command
from examples.papers._intervals import format_interval, interval
from examples.papers.parameter_sharing.blanked_seats import BLANKED, GAME, evaluate_on_drawn_seats, seen_without
from examples.papers.parameter_sharing.comparison import finite
from examples.papers.parameter_sharing.evaluation import watch
from examples.papers.parameter_sharing.runs import FinishedRuns, runs_by_sharing
from jaxgames import Env, arena, make
from jaxgames.agents import Agent, GreedyAgent, with_epsilon
from jaxgames.arena import Games
from jaxgames.policies.agent import PolicyAgent
from jaxgames.sampling import MASKED_LOGIT
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown
from train.ops.masked_categorical import log_prob_and_entropy

ENV: Env[Any] = make(GAME)
ITSELF, GREEDY = "itself", "greedy"
QUICK = {"games": 2, "epsilons": (1.0,), "earlier": (1,), "greedy_epsilons": (), "iterations": 2, "seeds": 2}
COLUMNS = {
    "won": "win_rate",
    "turns to win": "turns",
    "entropy": "entropy",
    "same move without the other seats": "same_move",
    "`greedy` in its seat: won": "greedy_win_rate",
}

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
    """Plays the games of every run against each kind of opponents."""
    last = arguments.iterations
    kinds = [Opponents(ITSELF, last, epsilon) for epsilon in arguments.epsilons]
    kinds += [Opponents(ITSELF, iteration, 0.0) for iteration in arguments.earlier]
    kinds += [Opponents(GREEDY, last, epsilon) for epsilon in arguments.greedy_epsilons]
    [finished] = runs_by_sharing(arguments.runs, arguments.output, last, arguments.seeds, ("shared",)).values()
    results: Results = {name_of(kind, last): [measured(run, kind, arguments) for run in finished] for kind in kinds}
    of_runs = {
        kind: {name: finite([round(row[name], 4) for row in rows]) for name in rows[0]}
        for kind, rows in results.items()
    }
    known = [results[name_of(kind, last)] for kind in kinds if kind.agent == ITSELF and kind.iteration == last]
    new = {name_of(kind, last): results[name_of(kind, last)] for kind in kinds if kind.agent == GREEDY}
    tables = [table(results), *([table_of_losses(known, new)] if len(known) > 1 and new else [])]
    return Report(of_runs, "\n\n".join(tables))


def name_of(kind: Opponents, last: int) -> str:
    """Returns the words for opponents in the table; `last` is the iteration of the policies that they meet."""
    agent, iteration, epsilon = kind
    if epsilon == 1:
        return "random"
    name = f"`{agent}`" if agent == GREEDY else agent
    if iteration != last:
        name += f", iteration {iteration}"
    return f"{name}, {epsilon:.0%} random".replace("%", " %") if epsilon else name


def measured(run: RunFolder, kind: Opponents, arguments: Arguments) -> dict[str, float]:
    key = {"run": str(run.folder), **kind._asdict()}
    key |= {"games": arguments.games, "iterations": arguments.iterations}
    return arguments.once(key, functools.partial(measure, run, kind, arguments))


def measure(run: RunFolder, kind: Opponents, arguments: Arguments) -> dict[str, float]:
    """Returns the measures of a run's policy against five opponents, by the values of COLUMNS."""
    policy: Any = run.learner.policy  # pyright: ignore[reportAttributeAccessIssue]  # PPO has one
    player = PolicyAgent(run.params(arguments.iterations), ENV, policy)
    same = PolicyAgent(run.params(kind.iteration), ENV, policy)
    opponent = with_epsilon(ENV, GreedyAgent(ENV) if kind.agent == GREEDY else same, kind.epsilon)
    key = jax.random.key(run.config.seed)
    found = play(player, opponent, key, arguments.games)
    greedy = evaluate_on_drawn_seats(ENV, GreedyAgent(ENV), opponent, key, arguments.games)
    found |= {"greedy_win_rate": greedy["win_rate"]}
    return {name: float(value) for name, value in found.items()}


@functools.partial(jax.jit, static_argnames="games")
def play(player: PolicyAgent, opponent: Agent, key: jax.Array, games: int) -> dict[str, jax.Array]:
    """Returns the measures of a policy on a drawn seat against five opponents, float32[] each.

    The turns to win are NaN if it wins no game.
    """
    seat_key, start_key, key = jax.random.split(key, 3)
    seats, games_at_start = arena.one_seat(seat_key, games, ENV.num_players), arena.start(ENV, start_key, games)
    own = (seats == 0).argmax(-1)
    seen = seen_without(BLANKED["other seats"])

    def update(before: Games, after: Games, sums: jax.Array) -> jax.Array:  # float32[3]: positions, entropies, same
        boards = before.boards
        mask = jax.vmap(ENV.legal_action_mask)(boards)
        observation = jax.vmap(ENV.observe)(boards)
        whole, _ = player.policy.apply(player.params, observation, boards.current_player)
        partial, _ = player.policy.apply(player.params, observation & seen, boards.current_player)
        best, other = (jnp.where(mask, logits, MASKED_LOGIT).argmax(-1) for logits in (whole, partial))
        _, entropy = log_prob_and_entropy(whole, mask, best)
        chooses = ~before.over & (boards.current_player == own) & (mask.sum(-1) > 1)
        return sums + jnp.stack([(chooses * value).sum() for value in (1.0, entropy, best == other)])

    played, sums = watch(ENV, (player, opponent), seats, games_at_start, key, update, jnp.zeros(3))
    winners = arena.winners(ENV, played)
    won = (winners & (seats == 0)).any(-1)
    turns = jnp.take_along_axis(played.turns, own[:, None], 1)[:, 0]
    return {
        "win_rate": won.mean(),
        "undecided": (~winners.any(-1)).mean(),
        "turns": (turns * won).sum() / won.sum(),
        "entropy": sums[1] / sums[0],
        "same_move": sums[2] / sums[0],
    }


def table(results: Results) -> str:
    """Returns the Markdown table: a row for each kind of opponents, means over runs with their intervals."""
    rows: list[list[str]] = []
    for kind, of_runs in results.items():
        means = (interval([row[name] for row in of_runs], np.mean) for name in COLUMNS.values())
        rows.append([kind, *(format_interval(mean, "{:.2f}") for mean in means)])
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
        rows.append([kind, format_interval(interval(losses, np.mean), "{:.2f}") if is_between else "-"])
    return markdown(["five opponents", "wins less than against itself"], rows)


def expected(known: Sequence[tuple[float, float]], greedy_win_rate: float) -> float:
    """Returns the win rate at a win rate of `greedy`, on lines between points of both; outside, of the last one."""
    x, y = zip(*sorted(known), strict=True)
    return float(np.interp(greedy_win_rate, x, y))


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
