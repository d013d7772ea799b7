"""Checks of solutions against the rules: the values of random positions, derived again from the positions that follow.

The moves and the boards after them are computed by the env, not by the solver.
"""

import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from jaxgames._batches import CHUNK, in_chunks
from jaxgames._progress import Progress
from jaxgames.env import Env
from jaxgames.solvers.exact.solution import Solution


def count_errors(solution: Solution[Any], positions: int, seed: int = 0, progress: bool = True) -> int:
    """Returns the number of random positions whose value or plies do not follow from their moves.

    Without plies, the values are margins to go, of a game with the reward "boxes"; a finished board has the margin 0.
    With plies, a position is also an error if one of its moves leads to an illegal position, or to a finished one that
    does not have 0 plies. Nothing follows from an illegal position, so it is never an error.

    Args:
      solution: of a game for two.
      positions: their number; they are drawn uniformly, with replacement.
      seed: of the positions; the same seed gives the same ones.
      progress: whether to show the progress on standard error.
    """
    is_consistent = _is_consistent if solution.has_plies else _has_best_margin
    random, errors = np.random.default_rng(seed), 0
    with Progress(positions, "positions", shown=progress) as bar:
        for begin in range(0, positions, CHUNK):
            indices = random.integers(0, solution.num_states, min(CHUNK, positions - begin))
            errors += int(np.count_nonzero(~is_consistent(solution, indices)))
            bar.update(len(indices))
    return errors


def _is_consistent(solution: Solution[Any], indices: np.ndarray) -> np.ndarray:
    """Returns bool[B], whether each position has the value and the plies that follow from its moves."""
    states = solution.states_at(indices)
    value, plies = solution.value(states), solution.plies(states)
    live = solution.is_legal(states) & ~np.asarray(states.terminated)
    right = ~solution.is_legal(states) | live | ((value == -1) & (plies == 0))

    masks = in_chunks(functools.partial(_masks, solution.env), states)
    rows, actions = np.nonzero(masks & live[:, None])
    after = in_chunks(
        lambda moves: _after(solution.env, *moves),
        (jax.tree.map(lambda leaf: leaf[rows], states), actions.astype(np.int32)),
    )
    reply, length = solution.value(after), solution.plies(after)
    allowed = solution.is_legal(after) & (np.asarray(after.terminated) == (length == 0))

    def by_row(of_moves: np.ndarray, function: np.ufunc, none: int) -> np.ndarray:
        result = np.full(len(indices), none)
        function.at(result, rows, of_moves)
        return result

    best = -by_row(reply, np.minimum, 2)  # the mover's value after its best move; -2 if it has none
    soonest = 1 + by_row(np.where(reply == -1, length, 2**30), np.minimum, 2**30)
    latest = 1 + by_row(length, np.maximum, -1)
    expected = np.where(best == 1, soonest, np.where(best == -1, latest, -1))
    is_right = (value == best) & (plies == expected) & (by_row(~allowed, np.maximum, 0) == 0)
    return np.where(live, is_right, right)


def _has_best_margin(solution: Solution[Any], indices: np.ndarray) -> np.ndarray:
    """Returns bool[B], whether each set of edges has the best of the margins to go after each edge.

    With the reward "boxes" a step pays every box that it completes. All states have seat 0 to move.
    """
    env = dataclasses.replace(solution.env, reward="boxes")
    states = solution.states_at(indices)
    best = np.full(len(indices), np.iinfo(np.int32).min)
    best[np.asarray(states.terminated)] = 0
    rows, actions = np.nonzero(in_chunks(functools.partial(_masks, env), states))
    after = in_chunks(
        lambda moves: _after(env, *moves), (jax.tree.map(lambda leaf: leaf[rows], states), actions.astype(np.int32))
    )
    to_go = np.where(after.terminated, 0, solution.value(after).astype(np.int32))
    np.maximum.at(best, rows, after.rewards[:, 0].astype(np.int32) + np.where(after.current_player == 0, to_go, -to_go))
    return solution.value(states) == best


@functools.partial(jax.jit, static_argnums=0)
def _masks(env: Env[Any], states: Any) -> jax.Array:
    return jax.vmap(env.legal_action_mask)(states)


@functools.partial(jax.jit, static_argnums=0)
def _after(env: Env[Any], states: Any, actions: jax.Array) -> Any:
    return jax.vmap(lambda state, action: env.step(state, action))(states, actions)
