"""Scores of the greedy agent: for each game, what the mover gains at once by each of its actions.

    Chinese Checkers    the cells by which a piece comes closer to the far corner of its goal
    checkers            the value of the captured piece, and what a man gains that is crowned
    Dots and Boxes      the number of boxes that the edge completes
    minichess           the value of the captured piece, and what a pawn gains that is promoted

Nothing looks ahead: neither at the opponent's reply, nor at the next ply of the same turn.

On both boards of Chinese Checkers, actions that gain nothing or lose ground all have the score 0. Two rules let the
greedy agent fill its goal:

    A piece outside of the goal should also come closer to the nearest free cell of the goal. This decides only between
    moves that gain the same otherwise. It leads the last pieces around a goal that is open on its other side.

    On the star, all goal cells must hold the mover's own pegs. A peg of another seat in the goal needs a way out. While
    it is there, the cells in front of it count as no closer to the far corner than the goal's edge.

A user's own game gets scores by

    @jaxgames.greedy.action_scores.register
    def _(env: MyGame, state: MyState) -> jax.Array: ...
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.games.checkers.rules import KING_ROW, Checkers, CheckersState, shift, unpack
from jaxgames.games.chinese_checkers import board as chinese_checkers_board
from jaxgames.games.chinese_checkers.rules import ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers_diamond import board as chinese_checkers_diamond_board
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState
from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState
from jaxgames.games.minichess.board import CELL_SET, NUM_PLANES, PAWN, QUEEN, TARGET, VALUES
from jaxgames.games.minichess.rules import Minichess, MinichessState
from jaxgames.wrappers import Wrapper, inside

FREE_CELL_WEIGHT = 1 / 64  # so small that the way to a free cell never outweighs a cell towards the far corner
MAN_VALUE, KING_VALUE = 2, 3  # in checkers


@functools.singledispatch
def action_scores(env: Env[Any], state: Any) -> jax.Array:
    """Returns float32[num_actions], what the mover of one board gains by each action; any number for an illegal one.

    It is a `functools.singledispatch` on the class of the env. `action_scores.register` adds a game.

    Raises ParameterError (a ValueError) for a game without scores.
    """
    raise ParameterError(_no_scores(env))


def check_has_scores(env: Env[Any]) -> None:
    """Raises ParameterError (a ValueError) for a game without scores."""
    game = env.unwrapped
    if action_scores.dispatch(type(game)) is action_scores.dispatch(object):
        raise ParameterError(_no_scores(game))


def _no_scores(env: Env[Any]) -> str:
    return (
        f"greedy has no scores for {env}: add them with jaxgames.greedy.action_scores.register({type(env).__name__}, "
        f"scores), where scores(env, state) returns float32[{env.num_actions}]"
    )


@action_scores.register(Wrapper)
def _(env: Wrapper[Any, Any], state: Any) -> jax.Array:
    return action_scores(env.unwrapped, inside(env, state)[1])


# -- both boards of Chinese Checkers -------------------------------------------------------------------------------


def hexagonal_distance(difference: np.ndarray) -> np.ndarray:
    """Returns int[...], the steps that lead int[..., 2] cells away along the two axes of a hexagonal board."""
    q, r = difference[..., 0], difference[..., 1]
    return np.maximum(np.maximum(abs(q), abs(r)), abs(q + r))


def _remaining(to_tip: np.ndarray, to_goal: np.ndarray, is_free: jax.Array) -> jax.Array:
    """Returns float32[cells], how far a piece on each cell still has to go.

    It is the distance to the tip, the far corner of the goal. Outside of the goal, a small share of the distance to the
    nearest free cell of the goal is added, if there is one.

    Args:
      to_tip: int[cells], the distance from each cell to the tip.
      to_goal: int[cells, goal cells], the distance from each cell to each cell of the goal.
      is_free: bool[goal cells].
    """
    to_free = jnp.where(is_free, to_goal, to_goal.max()).min(-1)
    counts = (to_goal > 0).all(-1) & is_free.any()
    return jnp.asarray(to_tip, jnp.float32) + jnp.where(counts, FREE_CELL_WEIGHT * to_free.astype(jnp.float32), 0)


@functools.lru_cache
def _star_distances(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distances to the tip and to the goal cells for `_remaining`, in the mover's frame."""
    t = chinese_checkers_board.tables(size)
    return hexagonal_distance(t.axial - t.axial[-1]), hexagonal_distance(t.axial[:, None] - t.axial[t.triangle == 3])


def remaining_on_star(size: int, in_goal: jax.Array) -> jax.Array:
    """Returns float32[cells], how far a peg of the mover on each cell of the star of size N still has to go.

    Args:
      size: N.
      in_goal: int[N(N+1)/2], the goal cells in the mover's frame: 0 is the mover's peg, more a peg of another seat,
        less no peg.
    """
    to_tip, to_goal = _star_distances(size)
    tip_in_goal = to_tip[-in_goal.size :]
    deepest = jnp.where(in_goal > 0, tip_in_goal, size).min()  # peg of another seat
    closed = tip_in_goal > deepest
    remaining = _remaining(to_tip, to_goal, (in_goal < 0) & ~closed.any())
    elsewhere, goal = remaining[: -in_goal.size], remaining[-in_goal.size :]
    return jnp.concatenate([elsewhere, jnp.where(closed, size, goal)])


