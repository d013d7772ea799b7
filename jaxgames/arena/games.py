"""Games in progress on many boards, and the functions that advance them. All of them can be traced."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent
from jaxgames.env import Env, State

Loop = tuple["Games", jax.Array, jax.Array, jax.Array | None]  # games, key, steps done, actions


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

    Every agent chooses an action for every board. Each board takes the action of the agent on the mover's seat, by
    `agent_of_seat` (int32[games, num_players], indices into `agents`). The actions are int32[games].
    """
    boards = games.boards
    for agent in agents:
        if not agent.on_device and isinstance(boards.current_player, Tracer):
            raise ParameterError(
                f"{agent} runs on the host, and these games are traced, which is for agents with on_device = True, "
                "such as 'random' or 'greedy': use jaxgames.arena.play, which takes any agent"
            )
    last_key, step_key, *other_keys = jax.random.split(key, 1 + len(agents))  # this order fixes the games of a seed
    acting_agent = jnp.take_along_axis(agent_of_seat, boards.current_player[:, None], axis=1)[:, 0]
    action = jnp.zeros_like(acting_agent)
    for number, (agent, agent_key) in enumerate(zip(agents, [*other_keys, last_key], strict=True)):
        action = jnp.where(acting_agent == number, agent.act(agent_key, boards), action)
    return after_action(env, games, action, step_key), action


@functools.partial(jax.jit, static_argnames="env")
def after_action(env: Env[Any], games: Games, action: jax.Array, key: jax.Array) -> Games:
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
    return advance_and_record(env, agents, agent_of_seat, games, key, None, max_steps)[0]


def advance_and_record(
    env: Env[Any],
    agents: Sequence[Agent],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    actions: jax.Array | None,
    max_steps: int | None,
) -> tuple[Games, jax.Array | None]:
    """Returns the games of `advance_until_over`, and the actions of its steps.

    Args:
      actions: int32[max_steps, games] that is filled, or None to record none. A game that has ended after n of these
        steps has its actions in the first n rows; its other rows have no meaning.
    """

    def unfinished(carry: Loop) -> jax.Array:
        games, _, step, _ = carry
        return ~games.over.all() & (max_steps is None or step < max_steps)

    def body(carry: Loop) -> Loop:
        games, key, step, actions = carry
        key, subkey = jax.random.split(key)
        games, action = advance(env, agents, agent_of_seat, games, subkey)
        return games, key, step + 1, None if actions is None else actions.at[step].set(action)

    games, _, _, actions = jax.lax.while_loop(unfinished, body, (games, key, jnp.int32(0), actions))
    return games, actions


def record(
    env: Env[Any],
    agents: Sequence[Agent],
    agent_of_seat: jax.Array,
    games: Games,
    key: jax.Array,
    num_steps: int,
) -> tuple[Games, State, jax.Array]:
    """Returns the games after `num_steps` steps, the boards before each step and the actions, of agents on the device.

    The boards are leaves [num_steps, games, ...], the actions int32[num_steps, games].
    """

    def body(games: Games, key: jax.Array) -> tuple[Games, tuple[State, jax.Array]]:
        after, action = advance(env, agents, agent_of_seat, games, key)
        return after, (games.boards, action)

    games, (boards, actions) = jax.lax.scan(body, games, jax.random.split(key, num_steps))
    return games, boards, actions
