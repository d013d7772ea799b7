"""Recorded games of checkers on the env's boards: the position before every action, many games at once."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.games.checkers.pdn import PdnGame
from jaxgames.games.checkers.rules import EARLIEST_END, Checkers, CheckersState

BATCH = 4096  # games that are replayed at once
PLIES = 64  # of a game that one program replays; a longer game takes several
NO_ACTION = -1  # after the end of a game


def states_before(
    env: Checkers, games: Sequence[PdnGame], *, on_replayed: Callable[[int], object] | None = None
) -> CheckersState:
    """Returns the board before every action of some games, those of the first game first.

    No draw is declared in a recorded game before its players agree, so a game can be longer than `env.draw_rule`
    allows. The count of the draw rule then stays one below the least that can end a game, and all boards are live.

    Args:
      env: the game; it may have another draw rule than the players had.
      games: as `checkers_pdn.read` or `record` returns them.
      on_replayed: is called with the number of games that were replayed since the last call.

    Returns:
      boards with a leading axis of all actions, on the host.

    Raises ValueError for a game with an action that is illegal in `env`.
    """
    lengths = np.array([len(game.actions) for game in games], np.int64)
    first = np.cumsum(lengths) - lengths  # the place of each game in the result
    found = jax.tree.map(lambda leaf: np.zeros((lengths.sum(), *leaf.shape), leaf.dtype), jax.eval_shape(env.init))
    boards = min(BATCH, 1 << max(0, len(games) - 1).bit_length())  # few sizes, so few programs
    order = np.argsort(-lengths, kind="stable")  # games of about equal length together
    for begin in range(0, len(games), boards):
        chosen = order[begin : begin + boards]
        states = _starts(env, [games[i].start for i in chosen], boards)
        for ply in range(0, lengths[chosen[0]], PLIES):
            actions = np.full((PLIES, boards), NO_ACTION, np.int32)
            for column, i in enumerate(chosen):
                part = games[i].actions[ply : ply + PLIES]
                actions[: len(part), column] = part
            states, before, legal = jax.device_get(_replay(env, states, actions))
            wrong = np.argwhere((actions != NO_ACTION) & ~legal)
            if len(wrong):
                row, column = map(int, wrong[0])
                game = games[int(chosen[column])]
                where = f"game {chosen[column]}" + (f", line {game.line}" if game.line else "")
                raise ValueError(f"{where}: action {actions[row, column]} at ply {ply + row} is not legal in {env}")
            row, column = np.nonzero(actions != NO_ACTION)
            place = first[chosen[column]] + ply + row
            for whole, part in zip(jax.tree.leaves(found), jax.tree.leaves(before), strict=True):
                whole[place] = part[row, column]
        if on_replayed is not None:
            on_replayed(len(chosen))
    return found


def _starts(env: Checkers, texts: Sequence[str], boards: int) -> CheckersState:
    """Returns the boards at the start of games, and some more to fill the batch."""
    known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    states = jax.device_get([env.from_string(text) for text in known])
    numbers = np.array([known[text] for text in texts] + [0] * (boards - len(texts)))
    return jax.tree.map(lambda *leaves: np.asarray(leaves)[numbers], *states)


@functools.partial(jax.jit, static_argnums=0)
def _replay(env: Checkers, states: CheckersState, actions: jax.Array) -> tuple[CheckersState, CheckersState, jax.Array]:
    """Returns the boards after `actions` int32[PLIES, boards], those before each, and whether each is legal."""

    def play(state: CheckersState, action: jax.Array) -> tuple[CheckersState, tuple[CheckersState, jax.Array]]:
        is_legal = (action >= 0) & env.legal_action_mask(state)[action]
        quiet = jnp.minimum(state.quiet, EARLIEST_END[env.draw_rule] - 2)  # one more does not end the game
        after = env.step(dataclasses.replace(state, quiet=quiet), action)
        return after, (state, is_legal)

    after, (before, legal) = jax.lax.scan(jax.vmap(play), states, actions)
    return after, before, legal
