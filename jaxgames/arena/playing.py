"""Whole games on the host: all boards at once by agents on the device, one by one with an agent on the host."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.agents import Agent
from jaxgames.arena.games import Games, advance_until_over, advance_with_actions, after_action, start
from jaxgames.arena.openings import Openings
from jaxgames.env import Env, State

STEPS_PER_SLICE = 100  # steps of `play` between two reports of its progress


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
    call of a compiled loop. Otherwise each game is played to its end before the next one. An agent is then called only
    at its own turns, with one board. This board has a leading axis of 1.

    Args:
      agents: the players; two calls whose agents differ only in their arrays share one compiled program.
      agent_of_seat: int32[games, num_players], index into `agents`.
      openings: one for every game, from `Openings.for_games`. Turns, steps and returns are counted after it.
      on_finished: called after every part or game with the number of games that ended in it; `update` of a tqdm bar,
        for example.
      on_recorded: called with games that are over and their actions. It is called once at the end, or after every game
        if the games are played one by one.

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
    play_all = _play_at_once if all(agent.on_device for agent in agents) else _play_one_by_one
    return play_all(env, tuple(agents), agent_of_seat, games, key, on_finished or _ignore, on_recorded)


def _ignore(num_finished: int) -> None:
    """The `on_finished` of a call without one."""


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
    while num_over < num_games:
        key, subkey = jax.random.split(key)
        if on_recorded is None:
            games = _slice(env, agents, agent_of_seat, games, subkey)
        else:
            games, actions = _slice_with_actions(env, agents, agent_of_seat, games, subkey)
            slices.append(np.asarray(actions))
        before, num_over = num_over, int(games.over.sum())
        on_finished(num_over - before)
    if on_recorded is not None and num_games:  # all games began with the first slice
        on_recorded(Recorded(np.arange(num_games), jax.device_get(games), np.concatenate(slices).T))
    return games


@functools.partial(jax.jit, static_argnames="env")
def _slice(env: Env[Any], agents: tuple[Agent, ...], agent_of_seat: jax.Array, games: Games, key: jax.Array) -> Games:
    """Returns the games after at most `STEPS_PER_SLICE` steps, by agents on the device."""
    return advance_until_over(env, agents, agent_of_seat, games, key, max_steps=STEPS_PER_SLICE)


@functools.partial(jax.jit, static_argnames="env")
def _slice_with_actions(
    env: Env[Any], agents: tuple[Agent, ...], agent_of_seat: jax.Array, games: Games, key: jax.Array
) -> tuple[Games, jax.Array]:
    """Returns the games of `_slice`, and the actions int32[STEPS_PER_SLICE, games]."""
    return advance_with_actions(env, agents, agent_of_seat, games, key, max_steps=STEPS_PER_SLICE)


# -- one by one ----------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    """One game before a step; all that the next step needs comes from one compiled call."""

    game: Games  # leaves have a leading axis of 1
    mover: jax.Array  # int32[], the seat to move; -1 if the game is over
    key: jax.Array  # of the steps after the next one
    act_key: jax.Array
    step_key: jax.Array


def _play_one_by_one(
    env: Env[Any],
    agents: tuple[Agent, ...],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    on_finished: Callable[[int], object],
    on_recorded: Callable[[Recorded], object] | None,
) -> Games:
    """Returns the games when all are over, each played to its end before the next one; see `play`."""
    seats = np.asarray(agent_of_seat)
    games = jax.tree.map(jnp.copy, games)  # `_with_game_at` reuses their memory, which may be that of the openings
    for number in range(len(seats)):
        turn, actions = _first_turn(games, key, number), list[int]()
        while (mover := int(turn.mover)) >= 0:
            action = act_on_one_board(agents[seats[number, mover]], turn.act_key, turn.game.boards)
            actions.append(int(action[0]))
            turn = _next_turn(env, turn, action)
        games = _with_game_at(games, turn.game, number)
        if on_recorded is not None:
            on_recorded(Recorded(np.array([number]), jax.device_get(turn.game), np.array([actions], np.int32)))
        on_finished(1)
    return games


def act_on_one_board(agent: Agent, key: jax.Array, boards: State) -> np.ndarray:
    """Returns the action of any agent on one board, int32[1]; `boards` has a leading axis of 1.

    Raises ValueError if the agent does not return one integer.
    """
    action = np.asarray(_act_on_device(agent, key, boards) if agent.on_device else agent.act(key, boards))
    if action.shape != (1,) or not np.issubdtype(action.dtype, np.integer):
        raise ValueError(
            f"{type(agent).__name__}.act must return one integer per board, int32[1] for one board, "
            f"not {action.dtype}{list(action.shape)}"
        )
    return action.astype(np.int32)


@jax.jit
def _act_on_device(agent: Agent, key: jax.Array, boards: State) -> jax.Array:
    return agent.act(key, boards)


@jax.jit
def _first_turn(games: Games, key: jax.Array, number: int) -> _Turn:
    """Returns one of the games before its first step."""
    game = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, number, 1), games)
    return _turn(game, jax.random.fold_in(key, number))


@functools.partial(jax.jit, static_argnames="env")
def _next_turn(env: Env[Any], turn: _Turn, action: jax.Array) -> _Turn:
    """Returns the game after `action` (int32[1])."""
    return _turn(after_action(env, turn.game, action, turn.step_key), turn.key)


def _turn(game: Games, key: jax.Array) -> _Turn:
    key, act_key, step_key = jax.random.split(key, 3)
    return _Turn(game, jnp.where(game.over[0], -1, game.boards.current_player[0]), key, act_key, step_key)


@functools.partial(jax.jit, donate_argnames="games")
def _with_game_at(games: Games, game: Games, number: int) -> Games:
    """Returns the games with one of them replaced. It reuses the memory of `games`."""
    return jax.tree.map(lambda leaf, of_game: leaf.at[number].set(of_game[0]), games, game)
