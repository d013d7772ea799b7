"""The player of Dots and Boxes behind the agent `alphabeta`: moves on boards of up to 8 x 8 boxes, in limited time.

    player = make_player(env, depth=9, milliseconds=200)
    action = player.choose(state, seed=0)

`STRATEGIES` are asked for a move in turn, and the first one that has one plays. `analyse` labels a position with all
best edges and the expected return, by a search to the end where few choices are left.

How the time of a move is kept: jaxgames/solvers/alphabeta/deepening.py.
"""

import contextlib
import functools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jaxgames._checks import ParameterError, check_int
from jaxgames.games.dots_and_boxes.chains import chain_openers
from jaxgames.games.dots_and_boxes.playouts import NODES_PER_PLAYOUT, play_out
from jaxgames.games.dots_and_boxes.rules import MAX_SEARCHED_SIZE, DotsAndBoxes, DotsAndBoxesState
from jaxgames.games.dots_and_boxes.search import TO_THE_END, Work, alphabeta, make_work
from jaxgames.games.dots_and_boxes.search_moves import captures, draw, place, undraw
from jaxgames.solvers.alphabeta.clock import MAX_MILLISECONDS, Clock, OutOfTimeError
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, function_for, ints
from jaxgames.solvers.alphabeta.deepening import SHARE_OF_TIME, deepen
from jaxgames.solvers.alphabeta.table import MINUS_INFINITY, clear

MAX_DEPTH = 144  # edges of the largest board

# The work of a move per millisecond of its time. A compiled search needs about a twentieth of the time for it.
NODES_PER_MILLISECOND = 40
PLAYOUTS_PER_MILLISECOND = 2
SHARE_OF_END = 0.5  # of the time of a move, for searches to the end of the game
# Nodes of such a search: about 2 * (5 / 3) ** choices for the best move, a fifth of it to know whether a move wins.
# Measured on 5 x 5 boxes after random safe edges.
NODES_WITHOUT_CHOICE, NODES_PER_CHOICE, SHARE_OF_WIN = 2, 5 / 3, 0.2
TABLE_SIZE = 1 << 16  # entries of its table
PLAYOUTS_PER_PIECE = 50
NODES_OF_ANALYSIS = 10  # times the nodes of a move: the best edges are tried one by one


