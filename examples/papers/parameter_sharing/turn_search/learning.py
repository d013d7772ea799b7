"""Learned weights for the agent `race`, which searches its own turns on the star with six seats.

    python -m examples.papers.parameter_sharing.turn_search.learning --size 3 \\
        --output runs/papers/parameter_sharing/race

A seat plays games against five greedy ones. A linear value learns to predict, from a board before a turn of the seat,
how many turns it will still need. The seat plays by the value that the last games gave, first by static scores, then by
playouts (`ROUNDS`). No position is labelled by hand, and no game is taken from elsewhere. The weights of the first
games count steps to the goal.

`SIZE.npz` has the weights. A repeated command continues: finished rounds are not played again. The agent is then

    examples.papers.parameter_sharing.turn_search:race(runs/papers/parameter_sharing/race/3.npz)
"""

import functools
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from examples.papers._experiment import Experiment, Report, progress_over, run_experiment, table_of
from examples.papers.parameter_sharing.turn_search import WEIGHTS_FILE, save
from examples.papers.parameter_sharing.turn_search.moves import SEATS, Weights, distances
from examples.papers.parameter_sharing.turn_search.search import Settings, make_race, play_alone, seed_with
from jaxgames._files import read_file, write_file
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers.board import tables
from train.driver import loop

FIRST_PRICE = (0.3, 0.06)  # of a peg's place: turns per step to the far corner, and per column off the middle line
FIRST_FARTHEST = 0.15  # turns per step of the farthest peg, in the weights of the first games
FIRST_FREE = 0.005  # the weight of free cells there
ADDED_PRICE = (0.2, 0.04)  # to the fitted weights, which pay too little for steps
MAX_PAIR_STEPS = 2  # between two pegs whose places have a common weight
RIDGE = 20.0  # pulls the weights to the first price per step
DISCOUNT = 0.15  # a position with n turns left counts as 1 / (1 + DISCOUNT * n) positions in the fit
MAX_TURNS_LEFT = {1: 20, 2: 20, 3: 28, 4: 55}  # more turns left count as this many, for N = 1, 2, 3, 4
MAX_TURNS = 66  # longer games, in which a blocked goal is never filled, are left out


class Round(NamedTuple):
    """The games between two fits."""

    share: float  # of all games
    noise: float  # of the static scores, in turns
    settings: Settings


STATIC = Settings(candidates=1, samples=0, rounds=1, near=1.0)
PLAYOUTS = Settings(candidates=8, samples=6, rounds=10, near=5.0)
ROUNDS = (
    Round(0.15, 0.1, STATIC),
    Round(0.25, 0.1, STATIC),
    Round(0.2, 0.0, Settings(candidates=6, samples=3, rounds=10, near=4.0)),
    Round(0.2, 0.0, PLAYOUTS),
    Round(0.2, 0.0, PLAYOUTS),
)
MIN_GAMES = 10  # so that every round has some
FITTED_ROUNDS = 2  # the last rounds whose games are fitted
AGAIN = "remove the file, and repeat the command"
GAMES_FILE = WEIGHTS_FILE._replace(noun="a file of games", relation="has games of", how_to_write=AGAIN, again=AGAIN)
COLUMNS = {"positions": "{positions:,}", "turns": "{turns}", "unfinished": "{unfinished}"}
QUICK: dict[str, Any] = {"size": 1, "games": 20}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/parameter_sharing/race")
    size: int = 3
    """N, from 1 to 4."""
    games: int = 20_000
    """Games in all."""
    seed: int = 0


class Games(NamedTuple):
    """The positions of games before the seat's turns."""

    boards: np.ndarray  # int8[positions, cells]
    left: np.ndarray  # int64[positions], turns that the seat needed from there on
    unfinished: int = 0  # games of more than MAX_TURNS turns, whose positions are left out


