"""The agent `race(FILE)`: a search of one's own turns on the star with six seats, with learned weights.

    python -m examples.papers.parameter_sharing.turn_search.learning --size 3 --output runs/race
    jaxgames.agents.make("race(runs/race/3.npz)", jaxgames.make("chinese_checkers(size=3)"))

The search expects that the other seats play greedily (`search.py` of this folder). It is repeated
before every submove, so an agent needs no memory. The same key gives the same action.
"""

from pathlib import Path
from typing import Any

import numpy as np

from examples.papers.parameter_sharing.turn_search.moves import SEATS, Weights, arrays_of
from examples.papers.parameter_sharing.turn_search.search import Settings, choose, make_race, seed_with
from jaxgames._checks import ParameterError, check_int, check_number
from jaxgames.agents import Agent, with_epsilon
from jaxgames.env import Env
from jaxgames.games.chinese_checkers import VISITED, ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers_board import tables
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, function_for
from jaxgames.solvers.alphabeta.host_agent import HostPlayerAgent
from jaxgames.solvers.exact.solution import check_keeps_rules
from jaxgames.wrappers import game_of

MOST = 10_000  # of the numbers of a search


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
        board = np.maximum(np.asarray(state.board, np.int64), VISITED)
        self._seed(race, seed)
        best = int(self._choose(race, board.copy(), peg, self._settings, 0.0))
        if best < 0:
            return 6 * race.star.cells
        origin, to = int(race.pegs[race.turns[2 * best]]), int(race.turns[2 * best + 1])
        return first_submove(self._size, board, origin, to)


def first_submove(size: int, board: np.ndarray, origin: int, to: int) -> int:
    """Returns the action that begins a turn from a cell to another; the end of the turn if they are the same.

    Args:
      size: N.
      board: int[cells], as in examples/papers/parameter_sharing/turn_search/moves.py, before the action.
      origin: the cell of the peg.
      to: its last cell.
    """
    t, cells = tables(size), len(board)
    if origin == to:
        return 6 * cells
    first = {origin: -1}  # per cell that the peg reaches: its first direction
    queue = [origin]
    for cell in queue:
        for direction in range(6):
            over, landing = t.neighbour[cell, direction], int(t.beyond[cell, direction])
            can_hop = landing < cells and board[over] >= 0 and over != origin and board[landing] == -1
            if can_hop and landing not in first:
                first[landing] = direction if cell == origin else first[cell]
                queue.append(landing)
    direction = first[to] if to in first else t.neighbour[origin].tolist().index(to)
    return 6 * origin + direction


def save(path: Path, size: int, weights: Weights) -> None:
    """Writes a file of weights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, size=size, **arrays_of(weights))


def load(path: str | Path) -> tuple[int, Weights]:
    """Returns N and the weights of a file that `save` wrote.

    Raises FileNotFoundError, and ParameterError (a ValueError) for another file.
    """
    try:
        with np.load(path) as file:
            size = int(file["size"])
            weights = Weights(*(np.ascontiguousarray(file[name], np.float64) for name in Weights._fields))
    except (KeyError, ValueError, EOFError) as error:
        raise ParameterError(
            f"{path} must be a file of weights, which "
            "python -m examples.papers.parameter_sharing.turn_search.learning writes"
        ) from error
    return size, weights


def make(
    env: Env[Any],
    file: str,
    candidates: int = 10,
    samples: int = 8,
    rounds: int = 10,
    near: float = 5.0,
    epsilon: float | None = None,
) -> Agent:
    """Returns the agent `race(FILE)`.

    Args:
      env: chinese_checkers with six seats, or a `Wrapper` of it that keeps its rules.
      file: of `save`, for the size of the board.
      candidates: the turns that are tried after the first judgement.
      samples: the games in which every candidate is tried; 0: the best turn on the board as it is.
      rounds: the most rounds of a game near the end.
      near: the turns left, by the learned value, below which the games are played to their end.
      epsilon: the probability of a uniformly random legal action instead; None for 0.

    Raises FileNotFoundError, and ParameterError (a ValueError) for another game or a value that is not allowed.
    """
    check_keeps_rules(env)
    game = game_of(env)
    if not isinstance(game, ChineseCheckers) or game.num_players != SEATS:
        raise ParameterError(f"race plays only chinese_checkers with six seats, not {game}: use greedy")
    for name, value, low in (("candidates", candidates, 1), ("samples", samples, 0), ("rounds", rounds, 1)):
        check_int(name, value, low, MOST)
    check_number("near", near)
    size, weights = load(file)
    if size != game.size:
        raise ParameterError(f"{file} has weights for size={size}, not for {game}")
    settings = Settings(candidates, samples, rounds, float(near))
    shown = ", ".join(f"{name}={value!r}" for name, value in settings._asdict().items())
    agent = HostPlayerAgent(env, RacePlayer(size, weights, settings), f"race({file!r}, {shown})")
    return agent if epsilon is None else with_epsilon(env, agent, epsilon)
