"""Checks of solutions against the rules: the values of random positions, derived again from the positions that follow.

The moves and the boards after them are computed by the env, not by the solver.
"""

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

    With `solution.has_plies`, a position is also an error if one of its moves leads to an illegal position, or to a
    finished one that does not have 0 plies. Nothing follows from an illegal position, so it is never an error.

    Args:
      solution: of a game of two seats.
      positions: their number; they are drawn uniformly, with replacement.
      seed: of the positions; the same seed gives the same ones.
      progress: whether to show the progress on standard error.
    """
    random, errors = np.random.default_rng(seed), 0
    with Progress(positions, "positions", shown=progress) as bar:
        for begin in range(0, positions, CHUNK):
            indices = random.integers(0, solution.num_states, min(CHUNK, positions - begin))
            errors += int(np.count_nonzero(~_is_consistent(solution, indices)))
            bar.update(len(indices))
    return errors


def _is_consistent(solution: Solution[Any], indices: np.ndarray) -> np.ndarray:
    """Returns bool[B], whether each position has the value and the plies that follow from its moves."""
    env, states = solution.paying_env, solution.states_at(indices)  # seat 0 is to move
    value, is_legal = solution.value(states), solution.is_legal(states)
    is_live = is_legal & ~np.asarray(states.terminated)
    rows, actions = np.nonzero(in_chunks(functools.partial(_masks, env), states) & is_live[:, None])
    after = in_chunks(
        lambda moves: _after(env, *moves), (jax.tree.map(lambda leaf: leaf[rows], states), actions.astype(np.int32))
    )
    reply = solution.value(after).astype(np.int32)

    def by_row(of_moves: np.ndarray, function: np.ufunc, none: int) -> np.ndarray:
        result = np.full(len(indices), none)
        function.at(result, rows, of_moves)
        return result

    to_go = np.where(after.terminated, 0, np.where(after.current_player == 0, reply, -reply))
    best = by_row(after.rewards[:, 0].astype(np.int32) + to_go, np.maximum, -(2**30))
    is_right = value == np.where(is_live, best, -1 if solution.has_plies else 0)
    if solution.has_plies:
        length = solution.plies(after)
        soonest = 1 + by_row(np.where(reply == -1, length, 2**30), np.minimum, 2**30)
        latest = 1 + by_row(length, np.maximum, -1)
        expected = np.where(is_live, np.where(best == 1, soonest, np.where(best == -1, latest, -1)), 0)
        is_allowed = solution.is_legal(after) & (np.asarray(after.terminated) == (length == 0))
        is_right &= (solution.plies(states) == expected) & (by_row(~is_allowed, np.maximum, 0) == 0)
    return is_right | ~is_legal


@functools.partial(jax.jit, static_argnums=0)
def _masks(env: Env[Any], states: Any) -> jax.Array:
    return jax.vmap(env.legal_action_mask)(states)


@functools.partial(jax.jit, static_argnums=0)
def _after(env: Env[Any], states: Any, actions: jax.Array) -> Any:
    return jax.vmap(lambda state, action: env.step(state, action))(states, actions)
