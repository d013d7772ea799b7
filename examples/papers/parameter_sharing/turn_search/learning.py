"""Learned weights for the agent `race`, which searches its own turns on the star with six seats.

    python -m examples.papers.parameter_sharing.turn_search.learning --size 3 \\
        --output runs/papers/parameter_sharing/race

A seat plays games against five greedy ones. A linear value learns to predict, from a board before a turn of the seat,
how many turns it will still need. The seat plays by the value that the last games gave, first by search on the board as
it is, then by games that are played out (`ROUNDS`). No position is labelled by hand, and no game is taken from
elsewhere. The weights of the first games count steps to the goal.

`SIZE.npz` has the weights. Then "race(runs/papers/parameter_sharing/race/3.npz)" names the agent. A repeated command
continues: finished rounds are not played again.
"""

import functools
import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import tyro
from tqdm import tqdm

from examples.papers._experiment import shortened
from examples.papers.parameter_sharing.turn_search.agent import save
from examples.papers.parameter_sharing.turn_search.moves import SEATS, Weights, distances
from examples.papers.parameter_sharing.turn_search.search import Settings, make_race, play_alone, seed_with
from jaxgames import make as make_env
from jaxgames.games.chinese_checkers_board import tables
from train.driver import loop

FIRST_STEP, FIRST_COLUMN, FIRST_FARTHEST = 0.3, 0.06, 0.15  # turns per step and column, in the weights at the start
NEIGHBOURS = 2  # steps between two pegs whose places have a common weight
RIDGE = 20.0
PULL_STEP, PULL_COLUMN = 0.2, 0.04  # added to the fitted weights, which pay too little for steps
MOST_TURNS = {1: 20, 2: 20, 3: 28, 4: 55}  # more turns left count as this many, for N = 1, 2, 3, 4
LIMIT = 66  # turns; longer games, in which a blocked goal is never filled, are left out


class Round(NamedTuple):
    """The games between two fits."""

    share: float  # of all games
    noise: float  # of the judgement of turns, in turns
    settings: Settings


ROUNDS = (
    Round(0.15, 0.1, Settings(candidates=1, samples=0, rounds=1, near=1.0)),
    Round(0.25, 0.1, Settings(candidates=1, samples=0, rounds=1, near=1.0)),
    Round(0.2, 0.0, Settings(candidates=6, samples=3, rounds=10, near=4.0)),
    Round(0.2, 0.0, Settings(candidates=8, samples=6, rounds=10, near=5.0)),
    Round(0.2, 0.0, Settings(candidates=8, samples=6, rounds=10, near=5.0)),
)
LEAST_GAMES = 10  # so that every round has some
FITTED_ROUNDS = 2  # the last rounds whose games are fitted
QUICK: dict[str, Any] = {"size": 1, "games": 20}


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("runs/papers/parameter_sharing/race")
    """The folder of the weights."""
    size: int = 3
    """N, from 1 to 4."""
    games: int = 20_000
    """Games in all."""
    seed: int = 0
    """Seed of the games."""
    quick: bool = False
    """Tries everything with small numbers."""


class Games(NamedTuple):
    """The positions of games before the seat's turns."""

    boards: np.ndarray  # int8[positions, cells]
    left: np.ndarray  # int64[positions], turns that the seat needed from there on
    cpu_seconds: float = 0.0  # in which they were played
    unfinished: int = 0  # games of more than LIMIT turns, whose positions are left out


def main() -> None:
    """The command `python -m examples.papers.parameter_sharing.turn_search.learning`."""
    arguments = shortened(tyro.cli(Arguments, description=__doc__), QUICK)
    print(json.dumps(learn(arguments)))


