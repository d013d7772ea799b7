"""Robustness: win rates from random legal placements of the pieces, and agreement with the best moves of alpha-beta.

    python -m examples.papers.alpha_mini.placements --output runs/papers/alpha_mini/placements \\
        --agents runs/papers/alpha_mini/win_rates/minichess_king_capture_seed=0 greedy random

The study claims that its agent "is more robust to deviations" (section 7). It asks for the "move quality on boards with
random piece placements" (section 6.1.2), and measures neither. Here each agent plays against a random player, from the
start and from random placements (`jaxgames/arena/openings/placements.py`). And on positions of random games and on
placements, its move is compared with the best moves of alpha-beta, of which there can be several.

The agents of `policy_improvement` are runs too, such as OUTPUT/last/seed=0/white_8 with --seats 0. Finished rows are
not computed again.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxgames
from examples.papers._experiment import Experiment, Report, command
from examples.papers.alpha_mini import games
from jaxgames import Env, arena
from jaxgames._progress import progress_over
from jaxgames.agents import RandomAgent, analyse
from jaxgames.arena.openings.placements import random_placements
from train import agents
from train.data import labels
from train.driver.tables import markdown

TRAINED = "runs/papers/alpha_mini/win_rates/minichess_king_capture_seed=0"
SOURCES = ("start", "placements")
QUICK: dict[str, Any] = {"agents": ("greedy", "random"), "judge": "alphabeta(depth=1)", "games": 50, "positions": 50}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/alpha_mini/placements")
    agents: tuple[str, ...] = (TRAINED, "greedy", "random")
    """The agents: runs or others."""
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
    best = {source: best_moves(arguments, env, source) for source in SOURCES}
    rows: list[dict[str, Any]] = []
    for text in progress_over(arguments.agents, unit="agents"):
        row: dict[str, Any] = {"agent": text}
        for source in SOURCES:
            row[source] = play_on_seats(arguments, env, text, source)
            row[source] |= {"agreement": agreement(arguments, env, text, source, *best[source])}
        rows.append(row)
    return Report(rows, table(rows))


# -- games -----------------------------------------------------------------------------------------------------------


def play_on_seats(arguments: Arguments, env: Env[Any], text: str, source: str) -> dict[str, int]:
    """Returns the games, wins and losses of an agent against a random player, over all seats."""
    total: dict[str, int] = {"games": 0, "won": 0, "lost": 0}
    for seat in arguments.seats:
        key = {"env": str(env), "agent": text, "source": source, "seat": seat, "num_games": arguments.games}
        play = functools.partial(play_on_seat, env, text, source, seat, arguments.games)
        result = arguments.once(key, play, file="games")
        total = {name: count + result[name] for name, count in total.items()}
    return total


def play_on_seat(env: Env[Any], text: str, source: str, seat: int, num_games: int) -> dict[str, Any]:
    openings = arena.openings_of_boards(placements(env, num_games)) if source == "placements" else None
    return games.play_random(text, seat, num_games, env=env, openings=openings)


@functools.lru_cache(maxsize=4)
def placements(env: Env[Any], count: int) -> Any:
    return random_placements(env, count, seed=0)


def key_of(arguments: Arguments, env: Env[Any], text: str, source: str) -> dict[str, Any]:
    """Returns all that the agreement of an agent with alpha-beta depends on."""
    of_positions = {"judge": arguments.judge, "positions": arguments.positions}
    return {"env": str(env), "agent": text, "source": source, **of_positions}


# -- moves -----------------------------------------------------------------------------------------------------------


def best_moves(arguments: Arguments, env: Env[Any], source: str) -> tuple[Any, np.ndarray]:
    """Returns positions, and bool[P, num_actions], the moves that alpha-beta finds best. They are stored in a file."""
    if source == "placements":
        states = placements(env, arguments.positions)
    else:
        states = labels.played_positions(env, RandomAgent(env), arguments.positions, seed=0).states

    def compute() -> dict[str, Any]:
        analysis = analyse(agents.make(arguments.judge, env), states)
        if analysis is None:
            raise ValueError(f"{arguments.judge} gives no probabilities: choose an agent that has them")
        return {"best": [np.flatnonzero(row).tolist() for row in np.asarray(analysis.probabilities) > 0]}

    result = arguments.once(key_of(arguments, env, "", source), compute, file="best_moves")
    best = np.zeros((len(result["best"]), env.num_actions), np.bool_)
    for row, actions in zip(best, result["best"], strict=True):
        row[actions] = True
    return states, best


def agreement(
    arguments: Arguments, env: Env[Any], text: str, source: str, states: Any, best: np.ndarray
) -> dict[str, Any]:
    """Returns the number of positions, and on how many of them the agent's move is a best one; expected for random."""

    def compute() -> dict[str, Any]:
        agent = agents.make(text, env)
        if isinstance(agent, RandomAgent):
            legal = np.asarray(jax.vmap(env.legal_action_mask)(states))
            count = float(((best & legal).sum(1) / legal.sum(1)).sum())
        else:
            act = jax.jit(type(agent).act) if agent.on_device else type(agent).act
            actions = np.asarray(act(agent, jax.random.key(0), states))
            count = float(best[np.arange(len(best)), actions].sum())
        return {"compared": len(best), "agreed": count}

    return arguments.once(key_of(arguments, env, text, source), compute, file="moves")


def table(rows: Sequence[dict[str, Any]]) -> str:
    header = ("agent", "win rate, start", "win rate, placements", "best moves, random games", "best moves, placements")
    lines: list[tuple[object, ...]] = []
    for row in rows:
        played = [row[source] for source in SOURCES]
        rates = [games.format_rate(each["won"], each["games"]) for each in played]
        agreed = [each["agreement"] for each in played]
        rates += [games.format_rate(round(each["agreed"]), each["compared"]) for each in agreed]
        lines.append((row["agent"], *rates))
    return markdown(header, lines)


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
