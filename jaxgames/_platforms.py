"""Operations with one form for CPUs and one for all other platforms.

XLA compiles a few operations badly on CPUs. Each of them has a second form, which was measured to be faster on CPUs
and gives the same result; only `random_action` draws other actions with the same key. `by_platform` chooses when a
program is lowered, so a program that is exported or placed on a GPU or TPU has the library's own operations.

The environment variable JAXGAMES_FORMS overrides the choice, to measure both forms on one machine: "auto" (default),
"cpu" or "library". Set it before a program is traced.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

R = TypeVar("R")

VARIABLE = "JAXGAMES_FORMS"
FORMS = ("auto", "cpu", "library")


def by_platform(*operands: Any, cpu: Callable[..., R], library: Callable[..., R]) -> R:
    """Returns `cpu(*operands)` where the program runs on a CPU, `library(*operands)` elsewhere.

    Raises ValueError if JAXGAMES_FORMS is none of FORMS.
    """
    form = os.environ.get(VARIABLE, "auto")
    if form not in FORMS:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(FORMS)}, not {form!r}")
    if form == "auto":
        return jax.lax.platform_dependent(*operands, cpu=cpu, default=library)
    return (cpu if form == "cpu" else library)(*operands)


def computed_once(value: jax.Array) -> jax.Array:
    """Returns the same bool[], which a CPU then computes once per board, and not once per leaf that depends on it.

    XLA repeats cheap operations for every consumer there, but no square root. `lax.optimization_barrier` has no effect.
    """
    return by_platform(value, cpu=lambda x: jnp.sqrt(x.astype(jnp.float32)) > 0.5, library=lambda x: x)
