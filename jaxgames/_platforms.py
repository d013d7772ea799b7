"""The one place where a second form of an operation is chosen, by the platform that a program is lowered for.

A rule has one form, and a second one for CPUs where that makes random play of a game 1.5 times as fast: packing and
unpacking of the star's moves, the closure of the diamond's hops. Drawing a bit and `written` have one too, and the two
lookups have one without gathers for TPUs. All forms give the same result. A game that is exported or placed on another
device has the forms of that device. `has_cpu_form` chooses for the learners of `train`, by the default device.

For GPUs: neighbouring threads compute neighbouring entries of the last axis. XLA compiles a `concatenate` or `stack`
along it into a branch for each part, which the threads of a warp take one after the other. So a form for accelerators
has no more than four parts there (Dots and Boxes: one for each row of boxes): first words of bits for a board, then one
shift or comparison for every entry.

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

    Without `tpu`, a TPU has the library's form too. JAXGAMES_FORMS overrides the choice.
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
        here = np.arange(array.shape[0], dtype=np.int32) == index
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


def written(array: jax.Array) -> jax.Array:
    """Returns the same array, which is then computed once and not again in each of its uses.

    XLA repeats cheap operations for every consumer. On a CPU, where a barrier has no effect, it does not repeat a
    gather: this one takes every element of the array, and of a single number two copies.
    """

    def gathered(x: jax.Array) -> jax.Array:
        flat = x.reshape(-1) if x.size > 1 else jnp.stack([x.reshape(()), x.reshape(())])
        return flat.at[np.arange(flat.size)].get(mode="promise_in_bounds")[: x.size].reshape(x.shape)

    return by_platform(array, cpu=gathered, library=jax.lax.optimization_barrier)
