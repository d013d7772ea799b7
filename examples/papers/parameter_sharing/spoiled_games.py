"""Games on the star that are watched for what keeps a player from winning.

A seat *waits* in a turn after which its pegs are, in sum, no closer to the far corner of its goal. It *goes back* if
its pegs stand as they did before its last turn. Its goal is *blocked* at the end of a game by pegs of the opposite
seat, whose home it is, or by pegs of other seats.
"""

import functools
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers.parameter_sharing.evaluation import watch
from jaxgames import arena
from jaxgames.agents import Agent
from jaxgames.arena import Games
from jaxgames.env import State
from jaxgames.games._hexagons import hexagonal_distance
from jaxgames.games.chinese_checkers import ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers.board import tables

OPPOSITE = 3  # seats clockwise, of six


class Watched(NamedTuple):
    """Games in progress, and what each seat did in them; leaves have a leading axis of games."""

    games: Games
    before: jax.Array  # bool[games, 6, cells], the pegs of each seat after its last turn, in its own frame
    earlier: jax.Array  # bool[games, 6, cells], after the turn before; no peg at the start
    waits: jax.Array  # int32[games, 6], turns in which the seat waits
    goes_back: jax.Array  # int32[games, 6], turns in which the seat goes back


@functools.partial(jax.jit, static_argnames="env")
def play(env: ChineseCheckers, agents: tuple[Agent, ...], agent_of_seat: jax.Array, key: jax.Array) -> Watched:
    """Returns whole games for six seats by agents on the device; as `arena.play`."""
    start_key, key = jax.random.split(key)
    games = arena.start(env, start_key, len(agent_of_seat))
    pegs, zeros = pegs_of_seats(env, games.boards)[..., 0], jnp.zeros(agent_of_seat.shape, jnp.int32)
    seen = Watched(games, pegs, jnp.zeros_like(pegs), zeros, zeros)

    def update(before: Games, after: Games, seen: Watched) -> Watched:
        return after_step(env, seen, after)

    return watch(env, agents, agent_of_seat, games, key, update, seen)[1]


def after_step(env: ChineseCheckers, watched: Watched, games: Games) -> Watched:
    """Returns what is watched after a step that led to `games`."""
    mover = watched.games.boards.current_player
    ended_turn = ~watched.games.over & (games.over | (games.boards.current_player != mover))
    pegs = jax.vmap(functools.partial(_pegs, env))(games.boards, mover)[..., 0]  # bool[games, cells]
    is_mover = (jnp.arange(env.num_players) == mover[:, None]) & ended_turn[:, None]
    before, earlier = (jnp.take_along_axis(x, mover[:, None, None], 1)[:, 0] for x in (watched.before, watched.earlier))
    axial = tables(env.size).axial
    distance = hexagonal_distance(axial - axial[-1])  # int[cells], the steps to the far corner of the goal
    waits = (pegs * distance).sum(-1) >= (before * distance).sum(-1)
    goes_back = (pegs == earlier).all(-1)
    return Watched(
        games,
        jnp.where(is_mover[..., None], pegs[:, None], watched.before),
        jnp.where(is_mover[..., None], watched.before, watched.earlier),
        watched.waits + (is_mover & waits[:, None]),
        watched.goes_back + (is_mover & goes_back[:, None]),
    )


def summary(env: ChineseCheckers, watched: Watched, agent_of_seat: jax.Array, number: int = 0) -> dict[str, Any]:
    """Returns results of an agent, and how its seats end the games that nobody wins; None where there is no such game.

    decided         the share of games that a seat wins, and its interval
    win_rate        the share of games that a seat of the agent wins, and its interval
    turns           mean turns of the winner in decided games
    waits           the share of the agent's turns in which it waits
    goes_back       the share of the agent's turns in which it goes back
    blocked_by_opposite, blocked_by_others     in undecided games, the share of the agent's seats
    pegs_in_goal, pegs_at_home                 in undecided games, means over the agent's seats
    """
    games, on_seat = watched.games, np.asarray(agent_of_seat) == number
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
        "waits": float(np.asarray(watched.waits)[on_seat].sum() / turns[on_seat].sum()),
        "goes_back": float(np.asarray(watched.goes_back)[on_seat].sum() / turns[on_seat].sum()),
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
