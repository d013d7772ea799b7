"""The player of Dots and Boxes behind the agent `alphabeta`: moves on boards of up to 8 x 8 boxes, in limited time.

    player = make_player(env, depth=9, milliseconds=200)
    action = player.choose(state, seed=0)

How a move is chosen:

1. Boxes that cost nothing are taken, and chains are taken down to the boxes where there is a choice (`captures`).
2. With few choices left, a search to the end of the game finds a best move. A choice is a safe edge or a chain.
3. With some more choices, a search to the end finds a move that does not lose the game, if there is one.
4. With safe edges left, the long chain rule chooses: see jaxgames/solvers/dots_and_boxes/playouts.py.
5. Otherwise alpha-beta, which deepens iteratively up to `depth`: see jaxgames/solvers/dots_and_boxes/depth_limited.py.

`analyse` labels a position with all best edges and the expected return, by rule 2 where it applies.

How the time of a move is kept: jaxgames/solvers/alphabeta/deepening.py.
"""

import contextlib
import functools
import math
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxgames._checks import ParameterError, check_choice, check_int
from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState
from jaxgames.solvers.alphabeta.clock import MAX_MILLISECONDS, Clock, OutOfTimeError
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, Ints, compiled, function_for, ints
from jaxgames.solvers.alphabeta.deepening import SHARE_OF_TIME, deepen
from jaxgames.solvers.alphabeta.table import BOUNDS_WORDS, MINUS_INFINITY, clear
from jaxgames.solvers.dots_and_boxes.chains import Chains, chain_openers
from jaxgames.solvers.dots_and_boxes.depth_limited import (
    BY_BOXES,
    BY_CHAINS,
    KIND,
    MAX_MOVES,
    TO_THE_END,
    Search,
    alphabeta,
)
from jaxgames.solvers.dots_and_boxes.moves import (
    MAX_SIZE,
    Board,
    Position,
    candidates,
    captures,
    draw,
    is_safe,
    make_board,
    make_position,
    undraw,
)
from jaxgames.solvers.dots_and_boxes.playouts import NODES_PER_PLAYOUT, Playouts, play_out

SAFE_EDGES = ("long_chains", "random")
LEAVES = ("chains", "boxes")
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


