"""Positions of played games that an agent labels: with its probabilities and values, or with its action. The results of
the games can be the labels, too.

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
MAX_CUT_OFF = 1000  # games that a limit cuts off, one after the other, after which no more are played
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
    for boards, step in _steps(env, player, seed):
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


def positions_with_results(
    env: Env[Any],
    player: Agent,
    count: int,
    per_game: int,
    seed: int,
    train: int,
    on_found: Callable[[int], object] = lambda _: None,
) -> Positions:
    """Returns positions of games between copies of an agent, labelled with the mover's return from there on.

    The splits are those of `labelled`. Actions are not labelled, and games that a limit cut off are left out.

    Args:
      player: plays all seats.
      count: the number of positions.
      per_game: positions that are drawn from each game; fewer if it has no more.
      on_found: is called with the number of positions that were found since the last call.

    Raises ValueError if a limit cuts off MAX_CUT_OFF games, and none between them ends by the rules.
    """
    generator = np.random.default_rng(seed)
    games: list[list[Any]] = [[] for _ in range(BOARDS)]  # the boards of each game that is being played
    paid: list[list[Any]] = [[] for _ in range(BOARDS)]  # what each step paid the seats, float32[num_players]
    kept, values, plies, found, cut_off = list[Any](), list[float](), list[int](), 0, 0
    for here, step in _steps(env, player, seed):
        for board in range(BOARDS):
            games[board].append(jax.tree.map(lambda leaf, board=board: leaf[board].copy(), here))  # no view of all
            paid[board].append(step.rewards[board].copy())
            if not (step.terminated[board] or step.truncated[board]):
                continue
            cut_off = 0 if step.terminated[board] else cut_off + 1
            if step.terminated[board]:
                returns = np.cumsum(paid[board][::-1], axis=0)[::-1]
                drawn = generator.permutation(len(returns))[: min(per_game, count - found)]
                kept += [games[board][ply] for ply in drawn]
                values += [float(returns[ply][games[board][ply].current_player]) for ply in drawn]
                plies += drawn.tolist()
                found += len(drawn)
                on_found(len(drawn))
            games[board], paid[board] = [], []
        if cut_off >= MAX_CUT_OFF:
            raise ValueError(
                f"none of the last {cut_off} games ended by the rules: choose another --play, or a longer limit"
            )
        if found >= count:
            break
    boards = jax.tree.map(lambda *leaves: np.stack(leaves), *kept)
    positions = _unlabelled(env, boards, np.array(plies))
    return _split(dataclasses.replace(positions, value=np.array(values, np.float32)), train)


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
    return _split(labels, train)


def _split(positions: Positions, train: int) -> Positions:
    """Returns the positions in the two splits by their hashes, with `train` percent in the first one."""
    return dataclasses.replace(positions, split=(keys(positions) % BUCKETS >= train).astype(np.int8), splits=SPLITS)


def _unlabelled(env: Env[Any], states: Any, plies: np.ndarray) -> Positions:
    unknown = np.full(len(plies), UNKNOWN, np.int32)
    value, split = np.full(len(plies), np.nan, np.float32), np.zeros(len(plies), np.int8)
    return Positions(env, states, unknown, value, None, unknown, plies, split, SPLITS)


def _joined(parts: Sequence[Positions]) -> Positions:
    states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(part.states for part in parts))
    return _unlabelled(parts[0].env, states, np.concatenate([part.ply for part in parts]))


def _steps(env: Env[Any], player: Agent, seed: int) -> Iterator[tuple[Any, Any]]:
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
