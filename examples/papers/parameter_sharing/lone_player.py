"""The claim of section 4.1: 20 turns without jumps for N = 2, and "a couple" fewer for the best strategy.

    python -m examples.papers.parameter_sharing.lone_player --output runs/papers/parameter_sharing/solo

One seat plays alone on the star, from its home to its goal; the other seats have no pegs, so they pass. For each size
the table has the fewest turns without hops, the fewest of all, and the turns that agents take alone. Games of the
fewest turns are in lone_player_games.json, one text per turn. They are played in the env and drawn as animations.
"""

import functools
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers._experiment import Experiment, Report, run_experiment
from jaxgames import arena, render
from jaxgames._checks import check_int
from jaxgames.games.chinese_checkers.rules import ChineseCheckers, ChineseCheckersState
from jaxgames.host import host
from train.agents import make
from train.driver.tables import markdown

HEADER = ("N", "pegs", "fewest without hops", "fewest", "agent alone", "finished games", "turns, mean (range)")
QUICK: dict[str, Any] = {"sizes": (1, 2), "games": 5}
GAMES: dict[int, list[str]] = {
    int(size): turns
    for size, turns in json.loads(Path(__file__).with_name("lone_player_games.json").read_text()).items()
}
"""A shortest game of each N: its turns, the submoves of each as `env.action_to_string` writes them."""


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/parameter_sharing/solo")
    sizes: tuple[int, ...] = (2, 3, 4)
    """N, each from 1 to 4."""
    agents: tuple[str, ...] = ("greedy",)
    """Agents that play alone: texts as train.match takes them."""
    games: int = 1000
    """Games of each agent."""


def report(arguments: Arguments) -> Report:
    for size in arguments.sizes:
        check_int("sizes", size, 1, max(GAMES))
        arguments.output.mkdir(parents=True, exist_ok=True)
        picture(size).save(arguments.output / f"size_{size}.svg")
    rows: list[tuple[object, ...]] = []
    alone: dict[str, dict[str, Any]] = {}
    for agent, size in itertools.product(arguments.agents, arguments.sizes):
        env = ChineseCheckers(size, 6)
        key = {"size": size, "agent": agent, "games": arguments.games}
        result = arguments.once(key, functools.partial(play_alone, env, agent, arguments.games), file="agents")
        alone[f"{agent}, N = {size}"] = result
        mean = "" if result["mean"] is None else f"{result['mean']:.1f} ({result['min']}-{result['max']})"
        fewest = (fewest_without_hops(size), len(GAMES[size]))
        rows.append((size, env.num_pegs, *fewest, agent, f"{result['finished']} of {arguments.games}", mean))
    return Report(
        {"fewest": {size: len(GAMES[size]) for size in arguments.sizes}, "alone": alone}, markdown(HEADER, rows)
    )


def play_alone(env: ChineseCheckers, agent: str, games: int) -> dict[str, Any]:
    """Returns how many games of an agent alone fill the goal of seat 0, and the mean and range of their turns.

    The env's `max_rounds` limits the turns.
    """
    start = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], start_alone(env))
    openings = arena.openings_of_boards(start).for_games(games)
    seats = jnp.zeros((games, env.num_players), jnp.int32)
    played = arena.play(env, (make(agent, env),), seats, jax.random.key(0), openings=openings)
    won = np.asarray(played.turns)[np.asarray(arena.winners(env, played))[:, 0], 0].tolist()
    mean = round(float(np.mean(won)), 2) if won else None
    return {"finished": len(won), "mean": mean, "min": min(won, default=None), "max": max(won, default=None)}


def fewest_without_hops(size: int) -> int:
    """Returns the fewest turns of a game without hops: the rows between the pegs of the home and the goal in total.

    A step changes the row of one peg by at most one. If the front pegs go first, each of their steps goes down a row.
    """
    return 2 * size * (size + 1) * (2 * size + 1) // 3


def start_alone(env: ChineseCheckers) -> ChineseCheckersState:
    """Returns the start of a game with the pegs of seat 0 alone."""
    rows, *rest = env.to_string(env.init(None)).split(" ")
    for seat in range(1, env.num_players):
        rows = rows.replace(str(seat), ".")
    return env.from_string(" ".join([rows, *rest]))


def replay(env: ChineseCheckers, turns: Sequence[str]) -> tuple[list[ChineseCheckersState], list[int]]:
    """Returns the states and the actions of a game of seat 0 alone, passes of other seats included.

    Raises ValueError for an illegal submove, and if the last submove does not win or an earlier one does.
    """
    states, actions = [start_alone(env)], list[int]()

    def play(text: str) -> None:
        action = env.action_from_string(states[-1], text)
        if not host(env).look(states[-1]).mask[action]:
            raise ValueError(f"{text} is not legal in {env.to_string(states[-1])}")
        actions.append(action)
        states.append(host(env).step(states[-1], action)[0])

    for turn in turns:
        for text in turn.split():
            play(text)
        while not states[-1].terminated and (states[-1].current_player != 0 or states[-1].peg >= 0):
            play("end")
    if not env.winners(states[-1])[0]:
        raise ValueError(f"the game of {len(turns)} turns does not fill the goal: {env.to_string(states[-1])}")
    return states, actions


def picture(size: int) -> render.Picture:
    """Returns an animation of the shortest game, one frame per submove."""
    env = ChineseCheckers(size, 2)
    states, actions = replay(env, GAMES[size])
    own = [at for at, state in enumerate(states[:-1]) if state.current_player == 0]
    return render.animate(env, [states[at] for at in [*own, -1]], [actions[at] for at in own])


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
