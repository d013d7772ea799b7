"""Operations with one form for CPUs, one for TPUs, and one for all other platforms.

XLA compiles a few operations badly on CPUs: they have another form there, which was measured to be faster. Lookups
have a form without gathers for TPUs. All forms give the same result; only `random_action` draws other actions with the
same key on a CPU than elsewhere. `by_platform` chooses when a program is lowered, so a program that is exported or
placed on another device has the forms of that device.

The environment variable JAXGAMES_FORMS overrides the choice, to compare the forms on one machine: "auto" (default),
"cpu", "tpu" or "library". Set it before a program is traced.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

R = TypeVar("R")

VARIABLE = "JAXGAMES_FORMS"
FORMS = ("auto", "cpu", "tpu", "library")


def by_platform(
    *operands: Any, cpu: Callable[..., R], library: Callable[..., R], tpu: Callable[..., R] | None = None
) -> R:
    """Returns `cpu(*operands)` where the program runs on a CPU, `tpu(*operands)` on a TPU, else `library(*operands)`.

    Without `tpu`, a TPU has the library's form too. Raises ValueError if JAXGAMES_FORMS is none of FORMS.
    """
    form = chosen_form()
    if form == "auto":
        return jax.lax.platform_dependent(*operands, cpu=cpu, tpu=tpu or library, default=library)
    return {"cpu": cpu, "library": library, "tpu": tpu or library}[form](*operands)


def has_cpu_form() -> bool:
    """Returns whether `by_platform` takes the form for CPUs in a program for the default device."""
    form = chosen_form()
    return form == "cpu" or (form == "auto" and jax.default_backend() == "cpu")


def chosen_form() -> str:
    """Returns the value of JAXGAMES_FORMS. Raises ValueError if it is none of FORMS."""
    form = os.environ.get(VARIABLE, "auto")
    if form not in FORMS:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(FORMS)}, not {form!r}")
    return form


def at(array: jax.Array, index: jax.Array) -> jax.Array:
    """Returns `array[index]` for a traced index, int32[], along the first axis; any value for an index out of range.

    A TPU compares all indices and sums what is chosen: gathers by an index of each board are slowest there.
    """

    def gather(array: jax.Array, index: jax.Array) -> jax.Array:
        return array.at[index].get(mode="clip")

    def select(array: jax.Array, index: jax.Array) -> jax.Array:
        here = jnp.arange(array.shape[0]) == index
        kept = jnp.where(here.reshape(-1, *[1] * (array.ndim - 1)), array, jnp.zeros_like(array))
        return kept.any(0) if array.dtype == jnp.bool_ else kept.sum(0, dtype=array.dtype)

    return by_platform(array, index, cpu=gather, library=gather, tpu=select)


def take(array: jax.Array, places: np.ndarray) -> jax.Array:
    """Returns `array[places]` for places known when the program is built, 0 where a place is the array's length.

    The array is bool, int8 or uint8, [n]. A TPU takes a product with a matrix of zeros and ones, which is exact.
    """

    def gather(array: jax.Array) -> jax.Array:
        inside = bool((places < array.size).all())  # without bounds checks a CPU compiles it to a tight loop
        return array.at[places].get(mode="promise_in_bounds" if inside else "fill", fill_value=0)

    def product(array: jax.Array) -> jax.Array:
        chosen = np.arange(array.size)[:, None] == places.reshape(-1)
        taken = jnp.dot(array.astype(jnp.bfloat16), chosen.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
        return taken.astype(array.dtype).reshape(places.shape)

    return by_platform(array, cpu=gather, library=gather, tpu=product)


def computed_once(value: jax.Array) -> jax.Array:
    """Returns the same bool[], which a CPU then computes once per board, and not once per leaf that depends on it.

    XLA repeats cheap operations for every consumer there, but no square root. `lax.optimization_barrier` has no effect.
    """
    return by_platform(value, cpu=lambda x: jnp.sqrt(x.astype(jnp.float32)) > 0.5, library=lambda x: x)
