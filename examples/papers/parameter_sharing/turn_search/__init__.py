"""A search of one's own turns on the star with six seats, with learned weights: the agent `race(FILE)`.

    python -m examples.papers.parameter_sharing.turn_search.learning --size 3 --output runs/race
    text = "examples.papers.parameter_sharing.turn_search:race(runs/race/3.npz)"
    jaxgames.agents.make(text, jaxgames.make("chinese_checkers(size=3)"))

The search models the other seats as greedy (`search.py` of this folder). It is repeated before every submove, so an
agent needs no memory. The same key gives the same action.
"""

from pathlib import Path
from typing import Any

import numpy as np

from examples.papers.parameter_sharing.turn_search.moves import EMPTY, LEFT, SEATS, Weights
from examples.papers.parameter_sharing.turn_search.search import Settings, choose, make_race, seed_with
from jaxgames import agents
from jaxgames._checks import ParameterError, check_int, check_number
from jaxgames._files import FileKind, read_file, write_file
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.games.chinese_checkers import ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.host_agent import HostPlayerAgent
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, function_for

__all__ = ["RacePlayer", "first_submove", "load", "make", "save"]

MAX_SETTING = 10_000  # of the candidates, samples and rounds
COMMAND = f"python -m {__name__}.learning"
WEIGHTS_FILE = FileKind(
    format=1,
    noun="a file of weights",
    relation="has weights for",
    source=COMMAND,
    how_to_write=f"write one with {COMMAND}",
    again="learn the weights again",
)


def make(
    env: Env[Any], file: str, candidates: int = 10, samples: int = 8, rounds: int = 10, near: float = 5.0
) -> Agent:
    """Returns the agent `race(FILE)`, for chinese_checkers with six seats or `auto_reset` of it.

    `file` has the weights for the size of the board. `Settings` has the meaning of the other parameters.

    Raises FileNotFoundError, and ParameterError (a ValueError) for another game or a value that is not allowed.
    """
    game = env.unwrapped
    if not isinstance(game, ChineseCheckers) or game.num_players != SEATS:
        raise ParameterError(f"race plays only chinese_checkers with six seats, not {game}: use greedy")
    for name, value, low in (("candidates", candidates, 1), ("samples", samples, 0), ("rounds", rounds, 1)):
        check_int(name, value, low, MAX_SETTING)
    check_number("near", near)
    size, weights = load(file)
    if size != game.size:
        raise ParameterError(f"{file} has weights for size={size}, not for {game}")
    settings = Settings(candidates, samples, rounds, float(near))
    parameters = ", ".join(f"{name}={value!r}" for name, value in settings._asdict().items())
    return HostPlayerAgent(env, RacePlayer(size, weights, settings), f"{__name__}:race({file!r}, {parameters})")


class RacePlayer:
    """Chooses actions on one board at a time. Its arrays are work space: an action does not depend on earlier ones."""

    def __init__(self, size: int, weights: Weights, settings: Settings, compiled: bool = HAS_NUMBA) -> None:
        function = function_for(compiled)
        self._size, self._settings = size, settings
        self._race = make_race(size, weights)
        self._seed, self._choose = function(seed_with), function(choose)

    def choose(self, state: ChineseCheckersState, seed: int) -> int:
        """Returns the action on one live board, with leaves on the host; `seed` is from 0 to 2**32 - 1."""
        race, peg = self._race, int(state.peg)
        board = np.maximum(np.asarray(state.board, np.int64), LEFT)
        self._seed(race, seed)
        best = int(self._choose(race, board.copy(), peg, self._settings, 0.0))
        if best < 0:
            return 6 * race.star.cells
        origin, to = int(race.pegs[race.turns[2 * best]]), int(race.turns[2 * best + 1])
        return first_submove(self._size, board, origin, to)


def first_submove(size: int, board: np.ndarray, origin: int, to: int) -> int:
    """Returns the action that begins a turn from a cell to another; the end of the turn if they are the same."""
    if origin == to:
        return 6 * len(board)
    t, content = tables(size), np.append(board, LEFT)  # with the place outside of the star
    content[origin] = LEFT
    first_hops = {origin: -1}  # by the cells that hops reach, the direction of the first hop
    for cell in (queue := [origin]):
        for direction, (over, end) in enumerate(zip(t.neighbour[cell].tolist(), t.beyond[cell].tolist(), strict=True)):
            if content[over] >= 0 and content[end] == EMPTY and end not in first_hops:
                first_hops[end] = direction if cell == origin else first_hops[cell]
                queue.append(end)
    return 6 * origin + (first_hops[to] if to in first_hops else t.neighbour[origin].tolist().index(to))


def save(path: Path, size: int, weights: Weights) -> None:
    write_file(WEIGHTS_FILE, path, ChineseCheckers(size, SEATS), weights._asdict())


def load(path: str | Path) -> tuple[int, Weights]:
    """Returns N and the weights of a file that `save` wrote.

    Raises FileNotFoundError, and ParameterError (a ValueError) for another file.
    """
    try:
        game: tuple[Any, dict[str, np.ndarray]] = read_file(WEIGHTS_FILE, path)
        return game[0].size, Weights(**game[1])
    except (ValueError, TypeError) as error:
        raise ParameterError(str(error)) from error


agents.register("race", make)
