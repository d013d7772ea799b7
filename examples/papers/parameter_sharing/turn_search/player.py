"""The player of the agent `race`, and the files of its weights."""

from pathlib import Path
from typing import Any

import numpy as np

from examples.papers.parameter_sharing.turn_search.moves import LEFT, SEATS, Weights
from examples.papers.parameter_sharing.turn_search.search import Settings, choose, make_race, seed_with
from examples.papers.parameter_sharing.turn_search.star import hop_paths
from jaxgames._checks import ParameterError
from jaxgames._files import FileKind, read_file, write_file
from jaxgames.games.chinese_checkers import ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, function_for

COMMAND = "python -m examples.papers.parameter_sharing.turn_search.learning"
WEIGHTS_FILE = FileKind(
    format=1,
    noun="a file of weights",
    relation="has weights for",
    source=COMMAND,
    how_to_write=f"write one with {COMMAND}",
    again="learn the weights again",
)


class RacePlayer:
    """Chooses actions on one board at a time. Its arrays are work space: an action does not depend on earlier ones."""

    def __init__(self, size: int, weights: Weights, settings: Settings, compiled: bool | None = None) -> None:
        """`compiled`: whether functions are compiled; None: where numba is installed."""
        function = function_for(HAS_NUMBA if compiled is None else compiled)
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
    t = tables(size)
    if origin == to:
        return 6 * len(board)
    pegs, closed = (set(np.flatnonzero(cells).tolist()) for cells in (board >= 0, board == LEFT))
    path = hop_paths(size, pegs - {origin}, origin, closed).get(to, [origin, to])
    return 6 * origin + [*t.neighbour[origin], *t.beyond[origin]].index(path[1]) % 6


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
