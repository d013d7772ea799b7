"""Checks whose error messages contain the problem, the expected value and what to type instead."""

import contextlib
import math
import operator
import os
import sys
from collections.abc import Collection, Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

MAX_TURN_LIMIT = 1_000_000  # the largest limit on plies or rounds that a game accepts
MAX_MESSAGE = 200  # characters of an error about a text
INT32 = np.iinfo(np.int32)


class ParameterError(ValueError):
    """Raised for an argument or a setting that is refused; the message says what is allowed.

    What is wrong inside the text of a position, of a move or of a file raises ValueError itself.
    """

    __module__ = "jaxgames"  # its public name, which tracebacks show


class ParameterTypeError(ParameterError, TypeError):
    """Raised for a parameter of the wrong type."""

    __module__ = "jaxgames"


# -- parameters ----------------------------------------------------------------------------------------


def check_int(name: str, value: object, low: int, high: int, also: str = "") -> None:
    """Raises ParameterError unless `value` is an integer from `low` to `high`.

    The message ends with `also`, other values that the caller allows, such as " or None".
    """
    allowed = f"{name} must be an integer from {low} to {high}{also}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterTypeError(f"{allowed}, not {value!r}")
    if not low <= value <= high:
        raise ParameterError(f"{allowed}, not {value}")


def check_number(name: str, value: object, lowest: float | None = None, highest: float = math.inf) -> None:
    """Raises ParameterError unless `value` is a finite number above 0, or from `lowest` on, and up to `highest`."""
    if highest == math.inf:
        limits = "above 0" if lowest is None else f"from {lowest:g} on"
    else:
        limits = f"above 0 and up to {highest:g}" if lowest is None else f"from {lowest:g} to {highest:g}"
    allowed = f"{name} must be a finite number {limits}"
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ParameterTypeError(f"{allowed}, not {value!r}")
    if not (lowest or 0) <= value <= min(highest, sys.float_info.max) or (value == 0 and lowest is None):  # NaN too
        raise ParameterError(f"{allowed}, not {value}")


