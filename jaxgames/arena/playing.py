"""Whole games on the host: all at once by agents on the device, one by one by agents on the host, else side by side."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.agents import Agent, act_on_one_board
from jaxgames.arena.games import (
    Games,
    Memories,
    act_and_remember,
    advance_and_record,
    after_action,
    init_memories,
    start,
)
from jaxgames.arena.openings import Openings
from jaxgames.env import Env

STEPS_PER_SLICE = 100  # steps of `play` between two reports of its progress
SIDE_BY_SIDE = 32  # games in progress at the same time, with agents on the device and on the host


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
    both, `SIDE_BY_SIDE` games are in progress at the same time. When one of them ends, the next one takes its place. An
    agent on the host is called only at its own turns, with one board. This board has a leading axis of 1.

    Args:
      agents: the players; two calls whose agents differ only in their arrays share one compiled program.
      agent_of_seat: int32[games, num_players], index into `agents`.
      openings: one for every game, from `Openings.for_games`. Turns, steps and returns are counted after it.
      on_finished: called after every part or game with the number of games that ended in it; `update` of a tqdm bar,
        for example.
      on_recorded: called with games that are over and their actions. It is called once at the end, or, with an agent
        on the host, after every game.

    Raises:
      ValueError: `agent_of_seat` or `openings` have another shape, an entry is not an index, or an agent on the host
        does not return one action.
    """
    _check_seats(env, len(agents), np.asarray(agent_of_seat))
    start_key, key = jax.random.split(key)
    num_games = agent_of_seat.shape[0]
    games = start(env, start_key, num_games)
    if openings is not None:
        if openings.number.size != num_games:
            raise ValueError(
                f"expected one opening per game, {num_games}, not {openings.number.size}: "
                f"pass openings.for_games({num_games})"
            )
        games = games._replace(boards=openings.boards)
    play_all = _play_at_once if all(agent.on_device for agent in agents) else _play_side_by_side
    report = on_finished or (lambda num_finished: None)
    return play_all(env, tuple(agents), agent_of_seat, games, key, report, on_recorded)


