"""Random positions of Dots and Boxes."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgames.games.dots_and_boxes import DotsAndBoxes, DotsAndBoxesState


def game(rows: int, cols: int) -> DotsAndBoxes:
    return DotsAndBoxes(rows, cols)


def random_states(rows: int, cols: int, number: int, seed: int = 0) -> list[Any]:
    """States with a random number of random edges, at least one of them open, and alternating owners."""
    env, generator = game(rows, cols), np.random.default_rng(seed)
    states: list[Any] = []
    for _ in range(number):
        edges = np.zeros(env.num_edges, bool)
        edges[generator.permutation(env.num_edges)[: generator.integers(env.num_edges)]] = True
        complete = np.asarray(env._complete(jnp.asarray(edges)))  # pyright: ignore[reportPrivateUsage]  # the rule itself
        owner = np.where(complete, np.cumsum(complete) % 2, -1).astype(np.int8)
        leaves: dict[str, Any] = {
            "current_player": np.int32(generator.integers(2)),
            "rewards": np.zeros(2, np.float32),
            "terminated": np.bool_(False),
            "truncated": np.bool_(False),
            "edges": edges,
            "owner": owner,
        }
        states.append(DotsAndBoxesState(**leaves))
    return states
