"""Robustness: win rates from random legal placements of the pieces, and agreement with the best moves of alpha-beta.

    python -m examples.papers.alpha_mini.placements --output runs/papers/alpha_mini/placements \\
        --agents runs/papers/alpha_mini/win_rates/minichess_king_capture_seed=0 greedy random

The study claims that its agent "is more robust to deviations" (section 7). It asks for the "move quality on boards with
random piece placements" (section 6.1.2), and measures neither. Here each agent plays against a random player, from the
start and from random placements. And on positions of random games and on placements, its move is compared with the best
moves of alpha-beta, of which there can be several.

Each side of a placement has its king, and the same number of other pieces, from 1 to all 9: a random subset of those
with which the game begins. So the sides can have different pieces. All stand on random cells, pawns on none of the
first and last rank. The seat to move is random. The side that is not to move is not in check, which it could not have
left: under king capture nobody captures a king with the first move. The mover can be in check.

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
from examples.papers._experiment import Experiment, Report, run_experiment
from examples.papers._intervals import format_mean
from examples.papers.alpha_mini import runs
from jaxgames import Env, ParameterError, arena
from jaxgames.agents import RandomAgent, act_compiled, analyse_in_chunks
from jaxgames.games.minichess.board import Position, legal_masks, pack
from jaxgames.games.minichess.rules import BOARDS, LETTERS, Minichess, MinichessState
from train import agents
from train.data import labels
from train.driver.tables import markdown

TRAINED = "runs/papers/alpha_mini/win_rates/minichess_king_capture_seed=0"
SOURCES = ("start", "placements")
CANDIDATES = 512  # placements that are checked at once; about half of them are legal
MAX_OTHERS = 9  # pieces of a side besides its king
PAWN, KING = 1, 6
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
    env = jaxgames.make(arguments.env)

    def measured(text: str) -> dict[str, Any]:
        row: dict[str, Any] = {"agent": text}
        for source in SOURCES:
            row[source] = play_on_seats(arguments, env, text, source)
            row[source] |= {"agreement": agreement(arguments, env, text, source)}
        return row

    found = runs.of_sets(arguments.agents, measured)
    return Report(found, table(found))


def play_on_seats(arguments: Arguments, env: Env[Any], text: str, source: str) -> dict[str, int]:
    """Returns the games, wins and losses of an agent against a random player, over all seats."""
    total: dict[str, int] = {"games": 0, "won": 0, "lost": 0}
    placed = source == "placements"
    openings = arena.openings_of_boards(random_placements(env, arguments.games)) if placed else None
    for seat in arguments.seats:
        key = {"env": str(env), "agent": text, "source": source, "seat": seat, "num_games": arguments.games}
        play = functools.partial(runs.play_random, text, seat, arguments.games, env=env, openings=openings)
        result = arguments.once(key, play, file="games")
        total = {name: count + result[name] for name, count in total.items()}
    return total


@functools.lru_cache(maxsize=4)
def random_placements(env: Env[Any], count: int, seed: int = 0) -> MinichessState:
    """Returns live boards of minichess, leaves with a leading axis of `count`, on the host.

    Placement i depends only on the seed and on i: a longer list begins with the shorter one. Raises ParameterError (a
    ValueError) for another game, and ValueError for a count below 1.
    """
    if not isinstance(env, Minichess):
        raise ParameterError(f"random placements are of minichess, not of {env}")
    if count < 1:
        raise ValueError(f"the number of placements must be at least 1, not {count}")
    generator, found, parts = np.random.default_rng(seed), 0, list[Any]()
    while found < count:
        black = generator.integers(2, size=CANDIDATES, dtype=np.int32)
        content = np.stack([_candidate(env.board, bool(is_black), generator) for is_black in black])
        boards, allowed = jax.device_get(_read(env, pack(content), black))
        rows = np.flatnonzero(allowed)
        parts.append(jax.tree.map(lambda leaf, rows=rows: leaf[rows], boards))
        found += len(rows)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


def _candidate(board: str, black: bool, generator: np.random.Generator) -> np.ndarray:
    """Returns int[25] by cells, 1..6 the mover's P N B R Q K and -1..-6 the opponent's, legal or not."""
    content, pieces = np.zeros(25, int), list[int]()
    number = int(generator.integers(1, MAX_OTHERS + 1))
    for sign in (1, -1):
        own = [letter for letter in BOARDS[board] if letter.isalpha() and letter.islower() == (black == (sign > 0))]
        others = [LETTERS.index(letter.upper()) + 1 for letter in own if letter.upper() != "K"]
        pieces += [sign * kind for kind in (KING, *generator.permutation(others)[:number].tolist())]
    for piece in sorted(pieces, key=abs):  # pawns first, while their ranks have free cells
        free = content == 0
        if abs(piece) == PAWN:
            free &= ~np.isin(np.arange(25) % 5, (0, 4))
        content[generator.choice(np.flatnonzero(free))] = piece
    return content


@functools.partial(jax.jit, static_argnums=0)
def _read(env: Minichess, positions: Position, black: jax.Array) -> tuple[MinichessState, jax.Array]:
    """Returns the boards of positions in the mover's frame, and bool[N], those that are live and legal."""

    def read(position: Position, black: jax.Array) -> tuple[MinichessState, jax.Array]:
        state = env.placed(position, black)
        in_check = legal_masks(position.mirrored()).checkers != 0
        return state, ~(in_check | state.terminated | state.truncated)

    return jax.vmap(read)(positions, black)


