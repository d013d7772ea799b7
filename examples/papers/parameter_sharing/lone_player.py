"""The claim of section 4.1: 20 turns without jumps for N = 2, and "a couple" fewer for the best strategy.

    python -m examples.papers.parameter_sharing.lone_player --output runs/papers/parameter_sharing/solo
    python -m examples.papers.parameter_sharing.lone_player --sizes 2 --agents greedy "RUN(temperature=1)"

One seat plays alone on the star, from its home to its goal; the other seats have no pegs. For each size the table has
the fewest turns without hops, the fewest of all, and the turns that agents take alone. A run counts for the size of its
game. A game of the fewest turns is drawn as an animation.

Finished games and agents are in OUTPUT/games.jsonl and OUTPUT/agents.jsonl; a repeated command reads them there.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from examples.papers._experiment import Experiment, Report, command
from jaxgames._checks import check_int
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.solvers.chinese_checkers.lone_player import (
    MAX_SIZE,
    SoloGame,
    picture,
    replay,
    shortest_solo,
    shortest_without_hops,
    turns_alone,
)
from train.agents import env_of, make
from train.driver.tables import markdown

HEADER = ("N", "pegs", "fewest without hops", "fewest", "agent alone", "finished games", "turns, mean (range)")
QUICK: dict[str, Any] = {"sizes": (1, 2), "games": 5}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/parameter_sharing/solo")
    sizes: tuple[int, ...] = (2, 3, 4)
    """N, each from 1 to 4; 4 takes minutes."""
    agents: tuple[str, ...] = ("greedy",)
    """Agents that play alone: texts as train.match takes them."""
    games: int = 1000
    """Games of each agent."""


def report(arguments: Arguments) -> Report:
    """Finds the shortest games, and plays the games of the agents."""
    for size in arguments.sizes:
        check_int("sizes", size, 1, MAX_SIZE)
    games = {size: shortest(size, arguments) for size in arguments.sizes}
    rows: list[tuple[object, ...]] = []
    alone: dict[str, dict[str, Any]] = {}
    for size, agent, env in agents_of(arguments):
        key = {"size": size, "agent": agent, "games": arguments.games}
        result = arguments.once(key, functools.partial(play_alone, env, agent, arguments.games), file="agents")
        alone[f"{agent}, N = {size}"] = result
        mean = "" if result["mean"] is None else f"{result['mean']:.1f} ({result['min']}-{result['max']})"
        fewest = (len(shortest_without_hops(size).turns), len(games[size].turns))
        rows.append((size, env.num_pegs, *fewest, agent, f"{result['finished']} of {arguments.games}", mean))
    fewest_turns = {size: len(game.turns) for size, game in games.items()}
    return Report({"fewest": fewest_turns, "alone": alone}, markdown(HEADER, rows))


def shortest(size: int, arguments: Arguments) -> SoloGame:
    """Returns a shortest game, after it won in the env; draws it."""
    turns = arguments.once({"size": size}, lambda: {"game": shortest_solo(size).turns}, file="games")["game"]
    game = SoloGame(size, tuple(map(tuple, turns)), len(turns))
    replay(game)
    picture(game).save(arguments.output / f"size_{size}.svg")
    return game


def agents_of(arguments: Arguments) -> Iterator[tuple[int, str, ChineseCheckers]]:
    """Yields size, text and env of each agent; a run has the size of its game, which must be a star of these sizes."""
    for agent in arguments.agents:
        own = env_of(agent)
        if own is None:
            yield from ((size, agent, ChineseCheckers(size, 6)) for size in arguments.sizes)
        elif isinstance(own, ChineseCheckers) and own.size in arguments.sizes:
            yield own.size, agent, own
        else:
            raise ValueError(f"{agent} plays {own}: expected chinese_checkers of a size in {arguments.sizes}")


def play_alone(env: ChineseCheckers, agent: str, games: int) -> dict[str, Any]:
    """Returns the number of finished games of an agent alone, and the mean and range of their turns."""
    turns = turns_alone(env, make(agent, env), games)
    won = turns[turns > 0].tolist()
    if not won:
        return {"finished": 0, "mean": None, "min": None, "max": None}
    return {"finished": len(won), "mean": round(float(np.mean(won)), 2), "min": min(won), "max": max(won)}


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
