"""The norm of the gradients that Adam was given, from its moments."""

from typing import Any

import jax
import numpy as np
import optax


def clipped_norm(opt_state: Any, b2: float = 0.999) -> float:
    """The norm of the gradients, if it was the same in all steps: the root of the mean of its squares."""
    (adam,) = (
        each
        for each in jax.tree.leaves(opt_state, is_leaf=lambda each: isinstance(each, optax.ScaleByAdamState))
        if isinstance(each, optax.ScaleByAdamState)
    )
    squares = sum(float(np.asarray(leaf, np.float64).sum()) for leaf in jax.tree.leaves(adam.nu))
    return float(np.sqrt(squares / (1 - b2 ** int(np.asarray(adam.count)))))