def learn(arguments: Arguments) -> dict[str, Any]:
    """Returns the path of the weights, and mean turns and CPU seconds by round.

    Raises ValueError for another size than 1 to 4, too few games, and a folder with games of other settings.
    """
    size = arguments.size
    if arguments.games < LEAST_GAMES:
        raise ValueError(f"games must be at least {LEAST_GAMES}, not {arguments.games}")
    if size not in MOST_TURNS:
        raise ValueError(f"size must be one of {', '.join(map(str, MOST_TURNS))}, not {size}")
    check_settings(arguments)
    weights, played, found = first_weights(size), list[Games](), list[dict[str, Any]]()
    for number in range(len(ROUNDS)):
        path = arguments.output / f"{size}_round_{number}.npz"
        games = stored(path) if path.exists() else play(arguments, number, weights)
        if not path.exists():
            write(path, games)
        played.append(games)
        weights = fitted(size, played[-FITTED_ROUNDS:])
        seconds = round(float(games.cpu_seconds), 1)
        turns, left_out = mean_turns(games), int(games.unfinished)
        found.append({"positions": len(games.left), "turns": turns, "unfinished": left_out, "cpu_seconds": seconds})
        loop.log(f"round {number}: {json.dumps(found[-1])}")
    path = arguments.output / f"{size}.npz"
    if not path.exists():
        save(path, size, weights)
    return {"weights": str(path), "rounds": found}


def check_settings(arguments: Arguments) -> None:
    """Writes the settings of the games of a size, or raises ValueError if the folder has games of other settings."""
    path = arguments.output / f"{arguments.size}_settings.json"
    settings = {"games": arguments.games, "seed": arguments.seed, "rounds": json.loads(json.dumps(ROUNDS))}
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and (there := json.loads(path.read_text())) != settings:
        raise ValueError(f"{arguments.output} has games of {there}, not of {settings}: choose another --output")
    path.write_text(json.dumps(settings) + "\n")


# -- games ---------------------------------------------------------------------------------------------------------


def play(arguments: Arguments, number: int, weights: Weights) -> Games:
    """Returns the positions of the games of a round; the seat changes from game to game."""
    size, now, began = arguments.size, ROUNDS[number], time.process_time()
    race = make_race(size, weights)
    state = jax.device_get(make_env("chinese_checkers", size=size).init())
    start: np.ndarray = np.asarray(state.board, np.int64)
    seen = np.zeros(LIMIT * race.star.cells, np.int64)
    boards, left, unfinished = list[np.ndarray](), list[np.ndarray](), 0
    for game in tqdm(range(round(now.share * arguments.games)), unit=" games", disable=None):
        seed_with(race, int(np.random.SeedSequence((arguments.seed, number, game)).generate_state(1)[0]))
        turns = play_alone(race, start.copy(), game % SEATS, now.settings, now.noise, LIMIT, seen)
        if turns > 0:
            boards.append(seen.reshape(LIMIT, -1)[:turns].astype(np.int8))
            left.append(np.arange(turns, 0, -1))
        else:
            unfinished += 1
    return Games(np.concatenate(boards), np.concatenate(left), time.process_time() - began, unfinished)


def write(path: Path, games: Games) -> None:
    """Writes the positions of a round to a file, which `stored` reads; the file is there as a whole or not at all."""
    part = path.with_name(f"part_{path.name}")
    np.savez_compressed(part, **games._asdict())
    part.replace(path)


def stored(path: Path) -> Games:
    """Returns the positions of a round that has been played."""
    with np.load(path) as file:
        return Games(file["boards"], file["left"], float(file["cpu_seconds"]), int(file["unfinished"]))


def mean_turns(games: Games) -> float:
    """Returns the mean turns of a seat in games."""
    first = np.append(True, games.left[1:] > games.left[:-1])
    return round(float(games.left[first].mean()), 2)


# -- weights -------------------------------------------------------------------------------------------------------


def first_weights(size: int) -> Weights:
    """Returns weights of steps to the far corner and, smaller ones, of columns off the middle and the farthest peg."""
    pegs, cells, steps = size * (size + 1) // 2, len(tables(size).row), np.arange(4.0 * size + 1)
    cell = price(size, FIRST_STEP, FIRST_COLUMN)
    return Weights(
        cell, np.zeros(cells * cells), FIRST_FARTHEST * steps, 0 * steps, np.zeros(pegs + 1), np.full(1, 0.005)
    )


