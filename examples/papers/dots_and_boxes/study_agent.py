"""The study's agent in Dots and Boxes, and ours with one of its rules; both by name:

    examples.papers.dots_and_boxes.study_agent:study(depth=9, milliseconds=200)
    examples.papers.dots_and_boxes.study_agent:random_safe_edges(milliseconds=200)

`study` draws a random safe edge if there is one, and otherwise searches with iterative deepening. The value of a
position is the difference of the boxes that the search itself took, and each edge takes depth. In the search, one
random safe edge is the only move. With neither boxes to take nor safe edges, the moves are all open edges, or at most
`max_moves` random ones.

`random_safe_edges` is the agent `alphabeta` without the long chain rule: it draws a random safe edge, too.

Source: El Kaddouri, Rys and Gao, Multi Agent Reinforcement Learning With Dots And Boxes, 2024, section 5.
"""

import functools
import random
from typing import Any

from jaxgames import Env, agents
from jaxgames._checks import ParameterError, check_int
from jaxgames.agents import Agent
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.player import (
    MAX_DEPTH,
    STRATEGIES,
    DotsAndBoxesPlayer,
    Turn,
    best_to_a_depth,
    order_by_long_chain_rule,
)
from jaxgames.games.dots_and_boxes.playouts import random_below
from jaxgames.games.dots_and_boxes.search import Work
from jaxgames.games.dots_and_boxes.search_moves import OPEN_EDGES, captures, draw, is_first_open, is_safe, undraw
from jaxgames.host_agent import HostPlayerAgent
from jaxgames.solvers.alphabeta.clock import MAX_NODES, NODES, Clock
from jaxgames.solvers.alphabeta.compiled import compiled, ints
from jaxgames.solvers.alphabeta.table import MINUS_INFINITY

MAX_MOVES = 3  # place in the counts of this search; 0: no limit


def study(env: Env[Any], depth: int = 9, milliseconds: int = 200, max_moves: int | None = None) -> Agent:
    """Returns the study's agent. Raises ParameterError (a ValueError) for a value that is not allowed."""
    if max_moves is not None:
        check_int("max_moves", max_moves, 1, MAX_DEPTH, also=" or None")
    player = player_of(env, depth, milliseconds, max_moves)
    limit = "" if max_moves is None else f", max_moves={max_moves}"
    return HostPlayerAgent(env, player, f"{__name__}:study(depth={depth}, milliseconds={milliseconds}{limit})")


def random_safe_edges(env: Env[Any], depth: int = 9, milliseconds: int = 200) -> Agent:
    """Returns the agent `alphabeta` without the long chain rule."""
    strategies = [strategy for strategy in STRATEGIES if strategy is not order_by_long_chain_rule]
    player = DotsAndBoxesPlayer(board_of(env), depth, milliseconds, strategies)
    return HostPlayerAgent(env, player, f"{__name__}:random_safe_edges(depth={depth}, milliseconds={milliseconds})")


def board_of(env: Env[Any]) -> DotsAndBoxes:
    if not isinstance(env.unwrapped, DotsAndBoxes):
        raise ParameterError(f"expected an env of dots_and_boxes, not {env}")
    return env.unwrapped


def player_of(env: Env[Any], depth: int, milliseconds: int, max_moves: int | None = None) -> DotsAndBoxesPlayer:
    """Returns the player of the study's agent; None for no limit of moves."""
    strategy = functools.partial(studys_move, max_moves=max_moves or 0)
    return DotsAndBoxesPlayer(board_of(env), depth, milliseconds, [strategy])


def studys_move(turn: Turn, clock: Clock, max_moves: int) -> int:
    """Returns the move of the study's agent, as a strategy of the player."""
    board, position, function = turn.work.board, turn.work.position, turn.function
    if function(captures)(board, position, turn.work.moves, 0) == 0:
        edges = [int(edge) for edge in board.order if function(is_first_open)(board, position, edge)]
        random.Random(turn.seed).shuffle(edges)
        safe = [edge for edge in edges if function(is_safe)(board, position, edge)]
        turn.moves = safe[:1] or edges[: max_moves or None]
    if len(turn.moves) == 1:
        return turn.moves[0]
    turn.work = turn.work._replace(counts=ints([0, 0, 0, max_moves], not isinstance(board.order, list)))
    return best_to_a_depth(turn, clock, most_boxes)


@compiled
def most_boxes(work: Work, level: int, depth: int, alpha: int, beta: int) -> int:
    """Returns the boxes that the mover takes within `depth` edges, minus the opponent's; see `alphabeta`."""
    board, position, counts, moves = work.board, work.position, work.counts, work.moves
    begin = level * len(board.order)
    if position.counts[OPEN_EDGES] == 0 or depth <= 0:
        return 0
    counts[NODES] += 1
    if counts[NODES] > counts[MAX_NODES]:
        return 0
    number = captures(board, position, moves, begin)
    if number == 0:
        number = one_safe_or_some(work, begin)
    best = MINUS_INFINITY
    for place in range(begin, begin + number):
        low = max(alpha, best)
        boxes = draw(board, position, moves[place])
        if boxes > 0:
            value = boxes + most_boxes(work, level + 1, depth - 1, low - boxes, beta - boxes)
        else:
            value = -most_boxes(work, level + 1, depth - 1, -beta, -low)
        undraw(board, position, moves[place])
        best = max(best, value)
        if best >= beta or counts[NODES] > counts[MAX_NODES]:
            break
    return best


@compiled
def one_safe_or_some(work: Work, begin: int) -> int:
    """Writes one random safe edge to moves[begin:], or open edges if none is safe; returns their number."""
    board, position, moves, max_moves = work.board, work.position, work.moves, work.counts[MAX_MOVES]
    number = num_safe = 0
    for place in range(len(board.order)):
        edge = board.order[place]
        if is_first_open(board, position, edge):
            moves[begin + number] = edge
            number += 1
            if is_safe(board, position, edge):
                moves[begin + number - 1], moves[begin + num_safe] = moves[begin + num_safe], edge
                num_safe += 1
    if num_safe > 0:
        moves[begin] = moves[begin + random_below(work.playouts.random, num_safe)]
        return 1
    if max_moves == 0 or max_moves >= number:
        return number
    for place in range(max_moves):
        other = begin + place + random_below(work.playouts.random, number - place)
        moves[begin + place], moves[other] = moves[other], moves[begin + place]
    return max_moves


agents.register("study", study)
agents.register("random_safe_edges", random_safe_edges)
