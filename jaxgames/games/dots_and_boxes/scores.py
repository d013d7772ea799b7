"""Greedy scores of Dots and Boxes: the number of boxes that the edge completes."""

import jax
import jax.numpy as jnp

from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState


def scores(env: DotsAndBoxes, state: DotsAndBoxesState) -> jax.Array:
    """Returns float32[num_edges], the boxes that each edge completes."""
    horizontal, vertical = env.split(state.edges.astype(jnp.int32))
    drawn = horizontal[:-1] + horizontal[1:] + vertical[:, :-1] + vertical[:, 1:]
    lacks_one = (drawn == 3).astype(jnp.float32)  # [rows, cols], one edge of the box is left
    above, left = jnp.pad(lacks_one, ((1, 1), (0, 0))), jnp.pad(lacks_one, ((0, 0), (1, 1)))
    return jnp.concatenate([(above[:-1] + above[1:]).ravel(), (left[:, :-1] + left[:, 1:]).ravel()])