def price(size: int, step: float, column: float) -> np.ndarray:
    """Returns float64[cells], a price of the steps to the far corner, and of the columns off the middle line."""
    q, r = tables(size).axial.T
    return step * distances(size)[:, -1] + column * abs(q + r / 2)


@functools.lru_cache
def shapes(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns which cells and pairs of cells have a common weight: mirror images, and pairs of the same places.

    int[cells], and int[cells, cells] with -1 for pairs that are farther apart than NEIGHBOURS.
    """
    t, steps = tables(size), distances(size)
    mirrored = np.cumsum(t.lengths)[t.row] - 1 - t.bit
    cell = np.unique(np.minimum(np.arange(len(t.row)), mirrored), return_inverse=True)[1]
    pair, number_of = np.full(steps.shape, -1), dict[tuple[int, int], int]()
    for one, other in itertools.permutations(range(len(t.row)), 2):
        if steps[one, other] <= NEIGHBOURS:
            q, r = t.axial[one] - t.axial[other]
            pair[one, other] = number_of.setdefault((abs(int(r)), abs(int(2 * q + r))), len(number_of))
    return cell, pair


def features(size: int, boards: np.ndarray) -> np.ndarray:
    """Returns float64[positions, features], what the weights of the value are multiplied with, in their order."""
    cell, pair = shapes(size)
    num_pegs, rows, steps = size * (size + 1) // 2, np.arange(len(boards)), distances(size)
    pegs = np.nonzero(boards == 0)[1].reshape(len(boards), num_pegs)
    found = np.zeros((len(boards), sum(lengths(size))))
    parts = np.split(found, np.cumsum(lengths(size))[:-1], axis=1)  # views
    for index in range(num_pegs):
        np.add.at(parts[0], (rows, cell[pegs[:, index]]), 1)
        for other in range(index):
            kind = pair[pegs[:, index], pegs[:, other]]
            np.add.at(parts[1], (rows[kind >= 0], kind[kind >= 0]), 1)
    to_tip = np.sort(np.pad(steps[pegs, -1], ((0, 0), (1, 0))), axis=1)  # with one peg, the second one has 0 steps
    parts[2][rows, to_tip[:, -1]] = 1
    parts[3][rows, to_tip[:, -2]] = 1
    goal = boards[:, -num_pegs:]
    parts[4][rows, (goal > 0).sum(1)] = 1
    is_free = np.repeat((goal < 0)[:, None], num_pegs, axis=1)
    to_free = np.where(is_free, steps[pegs][..., -num_pegs:], 4 * size + 1).min(-1)
    counts = (pegs < boards.shape[1] - num_pegs) & is_free.any(-1)
    parts[5][:, 0] = (to_free * counts).sum(1)
    return found


def lengths(size: int) -> list[int]:
    """Returns the number of features of each part of the value."""
    cell, pair = shapes(size)
    return [int(cell.max()) + 1, int(pair.max()) + 1, 4 * size + 1, 4 * size + 1, size * (size + 1) // 2 + 1, 1]


def fitted(size: int, games: list[Games]) -> Weights:
    """Returns the weights that predict the turns left best, by ridge regression towards a price per step.

    A position counts less the more turns are left. The price PULL_STEP, PULL_COLUMN is added.
    """
    x = features(size, np.concatenate([part.boards for part in games]))
    left = np.minimum(np.concatenate([part.left for part in games]), MOST_TURNS[size]).astype(np.float64)
    cell, pair = shapes(size)
    prior = np.zeros(x.shape[1])
    prior[cell] = FIRST_STEP * distances(size)[:, -1]
    weighted = x / (1 + 0.15 * left)[:, None]
    change = np.linalg.solve(weighted.T @ x + RIDGE * np.eye(x.shape[1]), weighted.T @ (left - x @ prior))
    parts = np.split(prior + change, np.cumsum(lengths(size))[:-1])
    pairs = np.where(pair >= 0, parts[1][np.maximum(pair, 0)], 0.0)
    return Weights(parts[0][cell] + price(size, PULL_STEP, PULL_COLUMN), pairs.ravel(), *parts[2:])


if __name__ == "__main__":
    main()
