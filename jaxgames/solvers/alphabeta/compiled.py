"""Functions that numba compiles where it is installed (the extra `numba`), and plain Python runs elsewhere.

With NUMBA_DISABLE_JIT=1, numba's own environment variable, plain Python runs too.

@compiled
def function(...): ...

function(...)           compiled, if HAS_NUMBA
plain(function)(...)    the same source in plain Python
"""

import functools
import importlib
import importlib.util
import os
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# Where numba is switched off, its decorators return functions without the attributes that are used here.
IS_SWITCHED_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
HAS_NUMBA = importlib.util.find_spec("numba") is not None and not IS_SWITCHED_OFF
SOURCES = Path(__file__).parents[1]  # compiled functions call others of this folder, or of their own


class Ints(Protocol):
    """int64[n], or a list of n integers in plain Python."""

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...
    def __len__(self) -> int: ...


def function_for(compiled: bool) -> Callable[[Any], Any]:
    """Returns the function that gives the compiled version of a compiled function, or its plain version."""
    return (lambda function: function) if compiled else plain


def ints(values: Any, compiled: bool) -> Any:
    """Returns a list of integers, or an array of them, as int64[n] for compiled functions, or a list for plain ones."""
    return np.array(values, np.int64) if compiled else np.asarray(values, np.int64).tolist()


def inlined(function: F) -> F:
    """Returns `compiled(function)`, whose code becomes a part of each caller: for callees with many arguments."""
    return compiled(function, forceinline=True)


def compiled(function: F, **options: bool) -> F:
    """Returns the function compiled by numba with these options, at its first call; without numba the function itself.

    The machine code is kept on disk where numba finds a folder to write to, and used while no source of this folder
    changes. Numba itself compares it only with the function's own file, not with those of functions that it calls.
    """
    if not HAS_NUMBA:
        return function
    numba: Any = importlib.import_module("numba")
    # No compiled function makes an array. So nothing counts references, which would take most of the time.
    try:
        dispatcher = numba.njit(function, _nrt=False, cache=True, **options)
    except RuntimeError:  # no folder for the cache
        return numba.njit(function, _nrt=False, **options)
    own = Path(function.__code__.co_filename).parent
    # Numba stores the stamp with the code, and compiles again where another one is found.
    file = dispatcher._cache._cache_file
    file._source_stamp = (file._source_stamp, _newest_change(SOURCES), _newest_change(own))
    return dispatcher


@functools.cache  # asked once for every compiled function
def _newest_change(folder: Path) -> float:
    """Returns the time of the last change to a source in a folder, in seconds since the epoch."""
    return max(source.stat().st_mtime for source in folder.rglob("*.py"))


@functools.cache
def plain(function: F) -> F:
    """Returns the same function in plain Python, which calls the plain versions of compiled functions."""
    source: Any = getattr(function, "py_func", None)
    if source is None:
        return function
    names = dict(source.__globals__)
    own_name = source.__code__.co_name
    for name in source.__code__.co_names:
        if name != own_name and hasattr(names.get(name), "py_func"):
            names[name] = plain(names[name])
    copy: Any = types.FunctionType(source.__code__, names, source.__name__, source.__defaults__)
    names[own_name] = copy  # a recursive function calls itself
    return copy


@compiled
def count_bits(word: int) -> int:
    """Returns the number of members of a set: of the bits of a word of 32 bits."""
    word -= word >> 1 & 0x55555555
    word = (word & 0x33333333) + (word >> 2 & 0x33333333)
    word = word + (word >> 4) & 0x0F0F0F0F
    return (word * 0x01010101 & 0xFFFFFFFF) >> 24
