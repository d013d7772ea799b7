"""Small boards of Dots and Boxes solved through the env, against the values that others have found.

What the rest of a game is worth to the mover depends on the set of drawn edges alone: with g(s, e) boxes completed by
edge e after the set s,

    V(all edges) = 0
    V(s) = max over e not in s of  g(s, e) + V(s + e) if g(s, e) > 0, else -V(s + e)

All 2^E sets are put on boards, and the env's own mask and step say what is legal, what it pays, who moves next and
when the game is over.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.games.dots_and_boxes import DotsAndBoxesState
from tests.games.dots_and_boxes.pictures import game

BATCH = 2**12  # sets of edges at once


@functools.cache
def values(rows: int, cols: int) -> np.ndarray:
    """int8[2^E], V of every set of edges, bit e being edge e."""
    env = game(rows, cols, "boxes")
    num_edges = env.num_actions
    all_edges = np.arange(num_edges, dtype=np.int32)
    grid = (
        all_edges[: (rows + 1) * cols].reshape(rows + 1, cols),
        all_edges[(rows + 1) * cols :].reshape(rows, cols + 1),
    )
    around = np.stack([grid[0][:-1], grid[0][1:], grid[1][:, :-1], grid[1][:, 1:]], axis=-1).reshape(-1, 4)

    def board(edge_set: jax.Array) -> DotsAndBoxesState:
        """The mover is seat 0 and whatever is complete belongs to seat 0: nothing depends on it."""
        edges = (edge_set >> all_edges) & 1 == 1
        complete = ((edge_set >> around) & 1).all(-1)
        return DotsAndBoxesState(
            current_player=jnp.int32(0),
            rewards=jnp.zeros(2),
            terminated=edges.all(),
            truncated=jnp.bool_(False),
            edges=edges,
            owner=jnp.where(complete, 0, -1).astype(jnp.int8),
        )

    @jax.jit
    def best(edge_sets: jax.Array, known: jax.Array) -> jax.Array:
        """V of some sets, given that of all larger ones."""

        def of_set(edge_set: jax.Array) -> jax.Array:
            state = board(edge_set)
            after = jax.vmap(env.step, in_axes=(None, 0))(state, jnp.asarray(all_edges))
            following = (after.edges.astype(jnp.int32) << all_edges).sum(-1)
            to_go = jnp.where(after.terminated, 0, known[following]).astype(jnp.int32)
            worth = after.rewards[:, 0].astype(jnp.int32) + jnp.where(after.current_player == 0, to_go, -to_go)
            return jnp.where(env.legal_action_mask(state), worth, -100).max().astype(jnp.int8)

        return jax.vmap(of_set)(edge_sets)

    known = np.zeros(2**num_edges, np.int8)
    sizes = np.bitwise_count(np.arange(2**num_edges, dtype=np.uint32))
    for size in reversed(range(num_edges)):
        layer = np.flatnonzero(sizes == size).astype(np.int32)
        assert len(layer) == math.comb(num_edges, size)
        for begin in range(0, len(layer), BATCH):
            part = np.resize(layer[begin : begin + BATCH], min(BATCH, 2**num_edges))
            known[part] = best(part, known)
    return known


@pytest.mark.parametrize(
    ("rows", "cols", "value"),
    [
        (1, 1, -1),
        (1, 2, 0),
        (1, 3, -1),
        (2, 2, 2),
        (2, 3, -2),
        # One more board to compile for each, and up to 2^24 sets of edges.
        pytest.param(2, 1, 0, marks=pytest.mark.slow),
        pytest.param(1, 4, 0, marks=pytest.mark.slow),
        pytest.param(3, 2, -2, marks=pytest.mark.slow),
        pytest.param(2, 4, 2, marks=pytest.mark.slow),
        pytest.param(3, 3, -3, marks=pytest.mark.slow),
    ],
)
def test_margin_under_perfect_play_is_the_known_one(rows: int, cols: int, value: int) -> None:
    """Boxes by which the first player is ahead."""
    assert values(rows, cols)[0] == value


@pytest.mark.slow
def test_every_opening_of_3x3_is_worth_the_same() -> None:
    assert [-values(3, 3)[1 << edge] for edge in range(24)] == [-3] * 24