@action_scores.register
def _(env: ChineseCheckers, state: ChineseCheckersState) -> jax.Array:
    t = chinese_checkers_board.tables(env.size)
    remaining = jnp.append(remaining_on_star(env.size, state.board[-env.num_pegs :]), 0)  # the goal is the last rows

    near, beyond = t.neighbour[:-1], t.beyond[:-1]
    is_hop = jnp.append(state.board >= 0, False)[near]
    gain = remaining[:-1, None] - jnp.where(is_hop, remaining[beyond], remaining[near])
    end_turn = FREE_CELL_WEIGHT / 2  # better than a hop that gains nothing
    return jnp.append(jnp.maximum(gain, 0).ravel(), end_turn)


@functools.lru_cache
def _diamond_distances(size: int, pieces: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the goal cells in the mover's frame, and the distances to the tip and to them for `_remaining`."""
    places = np.stack(np.divmod(np.arange(size * size, dtype=np.int32), size), axis=-1)
    goal = np.int32(size * size - 1) - np.array(chinese_checkers_diamond_board.corner(size, pieces), np.int32)
    return goal, hexagonal_distance(places - places[-1]), hexagonal_distance(places[:, None] - places[goal])


@action_scores.register
def _(env: ChineseCheckersDiamond, state: ChineseCheckersDiamondState) -> jax.Array:
    assert env.pieces is not None  # settled when the env is made
    goal, to_tip, to_goal = _diamond_distances(env.size, env.pieces)
    occupied = chinese_checkers_diamond_board.unpack(env.size, state.pieces).any(0)
    remaining = _remaining(to_tip, to_goal, ~occupied[goal])
    return jnp.maximum(remaining[:, None] - remaining, 0).ravel()


# -- captures ------------------------------------------------------------------------------------------------------


@action_scores.register
def _(env: Checkers, state: CheckersState) -> jax.Array:
    men, opponent_kings = state.own & ~state.kings, state.opponents & state.kings
    captures: list[jax.Array] = []  # four sets each, by direction the squares from which a move does this
    captures_king: list[jax.Array] = []
    crowns: list[jax.Array] = []
    for back in (2, 3, 0, 1):  # the direction opposite to 0, 1, 2, 3
        over_opponent = shift(state.opponents, back)
        captures.append(over_opponent)
        captures_king.append(shift(opponent_kings, back))
        by_step, by_jump = shift(KING_ROW, back), shift(shift(KING_ROW, back), back)
        crowns.append(men & (over_opponent & by_jump | ~over_opponent & by_step))
    extra = KING_VALUE - MAN_VALUE
    return MAN_VALUE * unpack(captures) + extra * (unpack(captures_king) + unpack(crowns).astype(jnp.float32))


def _promotion_gains() -> np.ndarray:
    """Returns float32[25, 49], what a pawn gains by each action that leads to its last rank."""
    plane = np.arange(NUM_PLANES)
    becomes = np.where(plane < 9, 3 - plane // 3, QUEEN)
    to_last_rank = (TARGET >= 0) & (TARGET % 5 == 4)
    return np.where(to_last_rank, np.array(VALUES)[becomes] - VALUES[PAWN], 0).astype(np.float32)


PROMOTION_GAIN = _promotion_gains()


@action_scores.register
def _(env: Minichess, state: MinichessState) -> jax.Array:
    position = state.position
    opponents = position.occupied & ~position.own
    on_cell = jnp.zeros(25, jnp.float32)  # the value of the opponent's piece on each cell
    for cells, value in zip(position.pieces, VALUES, strict=True):
        on_cell = jnp.where((CELL_SET & cells & opponents) != 0, value, on_cell)
    is_pawn = (CELL_SET & position.pawns & position.own) != 0
    return (on_cell[np.maximum(TARGET, 0)] + jnp.where(is_pawn[:, None], PROMOTION_GAIN, 0)).ravel()


# -- boxes ---------------------------------------------------------------------------------------------------------


@action_scores.register
def _(env: DotsAndBoxes, state: DotsAndBoxesState) -> jax.Array:
    edges = state.edges.astype(jnp.int32)
    horizontal = edges[: env.num_horizontal].reshape(env.rows + 1, env.cols)
    vertical = edges[env.num_horizontal :].reshape(env.rows, env.cols + 1)
    drawn = horizontal[:-1] + horizontal[1:] + vertical[:, :-1] + vertical[:, 1:]
    lacks_one = (drawn == 3).astype(jnp.float32)  # [rows, cols], one edge of the box is left
    above, left = jnp.pad(lacks_one, ((1, 1), (0, 0))), jnp.pad(lacks_one, ((0, 0), (1, 1)))
    return jnp.concatenate([(above[:-1] + above[1:]).ravel(), (left[:, :-1] + left[:, 1:]).ravel()])