@dataclass
class Turn:
    """A move to choose: a position, the moves worth trying, and how much work there is time for."""

    work: Work
    function: Callable[[Any], Any]  # gives the compiled or the plain form of a function
    seed: int  # of the random choices
    drawn: Any  # int64[num_edges], 1 for a drawn edge
    behind: int  # the boxes of the opponent minus the mover's
    moves: list[int]  # among which is a best one: safe edges, then boxes to take or chains to open, the shortest first
    num_safe: int  # moves that are safe edges
    depth: int
    milliseconds: int
    end: float = math.inf  # of its time, and of that for searches to the end
    end_to_the_end: float = math.inf

    @property
    def nodes(self) -> int:
        return NODES_PER_MILLISECOND * self.milliseconds

    @functools.cached_property
    def nodes_to_the_end(self) -> float:
        """The expected nodes of a search to the end, by the safe edges and chains that are left after all captures."""
        board, position, chains = self.work.board, self.work.position, self.work.playouts.chains
        taken: list[int] = []
        while self.function(captures)(board, position, chains.moves, 0) > 0:
            taken.append(int(chains.moves[0]))
            self.function(draw)(board, position, taken[-1])
        choices = self.function(chain_openers)(board, position, chains, chains.moves, 0)
        for move in reversed(taken):
            self.function(undraw)(board, position, move)
        return NODES_WITHOUT_CHOICE * NODES_PER_CHOICE**choices

    def values(
        self,
        clock: Clock,
        moves: Sequence[int],
        depth: int,
        alpha: int = MINUS_INFINITY,
        beta: int = -MINUS_INFINITY,
        search: Callable[..., int] = alphabeta,
    ) -> Iterator[tuple[int, int]]:
        """Yields the moves with their values for the mover, until one has at least the value `beta`.

        They are exact within the window and for the best move so far, and upper bounds for others. Raises
        OutOfTimeError when the time or the nodes are used up. `search` is `alphabeta`, or has its arguments.
        """
        work, function = self.work, self.function
        for move in moves:
            boxes = function(draw)(work.board, work.position, move)
            window = (alpha - boxes, beta - boxes) if boxes > 0 else (-beta, -alpha)
            value = clock.search(work.counts, functools.partial(function(search), work, 0, depth, *window))
            function(undraw)(work.board, work.position, move)
            value = boxes + value if boxes > 0 else -value
            alpha = max(alpha, value)
            yield move, value
            if value >= beta:
                return

    def restore(self) -> None:
        """Sets up the position again after a search that was interrupted."""
        self.function(place)(self.work.board, self.work.position, self.drawn)

    def means_by_long_chain_rule(self, clock: Clock) -> dict[int, float]:
        """Returns the means of the playouts that draw each safe edge."""
        totals, drawn = self.work.playouts.totals, self.work.playouts.drawn
        for edge in range(len(totals)):
            totals[edge] = drawn[edge] = 0

        def piece(max_nodes: int) -> tuple[int, int]:
            number = min(PLAYOUTS_PER_PIECE, -(-max_nodes // NODES_PER_PLAYOUT))
            work = self.work
            total = self.function(play_out)(work.board, work.position, work.playouts, number, True)
            return total, number * NODES_PER_PLAYOUT

        clock.start(self.end, NODES_PER_PLAYOUT * PLAYOUTS_PER_MILLISECOND * self.milliseconds)
        with contextlib.suppress(OutOfTimeError):
            while True:
                clock.run(piece)
        safe = self.moves[: self.num_safe]
        return {move: float(totals[move] / drawn[move]) if drawn[move] else MINUS_INFINITY for move in safe}


# -- strategies --------------------------------------------------------------------------------------------------------

Strategy = Callable[[Turn, Clock], int | None]  # returns a move, or None where another strategy has to choose


def only_move(turn: Turn, clock: Clock) -> int | None:
    """A box that costs nothing, the next box of a chain without a choice, or the last edge."""
    return turn.moves[0] if len(turn.moves) == 1 else None


def best_to_the_end(turn: Turn, clock: Clock) -> int | None:
    """A best move, where few choices are left. A choice is a safe edge or a chain."""
    return _search_to_the_end(turn, clock) if turn.nodes_to_the_end <= turn.nodes else None


def order_by_long_chain_rule(turn: Turn, clock: Clock) -> None:
    """Sorts the safe edges, the best first; see jaxgames/games/dots_and_boxes/playouts.py."""
    if turn.num_safe > 0:
        means = turn.means_by_long_chain_rule(clock)
        turn.moves[: turn.num_safe] = sorted(means, key=lambda move: -means[move])


def not_losing_to_the_end(turn: Turn, clock: Clock) -> int | None:
    """The first move that does not lose the game, if there is one, where there are some more choices."""
    if SHARE_OF_WIN * turn.nodes_to_the_end <= turn.nodes < turn.nodes_to_the_end:
        return _search_to_the_end(turn, clock, turn.behind - 1, turn.behind + 1)
    return None


def first_safe_edge(turn: Turn, clock: Clock) -> int | None:
    return turn.moves[0] if turn.num_safe > 0 else None


def best_to_a_depth(turn: Turn, clock: Clock, search: Callable[..., int] = alphabeta) -> int:
    """The best move by iterative deepening, up to `depth`."""
    clock.start(turn.end, turn.nodes)
    valued = deepen(turn.moves, range(turn.depth), functools.partial(turn.values, clock, search=search))
    return _first_of_best(valued)[0] if valued else turn.moves[0]


STRATEGIES: tuple[Strategy, ...] = (
    only_move,
    best_to_the_end,
    order_by_long_chain_rule,
    not_losing_to_the_end,
    first_safe_edge,
    best_to_a_depth,
)


def _search_to_the_end(
    turn: Turn, clock: Clock, alpha: int = MINUS_INFINITY, beta: int = -MINUS_INFINITY
) -> int | None:
    """Returns the first of the best moves; None if none has a value above `alpha`, or without enough time or nodes."""
    clock.start(turn.end_to_the_end, turn.nodes)
    turn.function(clear)(turn.work.table)
    try:
        best, value = _first_of_best(list(turn.values(clock, turn.moves, TO_THE_END, alpha, beta)))
    except OutOfTimeError:
        turn.restore()
        return None
    return best if value > alpha else None


def _first_of_best(valued: list[tuple[int, int]]) -> tuple[int, int]:
    return max(valued, key=lambda pair: pair[1])


# -- the player --------------------------------------------------------------------------------------------------------


class DotsAndBoxesPlayer:
    """Chooses edges of one board at a time. Its arrays are work space: a move does not depend on earlier ones."""

    def __init__(
        self, env: DotsAndBoxes, depth: int, milliseconds: int, strategies: Sequence[Strategy] = STRATEGIES
    ) -> None:
        """Compiles all functions, so that no move waits for that; see `make_player` for the arguments."""
        if max(env.rows, env.cols) > MAX_SEARCHED_SIZE:
            raise ParameterError(f"alphabeta plays boards of up to 8 x 8 boxes, not {env}")
        check_int("depth", depth, 1, MAX_DEPTH)
        check_int("milliseconds", milliseconds, 1, MAX_MILLISECONDS)
        self.depth: int = depth
        self.milliseconds: int = milliseconds
        self.clock: Clock = Clock()
        self._strategies = strategies
        self._reward = env.reward
        self._compiled = HAS_NUMBA
        self._function = function_for(HAS_NUMBA)
        self._work = make_work(env.rows, env.cols, TABLE_SIZE, symmetries=False, compiled=HAS_NUMBA)
        self._warm_up(env)

    def choose(self, state: DotsAndBoxesState, seed: int) -> int:
        """Returns the action on a live board; the seed of the random choices is from 0 to 2**32 - 1."""
        seconds = SHARE_OF_TIME * self.milliseconds / 1000
        end = self.clock.after(seconds)
        turn = self._turn(state, seed)
        turn.end, turn.end_to_the_end = end, end - (1 - SHARE_OF_END) * seconds
        return next(move for strategy in self._strategies if (move := strategy(turn, self.clock)) is not None)

    def best_actions(self, state: DotsAndBoxesState) -> list[int]:
        return self.analyse(state)[0]

    def analyse(self, state: DotsAndBoxesState) -> tuple[list[int], float]:
        """Returns the best edges of a live board, in ascending order, and the expected return of the mover.

        Positions with few choices are searched to the end, up to 17 choices with 300 milliseconds. The result is then
        exact: all edges of the highest value, and the value of perfect play by both seats. With more choices, and if
        the nodes do not suffice, there is one edge and an estimate of its value: with reward="win_loss" 0, as the
        estimated margin does not tell who wins (a correlation of 0.0 with the result in 1,384 such positions of games
        on 4 x 4 and 5 x 5 boxes). No clock is read.
        """
        turn = self._turn(state, 0)
        if turn.nodes_to_the_end <= turn.nodes:
            try:
                best, margin = self._all_best(turn, np.flatnonzero(~np.asarray(state.edges)).tolist())
                return best, self._expected_return(turn, margin)
            except OutOfTimeError:
                turn.restore()
        if turn.num_safe > 0:
            means = turn.means_by_long_chain_rule(self.clock)
            edge = max(means, key=lambda move: means[move])
            margin = means[edge]
        else:
            self.clock.start(math.inf, sys.maxsize)  # few nodes: positions without boxes to take are leaves
            edge, margin = _first_of_best(list(turn.values(self.clock, turn.moves, 0)))
        return [edge], 0.0 if self._reward == "win_loss" else self._expected_return(turn, margin)

    def _turn(self, state: DotsAndBoxesState, seed: int) -> Turn:
        """Returns the move to choose, with equal moves in random order."""
        work, function = self._work, self._function
        drawn = ints(np.asarray(state.edges), self._compiled)
        function(place)(work.board, work.position, drawn)
        work.playouts.random[0] = seed << 16
        chains = work.playouts.chains
        number, num_safe = function(captures)(work.board, work.position, chains.moves, 0), 0
        moves = [int(chains.moves[place]) for place in range(number)]
        if not moves:
            number = function(chain_openers)(work.board, work.position, chains, chains.moves, 0)
            moves = [int(chains.moves[place]) for place in range(number)]
            random.Random(seed).shuffle(moves)
            moves.sort(key=lambda move: int(chains.sizes[move]))  # 0 for a safe edge
            num_safe = sum(int(chains.sizes[move]) == 0 for move in moves)
        owner, seat = np.asarray(state.owner), int(state.current_player)
        behind = int((owner == 1 - seat).sum() - (owner == seat).sum())
        return Turn(work, function, seed, drawn, behind, moves, num_safe, self.depth, self.milliseconds)

    def _all_best(self, turn: Turn, open_edges: list[int]) -> tuple[list[int], int]:
        """Returns the open edges of the highest value, and that value; raises OutOfTimeError if the nodes are few."""
        self.clock.start(math.inf, NODES_OF_ANALYSIS * turn.nodes)
        self._function(clear)(self._work.table)
        _, value = _first_of_best(list(turn.values(self.clock, turn.moves, TO_THE_END)))
        bounds = (next(turn.values(self.clock, [edge], TO_THE_END, value - 1, value)) for edge in open_edges)
        return [edge for edge, bound in bounds if bound >= value], value

    def _expected_return(self, turn: Turn, margin: float) -> float:
        """Returns the mover's return from here on, in the env's unit, if it gains `margin` more boxes from here on."""
        if self._reward == "boxes":
            return margin
        at_end = margin - turn.behind
        return at_end if self._reward == "margin" else max(-1.0, min(1.0, at_end))

    def _warm_up(self, env: DotsAndBoxes) -> None:
        """Asks all strategies: the first calls can compile functions, the last ones measure their speed."""
        start = jax.device_get(env.init())
        before_end = replace(start, edges=np.arange(env.num_edges) < env.num_edges - 2)
        for state in (before_end, start, start):
            turn = replace(self._turn(state, 0), depth=1, milliseconds=1)
            for strategy in self._strategies:
                strategy(turn, self.clock)


def make_player(env: DotsAndBoxes, depth: int = 9, milliseconds: int = 200) -> DotsAndBoxesPlayer:
    """Returns the player for a board.

    Args:
      env: the game, up to 8 x 8 boxes.
      depth: of a search that does not reach the end of the game.
      milliseconds: the time of a move.
    """
    return DotsAndBoxesPlayer(env, depth, milliseconds)
