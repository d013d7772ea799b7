"""Whole games between agents, all boards at once.

    agents = (agent, RandomAgent(env))
    agent_of_seat = one_seat(seat_key, num_games, env.num_players)  # int32[games, num_players], indices into agents
    games = play(env, agents, agent_of_seat, key)
    summary(env, games, agent_of_seat)                              # of agents[0]: win_rate, mean_turns, ...

`play` runs on the host and can show its progress. `advance`, `advance_until_over`, `record`, `evaluate` and `summary`
are pure functions that can be traced. A training loop can call `evaluate` inside its own program.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.agents import Agent
from jaxgames.env import Env, State

STEPS_PER_SLICE = 100  # steps of `play` between two reports of its progress


class Games(NamedTuple):
    """Games in progress or finished; leaves have a leading axis of games."""

    boards: State
    returns: jax.Array  # float32[games, num_players], sum of the rewards so far
    turns: jax.Array  # int32[games, num_players], turns that a seat has begun; its consecutive steps are one turn
    length: jax.Array  # int32[games], steps
    last_mover: jax.Array  # int32[games], -1 at the start
    forfeited: jax.Array  # bool[games], an illegal action ended the game

    @property
    def over(self) -> jax.Array:
        """bool[games], whether the game has ended."""
        return self.boards.terminated | self.boards.truncated


# -- playing -------------------------------------------------------------------------------------------------------


@functools.partial(jax.jit, static_argnames=("env", "num_games"))
def start(env: Env[Any], key: jax.Array, num_games: int) -> Games:
    """Returns games before the first step."""
    seats = (num_games, env.num_players)
    return Games(
        boards=jax.vmap(env.init)(jax.random.split(key, num_games)),
        returns=jnp.zeros(seats, jnp.float32),
        turns=jnp.zeros(seats, jnp.int32),
        length=jnp.zeros(num_games, jnp.int32),
        last_mover=jnp.full(num_games, -1, jnp.int32),
        forfeited=jnp.zeros(num_games, jnp.bool_),
    )


def advance(
    env: Env[Any], agents: Sequence[Agent], agent_of_seat: jax.Array, games: Games, key: jax.Array
) -> tuple[Games, jax.Array]:
    """Returns the games after one step of every game that is not over, and the actions of the step.

    Every agent chooses an action for every board. Each board takes the action of the agent on the mover's seat.

    Args:
      agents: the players.
      agent_of_seat: int32[games, num_players], index into `agents`.

    Returns:
      The games after the step, and the actions int32[games].
    """
    boards = games.boards
    last_key, step_key, *other_keys = jax.random.split(key, 1 + len(agents))  # this order fixes the games of a seed
    acting_agent = jnp.take_along_axis(agent_of_seat, boards.current_player[:, None], axis=1)[:, 0]
    action = agents[-1].act(last_key, boards)
    for number, (agent, agent_key) in enumerate(zip(agents[:-1], other_keys, strict=True)):
        action = jnp.where(acting_agent == number, agent.act(agent_key, boards), action)
    return _after(env, games, action, step_key), action


@functools.partial(jax.jit, static_argnames="env")
def _after(env: Env[Any], games: Games, action: jax.Array, key: jax.Array) -> Games:
    """Returns the games after `action` (int32[games]) is played."""
    mover = games.boards.current_player
    legal = (jax.vmap(env.legal_action_mask)(games.boards) & (jnp.arange(env.num_actions) == action[:, None])).any(-1)
    boards = jax.vmap(env.step)(games.boards, action, jax.random.split(key, action.size))
    live = ~games.over
    begins_turn = live & (mover != games.last_mover)
    is_mover = jnp.arange(env.num_players) == mover[:, None]
    return Games(
        boards=boards,
        returns=games.returns + boards.rewards,  # a finished board pays zero
        turns=games.turns + (is_mover & begins_turn[:, None]),
        length=games.length + live,
        last_mover=jnp.where(live, mover, games.last_mover),
        forfeited=games.forfeited | (live & ~legal),
    )


def advance_until_over(
    env: Env[Any],
    agents: Sequence[Agent],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    *,
    max_steps: int | None = None,
) -> Games:
    """Returns the games after repeated `advance`: until every game is over, at most `max_steps` times.

    Agents must be on the device.
    """

    def unfinished(carry: tuple[Games, jax.Array, jax.Array]) -> jax.Array:
        games, _, step = carry
        return ~games.over.all() & (max_steps is None or step < max_steps)

    def body(carry: tuple[Games, jax.Array, jax.Array]) -> tuple[Games, jax.Array, jax.Array]:
        games, key, step = carry
        key, subkey = jax.random.split(key)
        games, _ = advance(env, agents, agent_of_seat, games, subkey)
        return games, key, step + 1

    return jax.lax.while_loop(unfinished, body, (games, key, jnp.int32(0)))[0]


def play(
    env: Env[Any],
    agents: Sequence[Agent],
    agent_of_seat: jax.Array,
    key: jax.Array,
    *,
    on_finished: Callable[[int], object] | None = None,
) -> Games:
    """Returns whole games. Call it on the host, outside of `jit`.

    If all agents are on the device, the games are played in parts of `STEPS_PER_SLICE` steps. Each part is one call of
    a compiled loop. Otherwise the agents are called at every step.

    Args:
      agents: the players; two calls whose agents differ only in their arrays share one compiled program.
      agent_of_seat: int32[games, num_players], index into `agents`.
      on_finished: called after every slice or step with the number of games that ended in it; `update` of a tqdm bar,
        for example.

    Raises ValueError if `agent_of_seat` has another shape, or an entry that is not an index.
    """
    _check_seats(env, len(agents), np.asarray(agent_of_seat))
    start_key, key = jax.random.split(key)
    num_games = agent_of_seat.shape[0]
    games = start(env, start_key, num_games)
    proceed = _slice if all(agent.on_device for agent in agents) else _single_step
    num_over = 0
    while num_over < num_games:
        key, subkey = jax.random.split(key)
        games = proceed(env, tuple(agents), agent_of_seat, games, subkey)
        before, num_over = num_over, int(games.over.sum())
        if on_finished is not None:
            on_finished(num_over - before)
    return games


def _check_seats(env: Env[Any], num_agents: int, agent_of_seat: np.ndarray) -> None:
    """Raises ValueError unless `agent_of_seat` is [games, num_players] and holds indices of agents."""
    if agent_of_seat.ndim != 2 or agent_of_seat.shape[1] != env.num_players:
        raise ValueError(f"agent_of_seat must have shape [games, {env.num_players}], not {list(agent_of_seat.shape)}")
    if agent_of_seat.size and not (agent_of_seat.min() >= 0 and agent_of_seat.max() < num_agents):
        raise ValueError(
            f"agent_of_seat must hold indices of the {num_agents} agents, not {agent_of_seat.min()} to "
            f"{agent_of_seat.max()}"
        )


@functools.partial(jax.jit, static_argnames="env")
def _slice(env: Env[Any], agents: tuple[Agent, ...], agent_of_seat: jax.Array, games: Games, key: jax.Array) -> Games:
    """Returns the games after at most `STEPS_PER_SLICE` steps, by agents on the device."""
    return advance_until_over(env, agents, agent_of_seat, games, key, max_steps=STEPS_PER_SLICE)


def _single_step(
    env: Env[Any], agents: tuple[Agent, ...], agent_of_seat: jax.Array, games: Games, key: jax.Array
) -> Games:
    """Returns the games after one step, by any agents."""
    return advance(env, agents, agent_of_seat, games, key)[0]


def record(
    env: Env[Any],
    agents: Sequence[Agent],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    num_steps: int,
) -> tuple[Games, State, jax.Array]:
    """Returns the games after `num_steps` steps, and the steps. Agents must be on the device.

    Returns:
      The games after the steps; the boards before each step, leaves [num_steps, games, ...]; and the actions,
      int32[num_steps, games].
    """

    def body(games: Games, key: jax.Array) -> tuple[Games, tuple[State, jax.Array]]:
        after, action = advance(env, agents, agent_of_seat, games, key)
        return after, (games.boards, action)

    games, (boards, actions) = jax.lax.scan(body, games, jax.random.split(key, num_steps))
    return games, boards, actions


def evaluate(
    env: Env[Any], agent: Agent, opponent: Agent, key: jax.Array, num_games: int, *, seat: int | None = None
) -> dict[str, jax.Array]:
    """Returns the `summary` of whole games of `agent` on one seat and `opponent` on all others.

    It is one traced program, for agents on the device. Call it under `jit`, or inside a training step.

    Args:
      seat: the agent's seat; drawn for each game if None.
    """
    seat_key, start_key, play_key = jax.random.split(key, 3)
    agent_of_seat = one_seat(seat_key, num_games, env.num_players, seat)
    games = start(env, start_key, num_games)
    games = advance_until_over(env, (agent, opponent), agent_of_seat, games, play_key)
    return summary(env, games, agent_of_seat)


# -- seats ---------------------------------------------------------------------------------------------------------


@functools.partial(jax.jit, static_argnames=("num_games", "num_players", "seat"))
def one_seat(key: jax.Array, num_games: int, num_players: int, seat: int | None = None) -> jax.Array:
    """Returns int32[games, num_players], the agents of the seats: 0 on `seat`, 1 on all others.

    With None, the seat of agent 0 is drawn for each game.

    Raises ValueError for a seat that the game does not have.
    """
    if seat is not None and not 0 <= seat < num_players:
        raise ValueError(f"seat must be from 0 to {num_players - 1}, not {seat}")
    seat_of_0 = jax.random.randint(key, (num_games,), 0, num_players) if seat is None else jnp.full(num_games, seat)
    return jnp.where(jnp.arange(num_players) == seat_of_0[:, None], 0, 1)


@functools.partial(jax.jit, static_argnames=("num_games", "num_players", "num_agents", "seats_each"))
def equal_shares(key: jax.Array, num_games: int, num_players: int, num_agents: int, seats_each: int) -> jax.Array:
    """Returns int32[games, num_players], agents 0 to num_agents - 1 on `seats_each` seats each, shuffled in every game.

    The remaining seats get agent `num_agents`.
    """
    agents = jnp.minimum(jnp.arange(num_players) // seats_each, num_agents)
    return jax.vmap(lambda key: jax.random.permutation(key, agents))(jax.random.split(key, num_games))


# -- results -------------------------------------------------------------------------------------------------------


def winners(env: Env[Any], games: Games) -> jax.Array:
    """Returns bool[games, num_players], the seats that won by the rules."""
    return jax.vmap(env.winners)(games.boards)


def drawn(env: Env[Any], games: Games) -> jax.Array:
    """Returns bool[games], whether the rules ended the game without a winner. A forfeited game is not drawn."""
    return games.boards.terminated & ~winners(env, games).any(-1) & ~games.forfeited


def summary(env: Env[Any], games: Games, agent_of_seat: jax.Array, number: int = 0) -> dict[str, jax.Array]:
    """Returns the results of one agent over all its seats, float32[] each, NaN where there is nothing to average.

        win_rate        games that one of its seats won, divided by all games
        draw_rate       games that the rules ended without a winner, divided by all games
        truncated_rate  games that a limit ended, divided by all games
        mean_turns      mean turns of the winning seat, the last one included, in the games that the agent won
        mean_reward     mean return of its seats in all games

    Args:
      agent_of_seat: int32[games, num_players].
      number: the agent's index in `agent_of_seat`.
    """
    names = ("win_rate", "draw_rate", "truncated_rate", "mean_turns", "mean_reward")
    return dict(zip(names, _summary(env, games, agent_of_seat, number), strict=True))  # in this order


@functools.partial(jax.jit, static_argnames="env")
def _summary(env: Env[Any], games: Games, agent_of_seat: jax.Array, number: int) -> tuple[jax.Array, ...]:
    on_seat = agent_of_seat == number  # bool[games, num_players]
    won = winners(env, games) & on_seat
    return (
        won.any(-1).mean(dtype=jnp.float32),
        drawn(env, games).mean(dtype=jnp.float32),
        games.boards.truncated.mean(dtype=jnp.float32),
        (games.turns * won).sum() / won.sum(dtype=jnp.float32),
        (games.returns * on_seat).sum() / on_seat.sum(dtype=jnp.float32),
    )
