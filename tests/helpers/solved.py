"""Games that are solved once per process, whose tables no test changes, and labelled positions of games."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.chinese_checkers_diamond.solution import DiamondSolution
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.solution import DotsAndBoxesSolution
from jaxgames.sampling import MASKED_LOGIT
from jaxgames.solvers.exact.solution import Solution
from train.data.positions import Positions


@functools.cache
def solved_diamond(size: int, pieces: int, tip_lock: bool = False, /) -> DiamondSolution:
    return DiamondSolution.solve(ChineseCheckersDiamond(size, pieces, tip_lock=tip_lock), progress=False)


@functools.cache
def solved_boxes(rows: int, cols: int, /) -> DotsAndBoxesSolution:
    return DotsAndBoxesSolution.solve(DotsAndBoxes(rows, cols), progress=False)


ENV = jaxgames.make("checkers")


@functools.partial(jax.jit, static_argnums=(0, 1))
def _random_games(env: Any, count: int, key: jax.Array) -> Any:
    """The boards of random games, one after the other, and the actions that are played on them."""

    def submove(state: Any, key: jax.Array) -> Any:
        logits = jnp.where(env.legal_action_mask(state), 0.0, MASKED_LOGIT)
        action = jax.random.categorical(key, logits)
        after = env.step(state, action)
        over = after.terminated | after.truncated
        return jax.tree.map(lambda new, old: jnp.where(over, new, old), env.init(), after), (state, action)

    return jax.lax.scan(submove, env.init(), jax.random.split(key, count))[1]


def random_positions(count: int = 40, env: Any = ENV, seed: int = 0) -> Positions:
    """Positions of random games, labelled with the action that is played; two thirds have the value 1."""

    states, actions = _random_games(env, count, jax.random.key(seed))
    number = np.arange(count)
    return Positions(
        env=env,
        states=states,
        action=np.asarray(actions),
        value=np.where(number % 3 == 0, np.nan, 1.0),
        probabilities=None,
        game=np.zeros(count, np.int32),
        ply=number,
        split=number % 2,
        splits=("train", "validation"),
    )


def solved_positions(solution: Solution[Any]) -> Positions:
    """All live positions of a solved game, with their values, and as policy all best actions alike.

    One in eight is for validation.
    """
    states = solution.states_at(np.arange(solution.num_states))
    live = solution.is_legal(states) & ~np.asarray(states.terminated)
    states = jax.tree.map(lambda leaf: np.asarray(leaf)[live], states)
    best = solution.best_actions(states)
    return Positions(
        env=solution.env,
        states=states,
        value=solution.value(states),
        probabilities=best / best.sum(1, keepdims=True),
        split=(np.arange(len(best)) % 8 == 7).astype(np.int8),
        splits=("train", "validation"),
    )


def saved(positions: Positions, path: Path, **changes: Any) -> str:
    """Writes positions, with other labels; returns the path as a setting."""
    dataclasses.replace(positions, **changes).save(path)
    return str(path)
