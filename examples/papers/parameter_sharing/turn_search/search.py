"""One-agent turn search with playouts on the star with six seats; the other seats are modelled as greedy.

    1. Every turn has a static score, on the board as it is: by the value after it, and after the best turn that could
       follow if nobody else moved.
    2. The best turns, the candidates, are played out. Far from the end, each other seat plays one greedy turn, and the
       seat's next turn has its static score. Near the end, such rounds go on until somebody wins, or for `rounds`
       rounds, and the seat plays the turns of the best value. All candidates have the same random numbers.
    3. The turn with the best mean score is chosen. A score counts turns: the turns that the value still expects, or the
       turns won or lost against it.

`moves.py` of this folder has the value, and what a board looks like. The functions here are compiled where
numba is installed; without it the same source runs in plain Python.
"""

import math
from typing import NamedTuple

import numpy as np

from examples.papers.parameter_sharing.turn_search.moves import (
    SEATS,
    SEED_OFFSET,
    STATE_MASK,
    WON_VALUE,
    Floats,
    Star,
    Weights,
    Work,
    best_turn,
    end_turn,
    fill_pegs,
    fill_turns,
    greedy_turn,
    is_full,
    make_star,
    make_work,
    move,
    random_below,
    rotate,
    turns_left,
)
from jaxgames.solvers.alphabeta.compiled import Ints, compiled

CURRENT_VALUE_WEIGHT = 0.4  # of the value after a turn; the value after the second turn has the rest
STATIC_SCORE_WEIGHT = 0.3  # in the final score of a candidate
WIN_TURNS = 10.0  # turns that a win or a loss counts
MAX_FOLLOWERS = 5  # turns after a candidate that get a static score
MINUS_INFINITY = -1.0e9


class Settings(NamedTuple):
    """The settings of a search."""

    candidates: int  # turns with the best static scores, which are played out
    samples: int  # playouts of every candidate; 0: the turn with the best static score is chosen
    rounds: int  # the most rounds of a playout near the end
    near: float  # turns left, by the value, below which games are played to their end


class Race(NamedTuple):
    """A board with its value, and the arrays of a search."""

    star: Star
    work: Work
    weights: Weights
    turns: Ints  # [2 * pegs * cells], of the root
    followers: Ints  # [2 * pegs * cells], after a turn of the root
    last: Ints  # [2 * pegs * cells], after the followers
    scores: Floats  # [pegs * cells], of the turns of the root
    later_scores: Floats  # [pegs * cells], of the followers
    pegs: Ints  # [pegs]
    later_pegs: Ints  # [pegs]
    board: Ints  # [cells]


def make_race(size: int, weights: Weights) -> Race:
    """Returns the arrays of a search on the board of size N = `size`."""
    star = make_star(size)
    most = star.pegs * star.cells
    turns, followers, last = np.zeros((3, 2 * most), np.int64)
    scores, later_scores = np.zeros((2, most))
    pegs, later_pegs = np.zeros((2, star.pegs), np.int64)
    board = np.zeros(star.cells, np.int64)
    return Race(star, make_work(star), weights, turns, followers, last, scores, later_scores, pegs, later_pegs, board)


@compiled
def choose(race: Race, board: Ints, chain: int, settings: Settings, noise: float) -> int:
    """Returns the number of the chosen turn in `race.turns`, for the pegs in `race.pegs`; -1 without a turn.

    `chain` is the cell of the peg that has hopped in this turn, -1 before its first move. The cells that it has left
    become empty. `noise` is the scale of Gumbel noise on the static scores, to explore.
    """
    star, turns, scores = race.star, race.turns, race.scores
    fill_pegs(star, board, race.pegs)
    number = fill_turns(star, race.work, board, race.pegs, chain, turns)
    end_turn(star, board)  # the next turn may use the cells that the peg has left
    for turn in range(number):
        scores[turn] = static_score(race, board, race.pegs, turns[2 * turn], turns[2 * turn + 1], race.followers)
        if noise > 0.0:
            uniform = (1 + random_below(race.work, 2**20 - 1)) / 2**20
            scores[turn] -= noise * math.log(-math.log(uniform))
    left = turns_left(star, race.weights, board, race.pegs)
    candidates = min(settings.candidates, number) if settings.samples > 0 else 0
    best = _highest(scores, number)
    if best < 0 or scores[best] > -WON_VALUE / 2 or candidates == 0:
        return best
    chosen, highest, seed = best, MINUS_INFINITY, int(race.work.random[0])
    for _ in range(candidates):
        turn = _highest(scores, number)
        static, total = scores[turn], 0.0
        scores[turn] = MINUS_INFINITY
        race.work.random[0] = seed
        for _ in range(settings.samples):
            total += play_out(race, board, turns[2 * turn], turns[2 * turn + 1], settings, left)
        score = total / settings.samples + STATIC_SCORE_WEIGHT * static
        if score > highest:
            chosen, highest = turn, score
    return chosen


