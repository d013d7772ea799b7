"""Turns to win with full sharing: what keeps self-play of 400,000 steps above the study's 20.7 turns.

    python -m examples.papers.parameter_sharing.turns_to_win --output runs/papers/parameter_sharing/turns

Self-play only meets its own kind: all pegs run through the middle and leave their homes early. Random players stay at
home, and their pegs block the goal. So there are variants in which random players have three of the six seats in
training. The budget is the budget of the study, and steps of random players count. Every variant is measured with
sampled actions, as in the study, and with greedy ones. A turn is blocked if it begins with a peg of another seat in the
goal: it cannot win.
"""

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers._experiment import Report, command
from examples.papers._intervals import difference, exact_p, format_interval, format_p, interval
from examples.papers.parameter_sharing import heat_maps, runs
from examples.papers.parameter_sharing.comparison import finite
from examples.papers.parameter_sharing.evaluation import mean_of_last, watch
from examples.papers.parameter_sharing.heat_maps import SEAT, SIZE, pegs_of
from examples.papers.parameter_sharing.study import PAPER, STEPS_PER_ITERATION, WINDOW, settings_of
from jaxgames import Env, arena, make
from jaxgames._checks import check_choice
from jaxgames.agents import Agent, RandomAgent
from jaxgames.arena import Games
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.policies.agent import PolicyAgent
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown

RANDOM_SEATS: dict[str, Any] = {"opponents": ("random",), "learn_seats": (0, 2, 4)}
WIDE: dict[str, Any] = {"hidden_sizes": (128, 128), "ent_coef": 0.01}
VARIANTS: dict[str, dict[str, Any]] = {
    "self_play": {},
    "random_seats": RANDOM_SEATS,
    "wide": WIDE,
    "random_seats_wide": RANDOM_SEATS | WIDE,
}
SAMPLED, GREEDY = 1.0, 1e-3  # temperatures; at the second, the most probable action is always drawn
GAME: Env[Any] = make(heat_maps.GAME)
QUICK: dict[str, Any] = {"variants": ("random_seats",), "seeds": 2, "iterations": 2, "games": 2, "last_games": 2}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/parameter_sharing/turns")
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Names of variants; an unknown name is refused with the list."""
    last_games: int = 300
    """Games after the last iteration, sampled and greedy each."""


def report(arguments: Arguments) -> Report:
    """Trains the runs of every variant, and plays their games."""
    for name in arguments.variants:
        check_choice("variants", name, VARIANTS)
    results = {name: measure(name, arguments) for name in arguments.variants}
    first = next(iter(results.values()))
    names = list(first)
    rows: list[list[str]] = []
    for variant, of_seeds in results.items():
        medians = [format_interval(interval(of_seeds[name]), "{:.2f}") for name in names]
        sampled = of_seeds["sampled"], first["sampled"]
        change = [format_interval(difference(*sampled), "{:+.2f}"), format_p(exact_p(*sampled))]
        rows.append([variant, *medians, *(["", ""] if of_seeds is first else change)])
    text = markdown(["variant", *names, "change of sampled", "p"], rows)
    text += f"\n\nthe study, sampled: {PAPER['shared'][-1]}"
    numbers = {name: {column: finite(of_seeds[column]) for column in names} for name, of_seeds in results.items()}
    return Report(numbers, text)


def measure(variant: str, arguments: Arguments) -> dict[str, list[float]]:
    """Returns the turns to win of each seed by column: at parts of the budget, sampled and greedy at its end.

    "blocked" are the turns that begin with a peg of another seat in the goal. The last column is the mean length of the
    games in training, in submoves.
    """
    changes: dict[str, Any] = {name: (value,) for name, value in VARIANTS[variant].items()}
    settings = settings_of("parameter_sharing", arguments.iterations, **changes)
    trained = runs.train_all(arguments.output / variant, settings, arguments.seeds, arguments.games)
    rows = [run.rows() for run in trained]
    columns: dict[str, list[float]] = {}
    for end in (max(arguments.iterations // 4, 1), max(arguments.iterations // 2, 1), arguments.iterations):
        name = "sampled" if end == arguments.iterations else f"sampled, {end * STEPS_PER_ITERATION:,} steps"
        columns[name] = [mean_of_last(each[:end], "mean_turns", WINDOW) for each in rows]
    for name, temperature in (("sampled", SAMPLED), ("greedy", GREEDY)):
        played: list[dict[str, Any]] = []
        for run in trained:
            key = {"run": str(run.folder), "games": arguments.last_games, "temperature": temperature}
            played.append(arguments.once(key, functools.partial(turns_of, run, arguments.last_games, temperature)))
        if name == "greedy":  # sampled turns come from the evaluations
            columns[name] = [math.inf if each["turns"] is None else each["turns"] for each in played]
        columns[f"blocked, {name}"] = [each["blocked"] for each in played]
    columns["submoves in training"] = [mean_of_last(each, "episode_length", WINDOW) for each in rows]
    return columns


def turns_of(run: RunFolder, games: int, temperature: float) -> dict[str, float | None]:
    """Returns the means of "turns" to win and of "blocked" turns after the last iteration; see `count_turns`.

    The turns are None if no game is won.
    """
    policy: Any = run.learner.policy  # pyright: ignore[reportAttributeAccessIssue]  # PPO has one
    agent = PolicyAgent(run.params(), GAME, policy, np.float32(temperature))
    turns, blocked = count_turns(GAME, agent, jax.random.key(run.config.seed), games)
    return {"turns": float(turns) if np.isfinite(turns) else None, "blocked": float(blocked)}


@functools.partial(jax.jit, static_argnames=("env", "games"))
def count_turns(env: Env[Any], agent: Agent, key: jax.Array, games: int) -> tuple[jax.Array, jax.Array]:
    """Returns means over games of an agent in seat 0 against random players, float32[] each.

    The first counts the turns in the games won, NaN if there are none. The second counts the agent's turns that begin
    with a peg of another seat in its goal, in all games. No such turn can win.
    """
    start_key, key = jax.random.split(key)
    seats = arena.one_seat(start_key, games, env.num_players, SEAT)
    players = agent, RandomAgent(env)
    goal = tables(SIZE).triangle == 3

    def update(before: Games, after: Games, blocked: jax.Array) -> jax.Array:
        begins = ~before.over & (before.boards.current_player == SEAT) & (before.last_mover != SEAT)
        others = jax.vmap(lambda board: pegs_of(env, board)[1])(before.boards)
        return blocked + (begins & (others & goal).any(-1))

    begun = arena.start(env, start_key, games)
    played, blocked = watch(env, players, seats, begun, key, update, jnp.zeros(games, jnp.int32))
    won = arena.winners(env, played)[:, SEAT]
    return (played.turns[:, SEAT] * won).sum() / won.sum(), blocked.mean()


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
