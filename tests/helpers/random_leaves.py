"""Arrays of random numbers in the shapes of a pytree."""

from typing import Any

import jax
import numpy as np


def random_leaves(shapes: Any, seed: int = 0, divisor: float = 1.0) -> Any:
    """Normally distributed float32 arrays / `divisor`: parameters with which no value and no logit is trivial."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: (rng.normal(size=leaf.shape) / divisor).astype(np.float32), shapes)
