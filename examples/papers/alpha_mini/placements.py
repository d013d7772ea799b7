"""Robustness: win rates from random legal placements of the pieces, and agreement with the best moves of alpha-beta.

    python -m examples.papers.alpha_mini.placements --output runs/papers/alpha_mini/placements \\
        --agents runs/papers/alpha_mini/win_rates/minichess_king_capture_seed=0 greedy random

The study claims that its agent "is more robust to deviations" (section 7). It asks for the "move quality on boards with
random piece placements" (section 6.1.2), and measures neither. Here each agent plays against a random player, from the
start and from random placements (`random_placements.py`). And on positions of random games and on placements, its move
is compared with the best moves of alpha-beta, of which there can be several.

A star in the folder of a run stands for the seeds of runs. Their row has means over these runs, and a second table
compares the other sets of runs with the first one, seed by seed.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxgames
from examples.papers._experiment import Experiment, Report, command
from examples.papers._intervals import format_interval, interval
from examples.papers.alpha_mini import games, runs
from examples.papers.alpha_mini.random_placements import random_placements
from jaxgames import Env, arena
from jaxgames.agents import RandomAgent, analyse
from train import agents
from train.data import labels
from train.driver.tables import markdown

TRAINED = "runs/papers/alpha_mini/win_rates/minichess_king_capture_seed=0"
SOURCES = ("start", "placements")
COLUMNS = ("win rate, start", "win rate, placements", "best moves, random games", "best moves, placements")
QUICK: dict[str, Any] = {"agents": ("greedy", "random"), "judge": "alphabeta(depth=1)", "games": 50, "positions": 50}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/alpha_mini/placements")
    agents: tuple[str, ...] = (TRAINED, "greedy", "random")
    """The agents: runs or others. A star in the folder of a run stands for any characters."""
    env: str = "minichess(rules=king_capture, reward=material)"
    """The game."""
    seats: tuple[int, ...] = (0, 1)
    """The seats of each agent: 0 for White, 1 for Black."""
    judge: str = "alphabeta(depth=4)"
    """The agent whose best moves are compared with."""
    games: int = 2_000
    """Games on each seat."""
    positions: int = 500
    """Positions of each source on which moves are compared."""


def report(arguments: Arguments) -> Report:
    """Plays the games of each agent, and compares its moves."""
    env = jaxgames.make(arguments.env)

    def measured(text: str) -> dict[str, Any]:
        row: dict[str, Any] = {"agent": text}
        for source in SOURCES:
            row[source] = play_on_seats(arguments, env, text, source)
            row[source] |= {"agreement": agreement(arguments, env, text, source)}
        return row

    found = runs.of_sets(arguments.agents, measured)
    return Report(found, table(found))


# -- games -----------------------------------------------------------------------------------------------------------


def play_on_seats(arguments: Arguments, env: Env[Any], text: str, source: str) -> dict[str, int]:
    """Returns the games, wins and losses of an agent against a random player, over all seats."""
    total: dict[str, int] = {"games": 0, "won": 0, "lost": 0}
    for seat in arguments.seats:
        key = {"env": str(env), "agent": text, "source": source, "seat": seat, "num_games": arguments.games}

        def play(seat: int = seat) -> dict[str, Any]:
            boards = placements(env, arguments.games) if source == "placements" else None
            openings = None if boards is None else arena.openings_of_boards(boards)
            return games.play_random(text, seat, arguments.games, env=env, openings=openings)

        result = arguments.once(key, play, file="games")
        total = {name: count + result[name] for name, count in total.items()}
    return total


@functools.lru_cache(maxsize=4)
def placements(env: Env[Any], count: int) -> Any:
    return random_placements(env, count, seed=0)


# -- moves -----------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=2)
def best_moves(judge: str, env: Env[Any], source: str, count: int) -> tuple[Any, np.ndarray]:
    """Returns positions, and bool[P, num_actions], the moves that alpha-beta finds best."""
    if source == "placements":
        states = placements(env, count)
    else:
        states = labels.played_positions(env, RandomAgent(env), count, seed=0).states
    return states, best_of(judge, env, states)


def best_of(judge: str, env: Env[Any], states: Any) -> np.ndarray:
    """Returns bool[B, num_actions], the moves that an agent finds best, of which there can be several.

    Raises ValueError if the agent has no probabilities.
    """
    analysis = analyse(agents.make(judge, env), states)
    if analysis is None:
        raise ValueError(f"{judge} gives no probabilities: choose an agent that has them")
    return np.asarray(analysis.probabilities) > 0


def agreement(arguments: Arguments, env: Env[Any], text: str, source: str) -> dict[str, Any]:
    """Returns the number of positions, and on how many of them the agent's move is a best one; expected for random."""

    def compute() -> dict[str, Any]:
        states, best = best_moves(arguments.judge, env, source, arguments.positions)
        agent = agents.make(text, env)
        if isinstance(agent, RandomAgent):
            legal = np.asarray(jax.vmap(env.legal_action_mask)(states))
            count = float(((best & legal).sum(1) / legal.sum(1)).sum())
        else:
            act = jax.jit(type(agent).act) if agent.on_device else type(agent).act
            actions = np.asarray(act(agent, jax.random.key(0), states))
            count = float(best[np.arange(len(best)), actions].sum())
        return {"compared": len(best), "agreed": count}

    key = {"env": str(env), "agent": text, "source": source}
    key |= {"judge": arguments.judge, "positions": arguments.positions}
    return arguments.once(key, compute, file="moves")


# -- tables ----------------------------------------------------------------------------------------------------------


def counts_of(row: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Returns what an agent has in each of COLUMNS: games that it won, or best moves, and of how many."""
    played = [row[source] for source in SOURCES]
    moves = [(round(each["agreement"]["agreed"]), each["agreement"]["compared"]) for each in played]
    return [*((each["won"], each["games"]) for each in played), *moves]


def shares(rows: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """Returns for each of COLUMNS the shares of all agents of a set."""
    return [[share / of for share, of in column] for column in zip(*map(counts_of, rows), strict=True)]


def table(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Returns the Markdown tables: of the agents, and of the differences to the first set of runs, if there are any.

    An agent has 95 % Wilson intervals, a set of runs intervals over the runs. Sets of another size have no difference.
    """
    lines: list[tuple[object, ...]] = []
    changes: list[tuple[object, ...]] = []
    first: tuple[str, list[list[float]]] | None = None
    for text, rows in found.items():
        name, of_text = runs.name_of(text), shares(rows)
        if len(rows) == 1:
            lines.append((name, 1, *(games.format_rate(*counts) for counts in counts_of(rows[0]))))
            continue
        lines.append((name, len(rows), *(format_interval(interval(each, np.mean), "{:.3f}") for each in of_text)))
        first = first or (name, of_text)
        if first[0] != name and len(of_text[0]) == len(first[1][0]):
            differences = (interval(np.subtract(*both), np.mean) for both in zip(of_text, first[1], strict=True))
            changes.append((f"{name}, less {first[0]}", *(format_interval(each, "{:.3f}") for each in differences)))
    texts = [markdown(("agent", "runs", *COLUMNS), lines)]
    return "\n\n".join(texts + ([markdown(("difference", *COLUMNS), changes)] if changes else []))


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