def check_choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raises ParameterError unless `value` is one of `allowed` and has its type."""
    types = {type(choice) for choice in allowed}
    names = ", ".join(repr(choice) for choice in allowed)
    if type(value) not in types:
        raise ParameterTypeError(f"{name} must be one of {names}, not {shortened(value)}")
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {names}, not {shortened(value)}")


# -- arguments -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def short_errors() -> Generator[None, None, None]:
    """Cuts the message of a ValueError after MAX_MESSAGE characters: it may show a long text."""
    try:
        yield
    except ValueError as error:
        if len(message := str(error)) <= MAX_MESSAGE:
            raise
        raise ValueError(f"{message[:MAX_MESSAGE]}...") from None


def shortened(value: object) -> str:
    """Returns the `repr` of a value, of which a message shows MAX_MESSAGE characters at most."""
    text = repr(value)
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."


def check_text(text: object) -> None:
    """Raises ValueError unless `text` is a string."""
    if not isinstance(text, str):
        raise ValueError(f"expected a text, not {text!r}")


def check_action(action: Any, num_actions: int) -> int:
    """Returns one action as a Python integer; it must be an integer from 0 to num_actions - 1."""
    expected = f"expected an action from 0 to {num_actions - 1}"
    number = _one_integer(f"{expected}, one integer", action)
    if not 0 <= number < num_actions:
        raise ParameterError(f"{expected}, not {number}")
    return number


def as_int32(name: str, value: Any) -> jax.Array:
    """Returns one integer as int32[]. The integer may be Python's, numpy's, or a JAX array, traced or not.

    Everything is read from types and shapes while the program is traced; only Python's and numpy's integers are also
    read as values. A wider integer of a JAX array is clipped to the range of int32.
    """
    if (shape := getattr(value, "shape", ())) != ():
        raise ParameterError(
            f"expected one {name}, got a batch of {written_shape(shape)}: put jax.vmap around the call"
        )
    if not isinstance(value, jax.Array):
        return jnp.int32(host_int32(name, value))
    if not jnp.issubdtype(value.dtype, jnp.integer):
        raise TypeError(f"{name} must be one integer, not an array of dtype {value.dtype}")
    if jnp.iinfo(value.dtype).max > INT32.max:
        value = jnp.clip(value, max=INT32.max) if value.dtype.kind == "u" else jnp.clip(value, INT32.min, INT32.max)
    return value.astype(jnp.int32)


def host_int32(name: str, value: Any) -> np.int32:
    """Returns one integer of Python, numpy or JAX as int32, without a program on a device."""
    number = _one_integer(f"{name} must be one integer", value)
    if not INT32.min <= number <= INT32.max:
        raise ParameterError(f"{name} must fit int32, and {number} does not")
    return np.int32(number)


def _one_integer(expected: str, value: Any) -> int:
    """Returns one integer of Python, numpy or JAX. Raises TypeError with the text `expected` for anything else."""
    if not isinstance(value, (bool, np.bool_)):  # numpy before 2.3 takes its own for indices
        with contextlib.suppress(TypeError):
            return operator.index(value)
    raise TypeError(f"{expected}, not {value!r}")


def check_seat(player: Any, num_players: int) -> jax.Array:
    """Returns a seat as int32[]. The value of a traced seat is unknown and not checked."""
    seat = as_int32("player", player)
    if not isinstance(player, Tracer) and not 0 <= int(player) < num_players:
        raise ParameterError(f"player must be a seat from 0 to {num_players - 1}, not {int(player)}")
    return seat


def differing_leaf(expected: Any, state: Any) -> str:
    """Returns the first leaf whose shape or dtype differs, in words; "" if the two pytrees are alike.

    Types of 32 and 64 bits count as equal: `jax_enable_x64` decides between them. PRNG keys are not compared, because
    the caller chooses their kind.
    """
    leaves, structure = jax.tree.flatten(state)
    expected_leaves, expected_structure = jax.tree.flatten(expected)
    if structure != expected_structure:
        return "its leaves must be those of init"
    for number, (leaf, like) in enumerate(zip(leaves, expected_leaves, strict=True)):
        dtype = leaf.dtype if hasattr(leaf, "dtype") else np.result_type(leaf)
        shape = leaf.shape if hasattr(leaf, "shape") else np.shape(leaf)
        if shape == like.shape and (dtype == like.dtype or _narrow(dtype) == _narrow(like.dtype)):
            continue
        if not jnp.issubdtype(like.dtype, jax.dtypes.prng_key):
            name = jax.tree_util.keystr(jax.tree_util.tree_leaves_with_path(expected)[number][0])
            return f"its {name[1:]} must be {like.dtype}{list(like.shape)}, not {dtype}{list(shape)}"
    return ""


def _narrow(dtype: Any) -> str:
    """Returns the name of a dtype, of 32 bits in place of 64."""
    return str(dtype).replace("64", "32")


def written_shape(shape: tuple[int, ...]) -> str:
    """Returns the shape of a batch as an error writes it: "1000", or "4 x 250"."""
    return " x ".join(map(str, shape))


# -- processes -----------------------------------------------------------------------------------------------------

_forked_in: int | None = None  # the process that forked first with JAX started, this one or one before it


def check_process() -> None:
    """Raises RuntimeError in a process that was forked when JAX had started: its first program would never end."""
    if _forked_in not in (None, os.getpid()):
        raise RuntimeError(
            "JAX does not run in this process, which was forked when JAX had started: start processes with the method "
            "'spawn' or 'forkserver', as in gymnasium.vector.AsyncVectorEnv(..., context=\"spawn\") or "
            'multiprocessing.get_context("spawn")'
        )


def _before_fork() -> None:
    global _forked_in  # of this process and of those that it forks
    bridge: Any = sys.modules.get("jax._src.xla_bridge")  # JAX has no public name for it
    if _forked_in is None and bridge is not None and bridge.backends_are_initialized():
        _forked_in = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
