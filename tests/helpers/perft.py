"""Perft: how many sequences of 1, 2, ... moves there are from a position, counted with the env's mask and step."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from tests.helpers.positions import board, in_chunks

CHUNK = 128  # boards that are expanded at once: one shape to compile for


@dataclass(frozen=True)
class Perft:
    """The tree below a position.

    Args:
      env: with limits that the depth does not reach.
      lost: bool[], whether a terminated board ends its sequence. Boards that are over otherwise (drawn) go on.
      continues: bool[], whether the mover's move goes on after this action; the actions of a move count as one.
      future: the arrays of a batch that the rest of the game depends on; boards that are equal there are merged.
    """

    env: Env[Any]
    lost: Callable[[Any], jax.Array] = lambda state: state.terminated & (state.rewards[0] != 0)
    continues: Callable[[Any], jax.Array] = lambda state: jnp.bool_(False)
    future: Callable[[Any], Sequence[np.ndarray]] = lambda states: ()

    def counts(self, text: str, depth: int) -> list[int]:
        """Sequences of 1, 2, ..., `depth` moves."""
        return [count for count, _ in self.counts_and_wins(text, depth)]

    def counts_and_wins(self, text: str, depth: int) -> list[tuple[int, int]]:
        """The same, each with the number of sequences whose last move wins."""
        states = jax.tree.map(lambda leaf: np.asarray(leaf)[None], self.env.from_string(text))
        ways, counted = np.ones(1, np.int64), list[tuple[int, int]]()
        while len(counted) < depth and len(ways):
            states, ways, wins = self.after_a_move(states, ways)
            counted.append((int(ways.sum()), wins))
            states, ways = self.merged(states, ways)
        return counted + [(0, 0)] * (depth - len(counted))

    def after_a_move(self, states: Any, ways: np.ndarray) -> tuple[Any, np.ndarray, int]:
        """The boards after every whole move, in how many ways each was reached, and how many moves won."""
        reached: list[Any] = []
        numbers: list[np.ndarray] = []
        wins = 0
        while True:
            after, parents, _, lost, continues = self.expanded(states)
            wins += int(ways[parents][lost].sum())
            reached.append(board(after, ~continues))
            numbers.append(ways[parents][~continues])
            states, ways = board(after, continues), ways[parents][continues]
            if not len(ways):
                break
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *reached), np.concatenate(numbers), wins

    def expanded(self, states: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """After every legal action: the board, the parent, the action, whether it won, whether the move goes on."""
        mask, step = _programs(self)
        parents, actions = np.nonzero(in_chunks(CHUNK, mask, states))
        if not len(parents):
            nothing = np.zeros(0, bool)
            return board(states, parents), parents, actions, nothing, nothing
        after, lost, continues = in_chunks(CHUNK, step, board(states, parents), actions.astype(np.int32))
        return after, parents, actions, lost, continues

    def merged(self, states: Any, ways: np.ndarray) -> tuple[Any, np.ndarray]:
        """Equal boards as one."""
        words = self.future(states)
        if not words or not len(ways):
            return states, ways
        keys = np.stack([word.astype(np.uint32) for word in words], 1)
        _, first, where = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return board(states, first), np.bincount(where.ravel(), ways, len(first)).astype(np.int64)


@functools.cache
def _programs(perft: Perft) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The mask, and a step after which only a lost board is over, so that draws are played on."""
    env = perft.env

    def step(state: Any, action: jax.Array) -> Any:
        after = env.step(state, action)
        lost = perft.lost(after)
        after = replace(after, terminated=lost, truncated=jnp.bool_(False))
        return after, lost, perft.continues(after)

    return jax.jit(jax.vmap(env.legal_action_mask)), jax.jit(jax.vmap(step))
