"""The abstract's reason for submoves, that they "drastically" reduce the actions: whole turns beside legal submoves.

    python -m examples.papers.parameter_sharing.whole_turns --output runs/papers/parameter_sharing/whole_turns

Positions are drawn from those of games of one kind of agent on all six seats in which a turn begins. A whole turn is a
step or a chain of hops. Turns are counted twice: as pairs of a peg and the cell where it ends, and as different chains.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from examples.papers._experiment import Experiment, Report, run_experiment, table_of
from jaxgames import arena
from jaxgames.agents import make
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers.rules import EMPTY, ChineseCheckers

COLUMNS = {
    "N": "{size}",
    "agent": "`{agent}`",
    "positions": "{positions:,}",
    "submoves: mean, max": "{submoves[mean]:.1f}, {submoves[max]:,}",
    "turns by peg and last cell": "{ends[mean]:.1f}, {ends[max]:,}",
    "turns by chain": "{chains[mean]:.1f}, {chains[max]:,}",
    "submoves of a turn": "{decisions:.2f}",
    "numbers of actions: submoves": "{submove_actions:,}",
    "pairs of two cells": "{pair_actions:,}",
}
MISSING = -100  # the content of a place outside of the star
QUICK: dict[str, Any] = {"sizes": (2,), "games": 2, "steps": 100, "positions": 20}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/parameter_sharing/whole_turns")
    sizes: tuple[int, ...] = (2, 3, 4)
    """N, each from 1 to 8."""
    agents: tuple[str, ...] = ("random", "greedy")
    """Agents on all seats."""
    games: int = 16
    """Games of each agent."""
    steps: int = 1_500
    """Steps of each game at most."""
    positions: int = 2_000
    """Positions that are drawn of those in which a turn begins."""
    seed: int = 0


def report(arguments: Arguments) -> Report:
    rows: list[dict[str, Any]] = []
    for size in arguments.sizes:
        for agent in arguments.agents:
            key = {"size": size, "agent": agent}
            key |= {name: getattr(arguments, name) for name in ("games", "steps", "positions", "seed")}
            rows.append(key | arguments.once(key, functools.partial(count, size, agent, arguments)))
    return Report(rows, table_of(rows, COLUMNS))


def count(size: int, agent: str, arguments: Arguments) -> dict[str, Any]:
    """Returns the mean and the maximum of submoves and turns over positions of an agent's games."""
    env = ChineseCheckers(size, 6)
    seats = np.zeros((arguments.games, env.num_players), np.int32)
    keys = jax.random.split(jax.random.key(arguments.seed))
    record = jax.jit(arena.record, static_argnames=("env", "num_steps"))
    begun = arena.start(env, keys[0], arguments.games)
    _, boards, _ = record(env, (make(agent, env),), seats, begun, keys[1], arguments.steps)
    playing = ~np.asarray(boards.terminated | boards.truncated)
    begins = playing & (np.asarray(boards.peg) < 0)
    places = np.random.default_rng(arguments.seed).permutation(np.argwhere(begins))[: arguments.positions]
    drawn = jax.tree.map(lambda leaf: leaf[(*places.T,)], boards)
    turns = [[*whole_turns(size, board)] for board in np.asarray(drawn.board).tolist()]
    numbers = {
        "submoves": np.asarray(jax.vmap(env.legal_action_mask)(drawn)).sum(-1),
        "ends": np.array([len({(turn[0], turn[-1]) for turn in each}) for each in turns]),
        "chains": np.array([len(each) for each in turns]),
    }
    return {
        "positions": len(places),
        **{name: {"mean": round(float(each.mean()), 2), "max": int(each.max())} for name, each in numbers.items()},
        "decisions": round(float(playing.sum() / begins.sum()), 3),
        "submove_actions": env.num_actions,
        "pair_actions": len(tables(size).row) ** 2,
    }


def whole_turns(size: int, board: list[int]) -> Iterator[tuple[int, ...]]:
    """Yields the turns of a position in which a turn begins, each the cells of its peg in order.

    `board` is in the mover's frame, see `ChineseCheckersState`. No turn ends early because it wins.
    """
    t = tables(size)
    neighbour, beyond = t.neighbour.tolist(), t.beyond.tolist()
    content = [*board, MISSING]

    def hops(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for over, to in zip(neighbour[path[-1]], beyond[path[-1]], strict=True):
            if content[over] >= 0 and over != path[0] and content[to] == EMPTY and to not in path:
                yield (*path, to)
                yield from hops((*path, to))

    for cell, owner in enumerate(board):
        if owner == 0:
            yield from ((cell, to) for to in neighbour[cell] if content[to] == EMPTY)
            yield from hops((cell,))


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
