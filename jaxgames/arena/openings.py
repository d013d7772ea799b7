"""Openings: random plies from a fixed list, which are played before the agents of a game.

    book = arena.random_openings(env, key, 100, plies=4)      # 100 openings of at most 4 plies
    openings = book.for_games(1000, games_each=2)             # opening 0 in games 0 and 1, opening 1 in 2 and 3, ...
    games = arena.play(env, agents, agent_of_seat, key, openings=openings)

Opening i depends only on the key and on i. So all agents meet the same openings, and a longer list begins with the
shorter one. An opening is the start of a random game. It has at most `plies` plies, leaves the game live, and does not
end in the middle of a turn. It is the longest such start: shorter than `plies` where the random game ended, or where a
turn was not complete.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgames.env import Env, State
from jaxgames.sampling import random_action

MAX_PLIES = 10_000


class Openings(NamedTuple):
    """Openings; leaves have a leading axis, of the openings of a list or of games."""

    boards: State  # after the opening
    actions: jax.Array  # int32[openings, plies], played from the start of the game; -1 after the last one
    plies: jax.Array  # int32[openings], plies of each opening
    number: jax.Array  # int32[openings], the place of each opening in its list

    def for_games(self, num_games: int, games_each: int = 1) -> "Openings":
        """Returns one opening per game: each one for `games_each` games in a row, and the first again after the last.

        Raises ValueError for `games_each` below 1.
        """
        if games_each < 1:
            raise ValueError(f"games_each must be at least 1, not {games_each}")
        place = jnp.arange(num_games) // games_each % self.number.size
        return _rows(self, place)


@jax.jit
def _rows(openings: Openings, place: jax.Array) -> Openings:
    return jax.tree.map(lambda leaf: leaf[place], openings)


def random_openings(env: Env[Any], key: jax.Array, num_openings: int, plies: int) -> Openings:
    """Returns a list of openings of uniformly random legal actions, of at most `plies` plies each.

    Raises ValueError unless `num_openings` is at least 1 and `plies` from 0 to MAX_PLIES.
    """
    if num_openings < 1:
        raise ValueError(f"the number of openings must be at least 1, not {num_openings}")
    if not 0 <= plies <= MAX_PLIES:
        raise ValueError(f"the plies of an opening must be from 0 to {MAX_PLIES}, not {plies}")
    return _random_openings(env, key, num_openings, plies)


@functools.partial(jax.jit, static_argnames=("env", "num_openings", "plies"))
def _random_openings(env: Env[Any], key: jax.Array, num_openings: int, plies: int) -> Openings:
    number = jnp.arange(num_openings, dtype=jnp.int32)
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(number)
    boards, actions, kept = jax.vmap(lambda key: _random_opening(env, key, plies))(keys)
    return Openings(boards, actions, kept, number)


def _random_opening(env: Env[Any], key: jax.Array, plies: int) -> tuple[State, jax.Array, jax.Array]:
    """Returns the board after one opening, its actions int32[plies], and the number of its plies int32[]."""

    def body(carry: tuple[State, State, jax.Array], ply: jax.Array) -> tuple[tuple[State, State, jax.Array], jax.Array]:
        board, opened, kept = carry
        action_key, step_key = jax.random.split(jax.random.fold_in(key, ply))
        action = random_action(action_key, env.legal_action_mask(board))
        after = env.step(board, action, step_key)
        begins_turn = ~(after.terminated | after.truncated) & (after.current_player != board.current_player)
        opened = jax.tree.map(lambda new, old: jnp.where(begins_turn, new, old), after, opened)
        return (after, opened, jnp.where(begins_turn, ply, kept)), action

    board = env.init(jax.random.fold_in(key, 0))
    numbers = jnp.arange(1, plies + 1, dtype=jnp.int32)
    (_, opened, kept), actions = jax.lax.scan(body, (board, board, jnp.int32(0)), numbers)
    return opened, jnp.where(numbers <= kept, actions, -1), kept
