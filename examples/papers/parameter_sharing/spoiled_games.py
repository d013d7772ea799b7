"""What keeps players from winning their games on the star.

At the end of a game without a winner, a seat's goal is *blocked* by pegs of the opposite seat, whose home it is, or by
pegs of other seats.
"""

import functools
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import arena
from jaxgames.agents import Agent
from jaxgames.arena import Games
from jaxgames.env import State
from jaxgames.games.chinese_checkers import ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers.board import tables

OPPOSITE = 3  # seats clockwise, of six


@functools.partial(jax.jit, static_argnames="env")
def play(env: ChineseCheckers, agents: tuple[Agent, ...], agent_of_seat: jax.Array, key: jax.Array) -> Games:
    """Returns whole games for six seats by agents on the device; as `arena.play`."""
    start_key, key = jax.random.split(key)
    begun = arena.start(env, start_key, len(agent_of_seat))
    return arena.advance_until_over(env, agents, agent_of_seat, begun, key)


def summary(env: ChineseCheckers, games: Games, agent_of_seat: jax.Array, number: int = 0) -> dict[str, Any]:
    """Returns results of an agent, and how its seats end the games that nobody wins; None where there is no such game.

    decided         the share of games that a seat wins, and its interval
    win_rate        the share of games that a seat of the agent wins, and its interval
    turns           mean turns of the winner in decided games
    blocked_by_opposite, blocked_by_others     in undecided games, the share of the agent's seats
    pegs_in_goal, pegs_at_home                 in undecided games, means over the agent's seats
    """
    on_seat = np.asarray(agent_of_seat) == number
    won, turns = np.array(jax.jit(arena.winners, static_argnums=0)(env, games)), np.array(games.turns)
    decided = np.array(won.any(1))
    num_games = len(won)
    cells = np.asarray(pegs_of_seats(env, games.boards))  # bool[games, 6, cells, 6]
    in_goal = cells[:, :, -env.num_pegs :].sum(2)  # pegs of each seat, clockwise from the goal's owner
    others = in_goal.sum(2) - in_goal[..., 0] - in_goal[..., OPPOSITE]
    at_home = cells[:, :, : env.num_pegs, 0].sum(2)
    undecided = on_seat & ~decided[:, None]

    def mean(values: np.ndarray, where: np.ndarray) -> float | None:
        return float(values[where].mean()) if where.any() else None

    return {
        "games": num_games,
        "decided": float(decided.mean()),
        "decided_interval": arena.wilson(int(decided.sum()), num_games),
        "win_rate": float((won & on_seat).any(1).mean()),
        "win_rate_interval": arena.wilson(int((won & on_seat).any(1).sum()), num_games),
        "turns": mean(turns, won),
        "blocked_by_opposite": mean(in_goal[..., OPPOSITE] > 0, undecided),
        "blocked_by_others": mean(others > 0, undecided),
        "pegs_in_goal": mean(in_goal[..., 0], undecided),
        "pegs_at_home": mean(at_home, undecided),
    }


def _pegs(env: ChineseCheckers, board: State, seat: jax.Array) -> jax.Array:
    """Returns bool[cells, 6], the pegs of each seat clockwise from `seat`, in its frame."""
    q, r = (tables(env.size).axial + 2 * env.size).T
    return env.observe(cast(ChineseCheckersState, board), seat)[q, r, : env.num_players]


@functools.partial(jax.jit, static_argnames="env")
def pegs_of_seats(env: ChineseCheckers, boards: Any) -> jax.Array:
    """Returns bool[games, 6, cells, 6], `_pegs` of every seat."""
    of_board = jax.vmap(functools.partial(_pegs, env), in_axes=(None, 0))
    return jax.vmap(lambda board: of_board(board, jnp.arange(env.num_players)))(boards)
