"""Positions of played games that an agent labels: with its probabilities and values, or with its action.

A solver's labels are a value table of the game, from which a network can be pretrained.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._batches import in_chunks
from jaxgames.agents import Agent, act_compiled, analyse_compiled
from train.data.positions import UNKNOWN, Positions, keys

SPLITS = ("train", "validation")
BOARDS = 64  # games at once
PATIENCE = 500  # steps of all games without a new position, after which the search for more ends
CHUNK = 256  # positions that are labelled at once
BUCKETS = 100  # of the hash of a position


def played_positions(
    env: Env[Any],
    player: Agent,
    count: int,
    seed: int,
    on_found: Callable[[int], object] = lambda _: None,
    between: tuple[int, int] | None = None,
) -> Positions:
    """Returns different positions of games between copies of an agent, without labels; all are in the first split.

    Args:
      player: plays all seats.
      count: the number of positions; fewer if the games show no more.
      on_found: is called with the number of positions that were found since the last call.
      between: the fewest and the most plies before a position; None: positions of the whole game.
    """
    first, last = between or (0, np.iinfo(np.int32).max)
    plies = np.zeros(BOARDS, np.int32)
    known: set[int] = set()
    parts: list[Positions] = []
    steps_without = 0
    for boards, step in steps(env, player, seed):
        here = _unlabelled(env, boards, plies)
        asked = np.flatnonzero((first <= plies) & (plies <= last))
        names = keys(here)[asked].tolist()
        new = [row for row, name in zip(asked, names, strict=True) if not (name in known or known.add(name))]
        new = new[: count - sum(map(len, parts))]
        parts.append(here.take(np.array(new, np.int64)))
        on_found(len(new))
        steps_without = 0 if new else steps_without + 1
        plies = np.where(step.terminated | step.truncated, 0, plies + 1)
        if len(known) >= count or steps_without >= PATIENCE + first:
            break
    return _joined(parts)


def labelled(
    positions: Positions,
    agent: Agent,
    train: int,
    on_labelled: Callable[[int], object] = lambda _: None,
    only_values: bool = False,
) -> Positions:
    """Returns positions with an agent's labels, in two splits by the hash of the position.

    An agent that has `analyse` labels with its probabilities and, if it has them, its values; others with an action. If
    every position has one action with probability 1, the positions have these actions and no probabilities.

    Args:
      positions: boards of the agent's game.
      train: the share of the training set in percent.
      on_labelled: is called with the number of positions that were labelled since the last call.
      only_values: leaves out the probabilities, which need 4 bytes for every action of the game and position.

    Raises ValueError with `only_values` for an agent without values.
    """
    keys_of_chunks = (jax.random.fold_in(jax.random.key(0), start) for start in itertools.count(0, CHUNK))

    def label(states: Any) -> tuple[Any, Any, Any]:
        """Returns the actions, or the probabilities and the values of the seats."""
        key, analysis = next(keys_of_chunks), analyse_compiled(agent, states)
        if only_values and (analysis is None or analysis.values is None):
            raise ValueError(f"{agent} has no values: leave out --only-values")
        if analysis is None:
            return act_compiled(agent, key, states), None, None
        return None, None if only_values else analysis.probabilities, analysis.values

    action, policy, values = in_chunks(label, positions.states, CHUNK, fill=agent.on_device, on_done=on_labelled)
    if policy is not None and (policy.max(axis=1) == 1).all():
        action, policy = policy.argmax(axis=1), None  # 4 bytes, not 4 for every action of the game
    unknown = np.full(len(positions), np.nan)
    labels = dataclasses.replace(
        positions,
        action=np.full(len(positions), UNKNOWN) if action is None else action,
        value=unknown if values is None else values[np.arange(len(positions)), positions.states.current_player],
        probabilities=policy,
    )
    return dataclasses.replace(labels, split=(keys(labels) % BUCKETS >= train).astype(np.int8), splits=SPLITS)


def _unlabelled(env: Env[Any], states: Any, plies: np.ndarray) -> Positions:
    unknown = np.full(len(plies), UNKNOWN, np.int32)
    value, split = np.full(len(plies), np.nan, np.float32), np.zeros(len(plies), np.int8)
    return Positions(env, states, unknown, value, None, unknown, plies, split, SPLITS)


def _joined(parts: Sequence[Positions]) -> Positions:
    states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(part.states for part in parts))
    return _unlabelled(parts[0].env, states, np.concatenate([part.ply for part in parts]))


def steps(env: Env[Any], player: Agent, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yields the boards of BOARDS games between copies of an agent, and those after the next step, without end.

    They are on the host. Games that are over restart.
    """
    key, start_key = jax.random.split(jax.random.key(seed))
    states = jax.jit(jax.vmap(env.init))(jax.random.split(start_key, BOARDS))
    while True:
        here = jax.device_get(states)
        key, act_key, step_key = jax.random.split(key, 3)
        states, after = _next(env, states, act_compiled(player, act_key, states), step_key)
        yield here, jax.device_get(after)


@functools.partial(jax.jit, static_argnums=0)
def _next(env: Env[Any], states: Any, actions: jax.Array, key: jax.Array) -> tuple[Any, Any]:
    """Returns the next boards, with new ones for those that are over, and the boards after the actions."""

    def play(state: Any, action: jax.Array, key: jax.Array) -> tuple[Any, Any]:
        step_key, init_key = jax.random.split(key)
        after = env.step(state, action, step_key)
        over = after.terminated | after.truncated
        return jax.tree.map(lambda new, old: jnp.where(over, new, old), env.init(init_key), after), after

    return jax.vmap(play)(states, actions, jax.random.split(key, BOARDS))