def report(arguments: Arguments) -> Report:
    """Plays the rounds that are not stored, and writes the weights. The result has their path, and mean turns by round.

    Raises ValueError for another size than 1 to 4, too few games, and a folder with games of other settings.
    """
    size = arguments.size
    if arguments.games < MIN_GAMES:
        raise ValueError(f"games must be at least {MIN_GAMES}, not {arguments.games}")
    if size not in MAX_TURNS_LEFT:
        raise ValueError(f"size must be one of {', '.join(map(str, MAX_TURNS_LEFT))}, not {size}")
    weights, played, rounds = first_weights(size), list[Games](), list[dict[str, Any]]()
    for number in range(len(ROUNDS)):
        games = played_once(arguments, number, weights)
        played.append(games)
        weights = fitted(size, played[-FITTED_ROUNDS:])
        turns = games.left[np.append(True, games.left[1:] > games.left[:-1])].mean()  # at the start of each game
        found = {"positions": len(games.left), "turns": round(float(turns), 2), "unfinished": int(games.unfinished)}
        rounds.append(found)
        loop.log(f"round {number}: {json.dumps(rounds[-1])}")
    path = arguments.output / f"{size}.npz"
    save(path, size, weights)
    return Report({"weights": str(path), "rounds": rounds}, table_of(rounds, COLUMNS))


def played_once(arguments: Arguments, number: int, weights: Weights) -> Games:
    """Returns the positions of a round: from the file of the round, or played and then written to it.

    Raises ValueError if the file has games of other settings.
    """
    settings = json.dumps({"games": arguments.games, "seed": arguments.seed, "rounds": ROUNDS})
    path = arguments.output / f"{arguments.size}_round_{number}.npz"
    if not path.exists():
        arrays: dict[str, Any] = play(arguments, number, weights)._asdict()
        write_file(GAMES_FILE, path, ChineseCheckers(arguments.size, SEATS), {**arrays, "settings": np.array(settings)})
    _, arrays = read_file(GAMES_FILE, path)
    if (there := str(arrays.pop("settings"))) != settings:
        raise ValueError(f"{path} has games of {there}, not of {settings}: choose another --output")
    return Games(**{name: arrays[name] for name in Games._fields})


def play(arguments: Arguments, number: int, weights: Weights) -> Games:
    """Returns the positions of the games of a round; the seat changes from game to game."""
    size, now = arguments.size, ROUNDS[number]
    race = make_race(size, weights)
    state = jax.device_get(ChineseCheckers(size, SEATS).init(None))
    start: np.ndarray = np.asarray(state.board, np.int64)
    seen = np.zeros(MAX_TURNS * race.star.cells, np.int64)
    boards, left, unfinished = list[np.ndarray](), list[np.ndarray](), 0
    for game in progress_over(range(round(now.share * arguments.games)), unit="games"):
        seed_with(race, int(np.random.SeedSequence((arguments.seed, number, game)).generate_state(1)[0]))
        turns = play_alone(race, start.copy(), game % SEATS, now.settings, now.noise, MAX_TURNS, seen)
        if turns > 0:
            boards.append(seen.reshape(MAX_TURNS, -1)[:turns].astype(np.int8))
            left.append(np.arange(turns, 0, -1))
        else:
            unfinished += 1
    return Games(np.concatenate(boards), np.concatenate(left), unfinished)


def first_weights(size: int) -> Weights:
    """Returns weights of steps to the far corner and, smaller ones, of columns off the middle and the farthest peg."""
    cells, pegs, steps = len(tables(size).row), size * (size + 1) // 2, np.arange(4.0 * size + 1)
    return Weights(
        cell=price(size, FIRST_PRICE),
        pair=np.zeros(cells * cells),
        farthest=FIRST_FARTHEST * steps,
        second=np.zeros(len(steps)),
        others=np.zeros(pegs + 1),
        free=np.full(1, FIRST_FREE),
    )


def price(size: int, price: tuple[float, float]) -> np.ndarray:
    """Returns float64[cells], what a peg on each cell costs."""
    q, r = tables(size).axial.T
    return price[0] * distances(size)[:, -1] + price[1] * abs(q + r / 2)