@functools.lru_cache(maxsize=2)
def best_moves(judge: str, env: Env[Any], source: str, count: int) -> tuple[Any, np.ndarray]:
    """Returns positions, and bool[P, num_actions], the moves that alpha-beta finds best."""
    placed = source == "placements"
    states = (
        random_placements(env, count) if placed else labels.played_positions(env, RandomAgent(env), count, 0).states
    )
    return states, best_of(judge, env, states)


def best_of(judge: str, env: Env[Any], states: Any) -> np.ndarray:
    """Returns bool[B, num_actions], the moves that an agent finds best, of which there can be several.

    Raises ValueError if the agent has no probabilities.
    """
    return np.asarray(analyse_in_chunks(agents.make(judge, env), states).probabilities) > 0


def agreement(arguments: Arguments, env: Env[Any], text: str, source: str) -> dict[str, Any]:
    """Returns the number of positions, and on how many of them the agent's move is a best one; expected for random."""

    def compute() -> dict[str, Any]:
        states, best = best_moves(arguments.judge, env, source, arguments.positions)
        agent = agents.make(text, env)
        if isinstance(agent, RandomAgent):
            legal = np.asarray(jax.vmap(env.legal_action_mask)(states))
            count = float(((best & legal).sum(1) / legal.sum(1)).sum())
        else:
            actions = np.asarray(act_compiled(agent, jax.random.key(0), states))
            count = float(best[np.arange(len(best)), actions].sum())
        return {"compared": len(best), "agreed": count}

    key = {"env": str(env), "agent": text, "source": source}
    key |= {"judge": arguments.judge, "positions": arguments.positions}
    return arguments.once(key, compute, file="moves")


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
            lines.append((name, 1, *(runs.format_rate(*counts) for counts in counts_of(rows[0]))))
            continue
        lines.append((name, len(rows), *map(format_mean, of_text)))
        first = first or (name, of_text)
        if first[0] != name and len(of_text[0]) == len(first[1][0]):
            differences = (np.subtract(*both) for both in zip(of_text, first[1], strict=True))
            changes.append((f"{name}, less {first[0]}", *map(format_mean, differences)))
    texts = [markdown(("agent", "runs", *COLUMNS), lines)]
    return "\n\n".join(texts + ([markdown(("difference", *COLUMNS), changes)] if changes else []))


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