def _check_seats(env: Env[Any], num_agents: int, agent_of_seat: np.ndarray) -> None:
    """Raises ValueError unless `agent_of_seat` is [games, num_players] and holds indices of agents."""
    if agent_of_seat.ndim != 2 or agent_of_seat.shape[1] != env.num_players:
        raise ValueError(f"agent_of_seat must have shape [games, {env.num_players}], not {list(agent_of_seat.shape)}")
    if agent_of_seat.size and not (agent_of_seat.min() >= 0 and agent_of_seat.max() < num_agents):
        raise ValueError(
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
    memories = init_memories(agents, num_games)
    while num_over < num_games:
        key, subkey = jax.random.split(key)
        games, memories, actions = _slice(env, agents, agent_of_seat, games, memories, subkey, on_recorded is not None)
        if actions is not None:
            slices.append(np.asarray(actions))
        before, num_over = num_over, int(games.over.sum())
        on_finished(num_over - before)
    if on_recorded is not None and num_games:  # all games began with the first slice
        on_recorded(Recorded(np.arange(num_games), jax.device_get(games), np.concatenate(slices).T))
    return games


@functools.partial(jax.jit, static_argnames=("env", "records"), donate_argnames="memories")
def _slice(
    env: Env[Any],
    agents: tuple[Agent, ...],
    agent_of_seat: jax.Array,
    games: Games,
    memories: Memories,
    key: jax.Array,
    records: bool,
) -> tuple[Games, Memories, jax.Array | None]:
    """Returns the games and memories after at most `STEPS_PER_SLICE` steps, and the actions of these steps, or None.

    The actions are int32[STEPS_PER_SLICE, games]. It reuses the memory of `memories`.
    """
    actions = jnp.zeros((STEPS_PER_SLICE, agent_of_seat.shape[0]), jnp.int32) if records else None
    return advance_and_record(env, agents, agent_of_seat, games, memories, key, actions, STEPS_PER_SLICE)


# -- side by side --------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """Games that are played side by side, before a step; all that the step needs comes from one compiled call."""

    games: Games  # leaves have a leading axis of places; a place without a game has a finished board
    movers: jax.Array  # int32[places], the seats to move; -1 where the game is over
    key: jax.Array  # of the steps after this one
    act_key: jax.Array
    step_key: jax.Array


def _play_side_by_side(
    env: Env[Any],
    agents: tuple[Agent, ...],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    on_finished: Callable[[int], object],
    on_recorded: Callable[[Recorded], object] | None,
) -> Games:
    """Returns the games when all are over, one by one or side by side; see `play`."""
    seats = np.asarray(agent_of_seat)
    if not len(seats):
        return games
    games = _copied(games)  # `_exchange` reuses their memory, which may be that of the openings
    num_places = 1
    if any(agent.on_device for agent in agents):
        num_places = min(SIDE_BY_SIDE, 1 << (len(seats) - 1).bit_length())  # a power of 2, so that few are compiled
    in_progress = np.arange(num_places) < len(seats)
    numbers = np.where(in_progress, np.arange(num_places), 0)  # the game in each place
    following = iter(range(num_places, len(seats)))
    on_host = [number for number, agent in enumerate(agents) if not agent.on_device]
    memories, empty = list(init_memories(agents, num_places)), list(init_memories(agents, 1))
    step = _first_step(games, key, numbers, in_progress)
    actions = [list[int]() for _ in numbers]
    while in_progress.any():
        movers = np.asarray(step.movers)
        for place in np.flatnonzero(in_progress & (movers < 0)).tolist():
            number = int(numbers[place])
            if on_recorded is not None:
                game = jax.device_get(_one_board(step.games, place))
                on_recorded(Recorded(np.array([number]), game, np.array([actions[place]], np.int32)))
            on_finished(1)
            new = next(following, None)
            in_progress[place] = new is not None
            numbers[place], actions[place] = number if new is None else new, []
            games, step = _exchange(games, step, place, number, numbers[place])
            memories = _emptied(memories, place, empty)
        live = in_progress & (np.asarray(step.movers) >= 0)
        if live.any():
            acting = np.where(live, seats[numbers, np.asarray(step.movers)], -1)
            if (waiting := live & np.isin(acting, on_host)).any():
                acting = np.where(waiting, acting, -1)  # agents on the device move when all games wait for them
            chosen = _actions(agents, acting, step, memories)
            for place in np.flatnonzero(acting >= 0).tolist():
                actions[place].append(int(chosen[place]))
            step = _next_step(env, step, chosen, acting >= 0)
    return games


def _actions(agents: tuple[Agent, ...], acting: np.ndarray, step: _Step, memories: list[Any]) -> np.ndarray:
    """Returns int32[places], the actions of the agents `acting` (int[places], -1 where none acts).

    It replaces the memories of these agents.
    """
    actions = np.zeros(acting.size, np.int32)
    for number in np.unique(acting[acting >= 0]).tolist():
        agent, places = agents[number], np.flatnonzero(acting == number)
        key = jax.random.fold_in(step.act_key, number)
        if agent.on_device:
            chosen, memories[number] = _act(agent, key, step.games.boards, memories[number], acting == number)
            actions[places] = chosen[places]
        else:
            for place in places.tolist():
                boards = _one_board(step.games.boards, place)
                (actions[place],) = act_on_one_board(agent, jax.random.fold_in(key, place), boards)
    return actions


_act = jax.jit(act_and_remember, donate_argnames="memory")


@jax.jit
def _copied(games: Games) -> Games:
    return jax.tree.map(jnp.copy, games)


@functools.partial(jax.jit, donate_argnames="memories")
def _emptied(memories: list[Any], place: int, empty: list[Any]) -> list[Any]:
    """Returns the memories before the game in a place; `empty` are those before one game."""
    return jax.tree.map(lambda leaf, new: leaf.at[place].set(new[0]), memories, empty)


@jax.jit
def _one_board(leaves: Any, place: int) -> Any:
    """Returns the leaves of one place, with a leading axis of 1."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, place, 1), leaves)


@jax.jit
def _first_step(games: Games, key: jax.Array, numbers: jax.Array, in_progress: jax.Array) -> _Step:
    """Returns the first step of the games with these numbers; the others are finished boards."""
    games = jax.tree.map(lambda leaf: leaf[numbers], games)
    boards = dataclasses.replace(games.boards, terminated=games.boards.terminated | ~in_progress)
    return _step(games._replace(boards=boards), key)


@functools.partial(jax.jit, static_argnames="env")
def _next_step(env: Env[Any], step: _Step, actions: jax.Array, moves: jax.Array) -> _Step:
    """Returns the step after `actions` (int32[places]) in the places where `moves` (bool[places]) is True."""
    after = after_action(env, step.games, actions, step.step_key)
    kept = jax.tree.map(lambda new, old: jax.vmap(jnp.where)(moves, new, old), after, step.games)
    return _step(kept, step.key)


def _step(games: Games, key: jax.Array) -> _Step:
    key, act_key, step_key = jax.random.split(key, 3)
    return _Step(games, _movers(games), key, act_key, step_key)


def _movers(games: Games) -> jax.Array:
    return jnp.where(games.over, -1, games.boards.current_player)


@functools.partial(jax.jit, donate_argnames="games")
def _exchange(games: Games, step: _Step, place: int, number: int, new: int) -> tuple[Games, _Step]:
    """Returns the games with the one in `place` stored under its number, and the step with game `new` in its place.

    It reuses the memory of `games`.
    """
    games = jax.tree.map(lambda leaf, played: leaf.at[number].set(played[place]), games, step.games)
    in_places = jax.tree.map(lambda leaf, played: played.at[place].set(leaf[new]), games, step.games)
    return games, step._replace(games=in_places, movers=_movers(in_places))