@functools.lru_cache
def shapes(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns which cells and pairs of cells have a common weight: mirror images, and pairs of the same places.

    int[cells], and int[cells, cells] with -1 for pairs that are farther apart than MAX_PAIR_STEPS.
    """
    t, steps = tables(size), distances(size)
    mirrored = np.cumsum(t.lengths)[t.row] - 1 - t.bit  # int[cells], on the other side of the vertical axis
    cell = np.unique(np.minimum(np.arange(len(t.row)), mirrored), return_inverse=True)[1]
    pair, number_of = np.full(steps.shape, -1), dict[tuple[int, int], int]()
    for one, other in itertools.permutations(range(len(t.row)), 2):
        if steps[one, other] <= MAX_PAIR_STEPS:
            q, r = t.axial[one] - t.axial[other]
            pair[one, other] = number_of.setdefault((abs(int(r)), abs(int(2 * q + r))), len(number_of))
    return cell, pair


def features(size: int, boards: np.ndarray) -> np.ndarray:
    """Returns float64[positions, features], what the weights of the value are multiplied with, in their order."""
    cell, pair = shapes(size)
    num_pegs, rows, steps = size * (size + 1) // 2, np.arange(len(boards)), distances(size)
    pegs = np.nonzero(boards == 0)[1].reshape(len(boards), num_pegs)
    matrix = np.zeros((len(boards), sum(num_features(size))))
    columns = by_name(size, matrix)  # views
    for index in range(num_pegs):
        np.add.at(columns.cell, (rows, cell[pegs[:, index]]), 1)
        for other in range(index):
            kind = pair[pegs[:, index], pegs[:, other]]
            np.add.at(columns.pair, (rows[kind >= 0], kind[kind >= 0]), 1)
    to_tip = np.sort(np.pad(steps[pegs, -1], ((0, 0), (1, 0))), axis=1)  # with one peg, the second one has 0 steps
    columns.farthest[rows, to_tip[:, -1]] = 1
    columns.second[rows, to_tip[:, -2]] = 1
    goal = boards[:, -num_pegs:]
    columns.others[rows, (goal > 0).sum(1)] = 1
    is_free = np.repeat((goal < 0)[:, None], num_pegs, axis=1)
    to_free = np.where(is_free, steps[pegs][..., -num_pegs:], 4 * size + 1).min(-1)
    counts = (pegs < boards.shape[1] - num_pegs) & is_free.any(-1)
    columns.free[:, 0] = (to_free * counts).sum(1)
    return matrix


def num_features(size: int) -> tuple[int, ...]:
    """Returns the number of features of each part of the value, in the order of `Weights`."""
    cell, pair = shapes(size)
    return int(cell.max()) + 1, int(pair.max()) + 1, 4 * size + 1, 4 * size + 1, size * (size + 1) // 2 + 1, 1


def by_name(size: int, array: np.ndarray) -> Weights:
    """Returns the parts of an array whose last axis has all features, as views."""
    return Weights(*np.split(array, np.cumsum(num_features(size))[:-1], axis=-1))


def fitted(size: int, games: list[Games]) -> Weights:
    """Returns the weights that predict the turns left best, by ridge regression towards the first price per step.

    A position counts less the more turns are left. ADDED_PRICE is added.
    """
    x = features(size, np.concatenate([part.boards for part in games]))
    left = np.minimum(np.concatenate([part.left for part in games]), MAX_TURNS_LEFT[size]).astype(np.float64)
    cell, pair = shapes(size)
    prior = np.zeros(x.shape[1])
    prior[cell] = FIRST_PRICE[0] * distances(size)[:, -1]
    weighted = x / (1 + DISCOUNT * left)[:, None]
    change = np.linalg.solve(weighted.T @ x + RIDGE * np.eye(x.shape[1]), weighted.T @ (left - x @ prior))
    weights = by_name(size, prior + change)
    return weights._replace(
        cell=weights.cell[cell] + price(size, ADDED_PRICE),
        pair=np.where(pair >= 0, weights.pair[np.maximum(pair, 0)], 0.0).ravel(),
    )


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