class DotsAndBoxesPlayer:
    """Chooses edges of one board at a time. Its arrays are work space: a move does not depend on earlier ones."""

    def __init__(
        self,
        env: DotsAndBoxes,
        depth: int,
        milliseconds: int,
        safe_edges: str,
        leaves: str,
        exact: bool,
        max_moves: int | None,
    ) -> None:
        """Compiles all functions, so that no move waits for that; see `make_player` for the arguments."""
        self.depth: int = depth
        self.milliseconds: int = milliseconds
        self.exact: bool = exact
        self.max_moves: int = max_moves or 0
        self.by_long_chains: bool = safe_edges == "long_chains"
        self.by_chains: bool = leaves == "chains"
        self._reward = env.reward
        self._compiled = HAS_NUMBA
        self._function = function_for(HAS_NUMBA)
        self._board = make_board(env.rows, env.cols, symmetries=False, compiled=HAS_NUMBA)
        self._position = make_position(self._board)
        edges, boxes = env.num_edges, env.num_boxes
        chains = Chains(*map(self._zeros, (boxes, edges, edges, 2 * boxes, boxes + 1)))
        random_state, safe, path = map(self._zeros, (1, edges, edges + 1))
        lengths, left, totals, drawn = map(self._zeros, (edges,) * 4)
        self._playouts = Playouts(random_state, safe, path, chains, lengths, left, totals, drawn)
        work = map(self._zeros, ((edges + 1) * edges, 4, BOUNDS_WORDS * TABLE_SIZE))
        self._search = Search(self._board, self._position, self._playouts, *work)
        self._search.counts[MAX_MOVES] = self.max_moves
        self._clock = Clock()
        self._warm_up()

    def choose(self, state: DotsAndBoxesState, seed: int) -> int:
        """Returns the action on a live board; the seed of the random choices is from 0 to 2**32 - 1."""
        seconds, nodes = SHARE_OF_TIME * self.milliseconds / 1000, NODES_PER_MILLISECOND * self.milliseconds
        end = self._clock.after(seconds)
        drawn = ints(np.asarray(state.edges), self._compiled)
        self._place(drawn)
        self._playouts.random[0] = seed << 16
        moves, num_safe = self._moves(random.Random(seed))
        if len(moves) == 1:
            return moves[0]
        expected = self._nodes_to_the_end()
        end_of_exact = end - (1 - SHARE_OF_END) * seconds
        if expected <= nodes:
            self._clock.start(end_of_exact, nodes)
            best = self._best_to_the_end(moves, drawn)
            if best is not None:
                return best
        if num_safe > 0 and self.by_long_chains:
            self._clock.start(end, NODES_PER_PLAYOUT * PLAYOUTS_PER_MILLISECOND * self.milliseconds)
            means = self._means_by_long_chain_rule(moves[:num_safe])
            moves = sorted(moves[:num_safe], key=lambda move: -means[move]) + moves[num_safe:]
        if SHARE_OF_WIN * expected <= nodes < expected:
            self._clock.start(end_of_exact, nodes)
            behind = _behind(state)
            best = self._best_to_the_end(moves, drawn, behind - 1, behind + 1)
            if best is not None:
                return best
        if num_safe > 0:
            return moves[0]
        self._clock.start(end, nodes)
        self._search.counts[KIND] = BY_CHAINS if self.by_chains else BY_BOXES
        valued = deepen(moves, range(self.depth), self._values)
        return _first_of_best(valued)[0] if valued else moves[0]

    def best_actions(self, state: DotsAndBoxesState) -> list[int]:
        """Returns the best edges of a live board; see `analyse`."""
        return self.analyse(state)[0]

    def analyse(self, state: DotsAndBoxesState) -> tuple[list[int], float]:
        """Returns the best edges of a live board, in ascending order, and the expected return of the mover.

        Positions with few choices are searched to the end, up to 17 choices with 300 milliseconds. The result is then
        exact: all edges of the highest value, and the value of perfect play by both seats. With more choices, and if
        the nodes do not suffice, there is one edge and an estimate of its value: with reward="win_loss" 0, as the
        estimated margin does not tell who wins (a correlation of 0.0 with the result in 1,384 such positions of games
        on 4 x 4 and 5 x 5 boxes). No clock is read.
        """
        drawn = ints(np.asarray(state.edges), self._compiled)
        self._place(drawn)
        self._playouts.random[0] = 0
        moves, num_safe = self._moves(random.Random(0))
        nodes = NODES_PER_MILLISECOND * self.milliseconds
        if self._nodes_to_the_end() <= nodes:
            self._clock.start(math.inf, NODES_OF_ANALYSIS * nodes)
            try:
                best, margin = self._all_best(moves, np.flatnonzero(~np.asarray(state.edges)).tolist())
                return best, self._expected_return(state, margin)
            except OutOfTimeError:
                self._place(drawn)
        best, margin = self._estimated(moves, num_safe)
        return [best], 0.0 if self._reward == "win_loss" else self._expected_return(state, margin)

    def _expected_return(self, state: DotsAndBoxesState, margin: float) -> float:
        """Returns the mover's return from here on, in the env's unit, if it gains `margin` more boxes from here on."""
        if self._reward == "boxes":
            return margin
        at_end = margin - _behind(state)
        return at_end if self._reward == "margin" else max(-1.0, min(1.0, at_end))

    def _zeros(self, size: int) -> Any:
        return ints(np.zeros(size), self._compiled)

    # -- moves -------------------------------------------------------------------------------------

    def _place(self, drawn: Ints) -> None:
        self._function(place)(self._board, self._position, drawn)

    def _moves(self, generator: random.Random) -> tuple[list[int], int]:
        """Returns moves among which is a best one, and how many of them are safe edges; these are first.

        The others are boxes to take or chains to open, the shortest first. Equal ones are in random order. Without safe
        edges, `max_moves` limits the others.
        """
        board, position, chains = self._board, self._position, self._playouts.chains
        number = self._function(captures)(board, position, chains.moves, 0)
        if number > 0:
            return _listed(chains.moves, number), 0
        if self.by_chains:
            number = self._function(chain_openers)(board, position, chains, chains.moves, 0)
        else:
            number = self._function(candidates)(board, position, chains.moves, 0, False)
        moves = _listed(chains.moves, number)
        generator.shuffle(moves)
        safe = [move for move in moves if self._function(is_safe)(board, position, move)]
        others = [move for move in moves if move not in safe]
        if self.by_chains:
            others.sort(key=lambda move: chains.sizes[move])
        if self.max_moves > 0 and not safe:
            del others[self.max_moves :]
        return safe + others, len(safe)

    def _nodes_to_the_end(self) -> float:
        """Returns the expected nodes of a search to the end of the game; infinity without such searches."""
        return NODES_WITHOUT_CHOICE * NODES_PER_CHOICE ** self._num_choices() if self.exact else math.inf

    def _num_choices(self) -> int:
        """Returns the number of safe edges and chains after all boxes are taken that can be taken."""
        board, position, chains = self._board, self._position, self._playouts.chains
        taken: list[int] = []
        while self._function(captures)(board, position, chains.moves, 0) > 0:
            taken.append(int(chains.moves[0]))
            self._function(draw)(board, position, taken[-1])
        number = self._function(chain_openers)(board, position, chains, chains.moves, 0)
        for move in reversed(taken):
            self._function(undraw)(board, position, move)
        return number

    def _best_to_the_end(
        self, moves: list[int], drawn: Ints, alpha: int = MINUS_INFINITY, beta: int = -MINUS_INFINITY
    ) -> int | None:
        """Returns the first of the moves of the highest value, by a search to the end of the game.

        It is None if no move has a value above `alpha`, and if the time or the nodes do not suffice.
        """
        self._function(clear)(self._search.table)
        self._search.counts[KIND] = TO_THE_END
        try:
            valued = list(self._values(moves, 0, alpha, beta))
        except OutOfTimeError:
            self._place(drawn)
            return None
        best, value = _first_of_best(valued)
        return best if value > alpha else None

    def _all_best(self, moves: list[int], open_edges: list[int]) -> tuple[list[int], int]:
        """Returns the open edges of the highest value, and that value; a best edge is among `moves`.

        Raises OutOfTimeError if the nodes are too few.
        """
        self._function(clear)(self._search.table)
        self._search.counts[KIND] = TO_THE_END
        _, value = _first_of_best(list(self._values(moves, 0)))
        bounds = (next(self._values([edge], 0, value - 1, value)) for edge in open_edges)
        return [edge for edge, bound in bounds if bound >= value], value

    def _estimated(self, moves: list[int], num_safe: int) -> tuple[int, float]:
        """Returns the move with the highest estimate, and the estimate; the first `num_safe` moves are safe edges."""
        if num_safe > 0:
            self._clock.start(math.inf, NODES_PER_PLAYOUT * PLAYOUTS_PER_MILLISECOND * self.milliseconds)
            means = self._means_by_long_chain_rule(moves[:num_safe])
            best = max(means, key=lambda move: means[move])
            return best, means[best]
        self._clock.start(math.inf, sys.maxsize)  # few nodes: positions without boxes to take are leaves
        self._search.counts[KIND] = BY_CHAINS
        return _first_of_best(list(self._values(moves, 0)))

    def _means_by_long_chain_rule(self, moves: list[int]) -> dict[int, float]:
        """Returns the means of the playouts that draw each of the safe edges."""
        totals, drawn = self._playouts.totals, self._playouts.drawn
        for edge in range(len(totals)):
            totals[edge] = drawn[edge] = 0
        with contextlib.suppress(OutOfTimeError):
            while True:
                self._clock.run(self._play_out)
        return {move: float(totals[move] / drawn[move]) if drawn[move] else MINUS_INFINITY for move in moves}

    # -- values ------------------------------------------------------------------------------------

    def _values(
        self, moves: list[int], depth: int, alpha: int = MINUS_INFINITY, beta: int = -MINUS_INFINITY
    ) -> Iterator[tuple[int, int]]:
        """Yields the moves with their values for the mover, until one has at least the value `beta`.

        They are exact within the window and for the best move so far, and upper bounds for others. Raises
        OutOfTimeError when the time or the nodes are used up.
        """
        function, counts = self._function(alphabeta), self._search.counts
        for move in moves:
            boxes = self._function(draw)(self._board, self._position, move)
            window = (alpha - boxes, beta - boxes) if boxes > 0 else (-beta, -alpha)
            value = self._clock.search(counts, functools.partial(function, self._search, 0, depth, *window))
            self._function(undraw)(self._board, self._position, move)
            value = boxes + value if boxes > 0 else -value
            alpha = max(alpha, value)
            yield move, value
            if value >= beta:
                return

    def _play_out(self, max_nodes: int) -> tuple[int, int]:
        """Returns the sum of a piece of playouts, and the number of nodes that they count as."""
        number = min(PLAYOUTS_PER_PIECE, -(-max_nodes // NODES_PER_PLAYOUT))
        total = self._function(play_out)(self._board, self._position, self._playouts, number, True)
        return total, number * NODES_PER_PLAYOUT

    def _warm_up(self) -> None:
        """Runs each function twice: the first call can compile it, the second one measures its speed."""
        last = len(self._board.order) - 2
        start, before_end = self._zeros(last + 2), self._zeros(last + 2)
        for edge in range(last):
            before_end[edge] = 1
        for drawn in (before_end, start, start):
            self._place(drawn)
            self._moves(random.Random(0))
            self._num_choices()
            self._function(candidates)(self._board, self._position, self._playouts.chains.moves, 0, False)
            self._clock.start(math.inf, NODES_PER_PLAYOUT)
            self._best_to_the_end([last, last + 1], drawn)
        self._place(start)
        for _ in range(2):
            self._clock.start(math.inf, NODES_PER_PLAYOUT)
            self._means_by_long_chain_rule([last])


def make_player(
    env: DotsAndBoxes,
    depth: int = 9,
    milliseconds: int = 200,
    safe_edges: str = "long_chains",
    leaves: str = "chains",
    exact: bool = True,
    max_moves: int | None = None,
) -> DotsAndBoxesPlayer:
    """Returns the player for a board.

    Args:
      env: the game, up to 8 x 8 boxes.
      depth: of a search that does not reach the end of the game.
      milliseconds: the time of a move.
      safe_edges: "long_chains" chooses among safe edges by the long chain rule, "random" draws one.
      leaves: "chains" estimates the boxes that are left at the end of such a search, "boxes" counts those taken in it.
      exact: whether searches to the end of the game are tried.
      max_moves: how many random edges such a search tries at most where no box can be taken and no edge is safe. None:
        all. Needs leaves="boxes" and exact=False.

    Raises ParameterError (a ValueError) for a larger board, and for a value that is not allowed.
    """
    if max(env.rows, env.cols) > MAX_SIZE:
        raise ParameterError(f"alphabeta plays boards of up to {MAX_SIZE} x {MAX_SIZE} boxes, not {env}")
    check_int("depth", depth, 1, MAX_DEPTH)
    check_int("milliseconds", milliseconds, 1, MAX_MILLISECONDS)
    check_choice("safe_edges", safe_edges, SAFE_EDGES)
    check_choice("leaves", leaves, LEAVES)
    check_choice("exact", exact, (False, True))
    if max_moves is not None:
        check_int("max_moves", max_moves, 1, MAX_DEPTH, also=" or None")
        if exact or leaves != "boxes":
            raise ParameterError("max_moves needs leaves=boxes and exact=False: pass these, or leave it out")
    return DotsAndBoxesPlayer(env, depth, milliseconds, safe_edges, leaves, exact, max_moves)


@compiled
def place(board: Board, position: Position, drawn: Ints) -> None:
    """Draws and undraws edges until the position has those with drawn[edge] == 1."""
    for edge in range(len(drawn)):
        if drawn[edge] == 1 and position.drawn[edge] == 0:
            draw(board, position, edge)
        elif drawn[edge] == 0 and position.drawn[edge] == 1:
            undraw(board, position, edge)


def _listed(moves: Ints, number: int) -> list[int]:
    return [int(moves[place]) for place in range(number)]


def _behind(state: DotsAndBoxesState) -> int:
    """Returns the boxes of the opponent minus the mover's boxes."""
    owner, seat = np.asarray(state.owner), int(state.current_player)
    return int((owner == 1 - seat).sum() - (owner == seat).sum())


def _first_of_best(valued: list[tuple[int, int]]) -> tuple[int, int]:
    return max(valued, key=lambda pair: pair[1])
