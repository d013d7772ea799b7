"""Whole games on the host: all at once by agents on the device, one by one by agents on the host, else side by side."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent, act_compiled, act_on_one_board
from jaxgames.arena.games import Games, advance_and_record, after_action, start
from jaxgames.arena.openings import Openings, rows_of
from jaxgames.env import Env, State

STEPS_PER_SLICE = 100  # steps of `play` between two reports of its progress
SIDE_BY_SIDE = 32  # games that are played at the same time, with agents on the device and on the host


class Recorded(NamedTuple):
    """Games that are over, and their actions, on the host."""

    numbers: np.ndarray  # int[n], the places of these games among the games of one call of `play`
    games: Games  # leaves are numpy arrays with a leading axis of n
    actions: np.ndarray  # int32[n, steps], actions of the agents; those of game i are actions[i, : games.length[i]]


def play(
    env: Env[Any],
    agents: Sequence[Agent],
    agent_of_seat: jax.Array,
    key: jax.Array,
    *,
    openings: Openings | None = None,
    on_finished: Callable[[int], object] | None = None,
    on_recorded: Callable[[Recorded], object] | None = None,
) -> Games:
    """Returns whole games. Call it on the host, outside of `jit`.

    If all agents are on the device, all games are played at once, in parts of `STEPS_PER_SLICE` steps. Each part is one
    call of a compiled loop. If all are on the host, each game is played to its end before the next one. With agents on
    both, `SIDE_BY_SIDE` games are played at the same time; when all of them are over, the next ones start. An agent on
    the host is called only at its own turns, with one board. This board has a leading axis of 1.

    Args:
      agents: the players; two calls whose agents differ only in their arrays share one compiled program.
      agent_of_seat: int32[games, num_players], index into `agents`.
      openings: one for every game, from `Openings.for_games`. Turns, steps and returns are counted after it.
      on_finished: called after every part with the number of games that ended in it, or, with an agent on the host,
        after every step; `update` of a tqdm bar, for example.
      on_recorded: called with games that are over and their actions. It is called once at the end, or, with an agent
        on the host, for every game of the `SIDE_BY_SIDE` that are over.
    """
    _check_seats(env, len(agents), np.asarray(agent_of_seat))
    start_key, key = jax.random.split(key)
    num_games = agent_of_seat.shape[0]
    games = start(env, start_key, num_games)
    if openings is not None:
        if openings.number.size != num_games:
            raise ParameterError(
                f"expected one opening per game, {num_games}, not {openings.number.size}: "
                f"pass openings.for_games({num_games})"
            )
        games = games._replace(boards=openings.boards)
    play_all = _play_at_once if all(agent.on_device for agent in agents) else _play_in_chunks
    report = on_finished or (lambda num_finished: None)
    return play_all(env, tuple(agents), agent_of_seat, games, key, report, on_recorded)


def _check_seats(env: Env[Any], num_agents: int, agent_of_seat: np.ndarray) -> None:
    """Raises ValueError unless `agent_of_seat` is [games, num_players] and holds indices of agents."""
    if agent_of_seat.ndim != 2 or agent_of_seat.shape[1] != env.num_players:
        raise ParameterError(
            f"agent_of_seat must have shape [games, {env.num_players}], not {list(agent_of_seat.shape)}"
        )
    if agent_of_seat.size and not (agent_of_seat.min() >= 0 and agent_of_seat.max() < num_agents):
        raise ParameterError(
            f"agent_of_seat must hold indices of the {num_agents} agents, not {agent_of_seat.min()} to "
            f"{agent_of_seat.max()}"
        )


def _play_at_once(
    env: Env[Any],
    agents: tuple[Agent, ...],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    on_finished: Callable[[int], object],
    on_recorded: Callable[[Recorded], object] | None,
) -> Games:
    """Returns the games when all are over, by agents on the device; see `play`."""
    num_games, num_over = agent_of_seat.shape[0], 0
    slices: list[np.ndarray] = []  # int32[STEPS_PER_SLICE, games] each
    while num_over < num_games:
        key, subkey = jax.random.split(key)
        actions = None if on_recorded is None else jnp.zeros((STEPS_PER_SLICE, num_games), jnp.int32)
        games, actions = _advance(env, agents, agent_of_seat, games, subkey, actions, max_steps=STEPS_PER_SLICE)
        if actions is not None:
            slices.append(np.asarray(actions))
        before, num_over = num_over, int(games.over.sum())
        on_finished(num_over - before)
    if on_recorded is not None and num_games:  # all games began with the first slice
        on_recorded(Recorded(np.arange(num_games), jax.device_get(games), np.concatenate(slices).T))
    return games


_advance = functools.partial(jax.jit, static_argnames=("env", "max_steps"))(advance_and_record)


# -- with agents on the host ---------------------------------------------------------------------------------------


def _play_in_chunks(
    env: Env[Any],
    agents: tuple[Agent, ...],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    on_finished: Callable[[int], object],
    on_recorded: Callable[[Recorded], object] | None,
) -> Games:
    """Returns the games when all are over, played in chunks of at most `SIDE_BY_SIDE`, or one by one; see `play`."""
    seats = np.asarray(agent_of_seat)
    size = min(len(seats), SIDE_BY_SIDE) if any(agent.on_device for agent in agents) else 1
    for begin in range(0, len(seats), max(size, 1)):
        numbers = np.arange(begin, begin + size)
        exists = numbers < len(seats)  # the last chunk is filled up, so that one compiled program plays all chunks
        places = np.where(exists, numbers, begin)
        chunk_key, chunk = jax.random.fold_in(key, begin), rows_of(games, places)
        played, actions = _play_chunk(env, agents, seats[places], chunk, exists, chunk_key, on_finished)
        games = _with_rows(games, numbers, played)
        if on_recorded is not None:
            for place in np.flatnonzero(exists).tolist():
                game = jax.device_get(rows_of(played, np.array([place])))
                on_recorded(Recorded(numbers[[place]], game, np.array([actions[place]], np.int32)))
    return games


def _play_chunk(
    env: Env[Any],
    agents: tuple[Agent, ...],
    seats: np.ndarray,
    games: Games,
    exists: np.ndarray,
    key: jax.Array,
    on_finished: Callable[[int], object],
) -> tuple[Games, list[list[int]]]:
    """Returns the games when those that exist (bool[games]) are over, and the actions of each; `seats` as in `play`.

    In a step either agents on the host move, or, when no game waits for one, agents on the device.
    """
    actions = [list[int]() for _ in exists]
    on_host = np.array([not agent.on_device for agent in agents])
    live = exists
    while True:
        before, live = live, exists & ~np.asarray(games.over)
        on_finished(int(before.sum() - live.sum()))
        if not live.any():
            return games, actions
        acting = np.take_along_axis(seats, np.asarray(games.boards.current_player)[:, None], 1)[:, 0]
        waits = live & on_host[acting]
        moves = waits if waits.any() else live
        key, act_key, step_key = jax.random.split(key, 3)
        chosen = _actions(agents, np.where(moves, acting, -1), games.boards, act_key)
        for place in np.flatnonzero(moves).tolist():
            actions[place].append(int(chosen[place]))
        games = _stepped(env, games, chosen, moves, step_key)


def _actions(agents: tuple[Agent, ...], acting: np.ndarray, boards: State, key: jax.Array) -> np.ndarray:
    """Returns int32[games], the actions of the agents `acting` (int[games], -1 where none acts)."""
    actions = np.zeros(acting.size, np.int32)
    for number in np.unique(acting[acting >= 0]).tolist():
        agent, places = agents[number], np.flatnonzero(acting == number)
        agent_key = jax.random.fold_in(key, number)
        if agent.on_device:
            actions[places] = np.asarray(act_compiled(agent, agent_key, boards))[places]
        else:
            for place in places.tolist():
                board, board_key = rows_of(boards, np.array([place])), jax.random.fold_in(agent_key, place)
                (actions[place],) = act_on_one_board(agent, board_key, board)
    return actions


@functools.partial(jax.jit, static_argnames="env")
def _stepped(env: Env[Any], games: Games, actions: jax.Array, moves: jax.Array, key: jax.Array) -> Games:
    """Returns the games after `actions` (int32[games]) in those where `moves` (bool[games]) is True."""
    after = after_action(env, games, actions, key)
    return jax.tree.map(lambda new, old: jax.vmap(jnp.where)(moves, new, old), after, games)


@jax.jit
def _with_rows(leaves: Any, numbers: jax.Array, new: Any) -> Any:
    """Returns the leaves with the new rows; those beyond the last row are dropped."""
    return jax.tree.map(lambda leaf, rows: leaf.at[numbers].set(rows, mode="drop"), leaves, new)
