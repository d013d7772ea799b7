"""Engines with CheckerBoard's interface as agents of checkers: `checkerboard(library=simplech.so, milliseconds=100)`.

    agent = jaxgames.agents.make("checkerboard(library=simplech.so)", jaxgames.make("checkers"))

CheckerBoard is a program for checkers whose engines are shared libraries with a function `getmove`. The engine gets the
position, without the positions before it, and a time, and answers with the board after its move. It runs in a process
of its own.

An engine plays whole turns, so the agent remembers the later jumps of a turn, by the positions before them. In the
middle of another capture, which CheckerBoard does not know, it completes the longest one.

Source: M. Fierz and E. Gilbert, "CheckerBoard API reference", cb_api_reference.htm of CheckerBoard.
"""

import os
import sys
import threading
from dataclasses import replace
from typing import Any

from jaxgames._checks import ParameterError, check_int
from jaxgames.env import Env
from jaxgames.games.checkers.rules import Checkers
from jaxgames.games.checkers.whole_moves import Board, Path, texts_of
from jaxgames.host_agent import HostPlayerAgent
from jaxgames.interop import _checkerboard_library
from jaxgames.interop._engine_program import MAX_SILENCE, MAX_START, EngineError, EngineProgram
from jaxgames.solvers.exact.solution import check_keeps_rules
from jaxgames.wrappers import game_of

__all__ = ["CheckerBoardPlayer", "EngineError", "cells_of", "make"]

DEFAULT_MILLISECONDS = 100
MAX_MILLISECONDS = 10**7
BLACK, WHITE, MAN, KING = 2, 1, 4, 8  # of a cell of CheckerBoard's board; 0 is empty
COLOURS = (BLACK, WHITE)  # of the seats
MAX_LATER = 10_000  # later jumps that an agent remembers
SQUARES = range(1, 33)


def cells_of(board: Board) -> list[int]:
    """Returns CheckerBoard's board of a position at the beginning of a turn: 64 cells, column by column.

    Columns are counted from the left, with Black's home at the bottom, and the cells of a column from the bottom.
    """
    cells = [0] * _checkerboard_library.CELLS
    for square in SQUARES:
        bit = 1 << square - 1
        if (board.own | board.opponents) & bit:
            colour = COLOURS[board.seat if board.own & bit else 1 - board.seat]
            cells[_cell(square)] = colour | (KING if board.kings & bit else MAN)
    return cells


def _cell(square: int) -> int:
    """Returns the cell of a PDN square."""
    row, place = divmod(square - 1, 4)
    column = 6 + row % 2 - 2 * place
    return 8 * column + row


class CheckerBoardPlayer:
    """Chooses moves by an engine, which starts again if it has ended."""

    def __init__(self, env: Checkers, library: str, milliseconds: int) -> None:
        self._env, self._library, self._seconds = env, library, milliseconds / 1000
        self._lock = threading.Lock()  # one search at a time
        self._later: dict[tuple[int, ...], int] = {}  # actions in the middle of a turn, by their positions
        self._engine = self._start()

    def choose(self, state: Any, seed: int) -> int:
        """Returns the engine's action on one live board.

        Raises EngineError if the engine ends, is silent, or plays an illegal move.
        """
        board = Board.of(state)
        with self._lock:
            if board.jumper:
                later = self._later.get(_key(board))  # it stays there: a batch can have equal boards
                return _actions(board, max(board.legal_paths(), key=len))[0] if later is None else later
            if not self._engine.is_running:
                self._engine = self._start()
            path = self._path(board, state)
            action, *jumps = _actions(board, path)
            if len(self._later) > MAX_LATER:
                self._later.clear()
            for played, jump in enumerate(jumps, start=1):
                between = replace(board)
                between.play(path[: played + 1])  # the position before this jump
                self._later[_key(between)] = jump
        return action

    def _path(self, board: Board, state: Any) -> Path:
        """Returns the engine's move: the path to its board, and of several with the same board the first."""
        question = " ".join(map(str, (self._seconds, COLOURS[board.seat], *cells_of(board))))
        *_, line = self._engine.ask(question, last="board", silence=MAX_SILENCE + self._seconds)
        answer = [int(cell) for cell in line.split()[1:]]
        paths = board.legal_paths()
        for path in paths:
            after = replace(board)
            after.play(path)
            if cells_of(after) == answer:
                return path
        raise EngineError(
            f"the engine {self._library!r} played no legal move in {self._env.to_string(state)}; legal are "
            f"{texts_of(paths)}"
        )

    def _start(self) -> EngineProgram:
        program = (sys.executable, "-I", _checkerboard_library.__file__, self._library)
        engine = EngineProgram(self._library, program)
        engine.ask(last="ready", silence=MAX_START)
        return engine


def _actions(board: Board, path: Path) -> list[int]:
    """Returns the env's actions of a path, without changing the board."""
    return replace(board).play(path)


def _key(board: Board) -> tuple[int, ...]:
    return board.seat, board.own, board.opponents, board.kings, board.jumper


def make(env: Env[Any], library: str, milliseconds: int = DEFAULT_MILLISECONDS) -> HostPlayerAgent:
    """Returns an engine with CheckerBoard's interface as an agent of checkers.

    Args:
      env: checkers, or a `Wrapper` that keeps its rules.
      library: the file of the engine, a shared library for this system: .so, .dylib or .dll.
      milliseconds: the time of a move, which engines keep more or less; from 1.

    Raises ParameterError (a ValueError) for another game, a value that is not allowed, or a file that is not there.
    Raises EngineError (a ValueError) for a library that cannot be loaded.
    """
    check_keeps_rules(env)
    game = game_of(env)
    if not isinstance(game, Checkers):
        raise ParameterError(f"checkerboard plays checkers, not {game.id}")
    check_int("milliseconds", milliseconds, 1, MAX_MILLISECONDS)
    if not os.path.isfile(library):
        raise ParameterError(
            f"there is no library {library!r}: name the file of an engine with CheckerBoard's interface"
        )
    player = CheckerBoardPlayer(game, library, milliseconds)
    return HostPlayerAgent(env, player, f"checkerboard(library={library!r}, milliseconds={milliseconds})")
