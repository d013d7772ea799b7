"""Positions of played games that an agent labels: with its probabilities and values, or with its action.

A solver's labels are a value table of the game, from which a network can be pretrained.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxgames import Env, auto_reset
from jaxgames._batches import in_chunks
from jaxgames._progress import Progress
from jaxgames.agents import Agent, act_compiled, analyse_compiled
from train.data.positions import Positions, keys

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
    between: tuple[int, int] | None = None,
) -> Positions:
    """Returns different positions of games between copies of an agent, without labels; all are in the first split.

    Args:
      player: plays all seats.
      count: the number of positions; fewer if the games show no more.
      between: the fewest and the most plies before a position; None: positions of the whole game.
    """
    first, last = between or (0, np.iinfo(np.int32).max)
    plies = np.zeros(BOARDS, np.int32)
    known: set[int] = set()
    parts: list[Positions] = []
    steps_without = 0
    with Progress(count, "positions", "playing") as bar:
        for boards, step in steps(env, player, seed):
            here = Positions(env, boards, ply=plies, splits=SPLITS)
            asked = np.flatnonzero((first <= plies) & (plies <= last))
            names = keys(here)[asked].tolist()
            new = [row for row, name in zip(asked, names, strict=True) if not (name in known or known.add(name))]
            new = new[: count - sum(map(len, parts))]
            parts.append(here.take(np.array(new, np.int64)))
            bar.update(len(new))
            steps_without = 0 if new else steps_without + 1
            plies = np.where(step.terminated | step.truncated, 0, plies + 1)
            if len(known) >= count or steps_without >= PATIENCE + first:
                break
    states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(part.states for part in parts))
    return Positions(env, states, ply=np.concatenate([part.ply for part in parts]), splits=SPLITS)


def labelled(
    positions: Positions,
    agent: Agent,
    train: int,
    only_values: bool = False,
) -> Positions:
    """Returns positions with an agent's labels, in two splits by the hash of the position.

    An agent that has `analyse` labels with its probabilities and, if it has them, its values; others with an action. If
    every position has one action with probability 1, the positions have these actions and no probabilities.

    Args:
      positions: boards of the agent's game.
      train: the share of the training set in percent.
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

    with Progress(len(positions), "positions", "labelling") as bar:
        action, policy, values = in_chunks(label, positions.states, CHUNK, fill=agent.on_device, on_done=bar.update)
    if policy is not None and (policy.max(axis=1) == 1).all():
        action, policy = policy.argmax(axis=1), None  # 4 bytes, not 4 for every action of the game
    mover = np.arange(len(positions)), positions.states.current_player
    value = None if values is None else values[mover]
    split = (keys(positions) % BUCKETS >= train).astype(np.int8)
    return dataclasses.replace(positions, action=action, value=value, probabilities=policy, split=split, splits=SPLITS)


def steps(env: Env[Any], player: Agent, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yields the boards of BOARDS games between copies of an agent, and those after the next step, without end.

    They are on the host. Games that are over restart.
    """
    key, start_key = jax.random.split(jax.random.key(seed))
    game = auto_reset(env, keep_before_reset=True)
    states, step = jax.jit(jax.vmap(game.init))(jax.random.split(start_key, BOARDS)), jax.jit(jax.vmap(game.step))
    while True:
        here = jax.device_get(states.board)
        key, act_key, step_key = jax.random.split(key, 3)
        states = step(states, act_compiled(player, act_key, states.board), jax.random.split(step_key, BOARDS))
        yield here, jax.device_get(states.before_reset)