@compiled
def _highest(scores: Floats, number: int) -> int:
    """Returns the number of the highest score; -1 if there is none above MINUS_INFINITY."""
    best, highest = -1, MINUS_INFINITY
    for turn in range(number):
        if scores[turn] > highest:
            best, highest = turn, scores[turn]
    return best


@compiled
def static_score(race: Race, board: Ints, pegs: Ints, index: int, to: int, after: Ints) -> float:
    """Returns the static score of a turn, minus turns; -WON_VALUE if it wins.

    `after` is overwritten by the turns that could follow.
    """
    star, weights = race.star, race.weights
    origin = move(board, pegs, index, to)
    score = -turns_left(star, weights, board, pegs)
    if score < -WON_VALUE:
        _, value = best_turn(star, race.work, weights, board, pegs, after)
        score = CURRENT_VALUE_WEIGHT * score - (1.0 - CURRENT_VALUE_WEIGHT) * max(value, 0.0)
    move(board, pegs, index, origin)
    return score


@compiled
def best_static_score(race: Race, board: Ints, pegs: Ints) -> float:
    """Returns the best static score of the MAX_FOLLOWERS turns of the best value; WIN_TURNS if a turn wins."""
    star, turns, scores = race.star, race.followers, race.later_scores
    number = fill_turns(star, race.work, board, pegs, -1, turns)
    for turn in range(number):
        index, to = turns[2 * turn], turns[2 * turn + 1]
        origin = move(board, pegs, index, to)
        scores[turn] = -turns_left(star, race.weights, board, pegs)
        move(board, pegs, index, origin)
    best = MINUS_INFINITY
    for _ in range(min(MAX_FOLLOWERS, number)):
        turn = _highest(scores, number)
        if scores[turn] >= -WON_VALUE:
            return WIN_TURNS
        scores[turn] = MINUS_INFINITY
        best = max(best, static_score(race, board, pegs, turns[2 * turn], turns[2 * turn + 1], race.last))
    return best if number > 0 else -turns_left(star, race.weights, board, pegs)


@compiled
def play_out(race: Race, root: Ints, index: int, to: int, settings: Settings, left: float) -> float:
    """Returns the score of a turn in one game after it, minus turns; `left` are the turns left before it."""
    star, board, pegs = race.star, race.board, race.later_pegs
    for cell in range(star.cells):
        board[cell] = root[cell]
    board[race.pegs[index]] = -1
    board[to] = 0
    end_turn(star, board)
    for played in range(1, settings.rounds + 1):
        if others_win(star, race.work, board):
            return -WIN_TURNS - left
        fill_pegs(star, board, pegs)
        if left >= settings.near:
            return best_static_score(race, board, pegs) - 1.0
        best, _ = best_turn(star, race.work, race.weights, board, pegs, race.followers)
        if best >= 0:
            move(board, pegs, race.followers[2 * best], race.followers[2 * best + 1])
            if is_full(star, board):
                return WIN_TURNS - played
    return -turns_left(star, race.weights, board, pegs) - settings.rounds


@compiled
def others_win(star: Star, work: Work, board: Ints) -> bool:
    """Plays a greedy turn of each other seat, up to the mover's next one; returns True as soon as one of them wins."""
    for _ in range(SEATS - 1):
        rotate(star, work, board)
        if greedy_turn(star, work, board):
            return True
    rotate(star, work, board)
    return False


@compiled
def play_alone(race: Race, board: Ints, seat: int, settings: Settings, noise: float, limit: int, seen: Ints) -> int:
    """Plays a game of one seat against five greedy ones; returns the turns of the seat, -limit if it is not finished.

    The game goes on until the seat has filled its goal: others that have filled theirs pass. `board` is the start, in
    the frame of seat 0, and is overwritten. The boards before the seat's turns are written to `seen`, row by row.
    """
    star, has_won = race.star, 0
    for turn in range(limit):
        for mover in range(SEATS):
            if mover == seat:
                for cell in range(star.cells):
                    seen[turn * star.cells + cell] = board[cell]
                best = choose(race, board, -1, settings, noise)
                if best >= 0:
                    move(board, race.pegs, race.turns[2 * best], race.turns[2 * best + 1])
                if is_full(star, board):
                    return turn + 1
            elif (has_won >> mover) & 1 == 0 and greedy_turn(star, race.work, board):
                has_won |= 1 << mover
            rotate(star, race.work, board)
    return -limit


@compiled
def seed_with(race: Race, seed: int) -> None:
    """Sets the seed of the random numbers, from 0 to 2**32 - 1."""
    race.work.random[0] = (seed * 65536 + SEED_OFFSET) & STATE_MASK
