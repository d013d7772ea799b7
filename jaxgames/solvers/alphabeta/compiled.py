"""Functions that numba compiles where it is installed (the extra `numba`), and plain Python runs elsewhere.

With NUMBA_DISABLE_JIT=1, numba's own environment variable, plain Python runs too.

@compiled
def function(...): ...

function(...)                   in plain Python
function_for(True)(function)    the same function as machine code, if HAS_NUMBA

Machine code calls the machine code of all functions marked so, be they globals of a module or variables of the function
around them. Numba keeps machine code on disk for the functions that Python calls, with all that they call. These must
be functions of a module: numba would not know a function within a function again in another process.
"""

import functools
import hashlib
import importlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# Where numba is switched off, its decorators return functions without the attributes that are used here.
IS_SWITCHED_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
HAS_NUMBA = importlib.util.find_spec("numba") is not None and not IS_SWITCHED_OFF
PACKAGE = Path(__file__).parents[2]
OPTIONS = {"_nrt": False}  # no compiled function makes an array: counting references would take most of the time


class Ints(Protocol):
    """int64[n], or a list of n integers in plain Python."""

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...
    def __len__(self) -> int: ...


def ints(values: Any, compiled: bool) -> Any:
    """Returns a list of integers, or an array of them, as int64[n] for compiled functions, or a list for plain ones."""
    return np.array(values, np.int64) if compiled else np.asarray(values, np.int64).tolist()


def compiled(function: F, **options: bool) -> F:
    """Marks a function whose machine code other compiled functions call, compiled by numba with these options."""
    if HAS_NUMBA:
        numba: Any = importlib.import_module("numba")
        templates: Any = importlib.import_module("numba.core.typing.templates")
        marked: Any = function
        marked.dispatcher = numba.njit(function, **OPTIONS, **options)
        # Unlike `numba.extending.register_jitable`, this lets a function call itself.
        templates.infer_global(function, numba.types.Dispatcher(marked.dispatcher))
    return function


def inlined(function: F) -> F:
    """Returns `compiled(function)`, whose code becomes a part of each caller: for callees with many arguments."""
    return compiled(function, forceinline=True)


def function_for(compiled: bool) -> Callable[[Any], Any]:
    """Returns the function that gives the machine code of a function, or if not `compiled` the function itself."""
    return _machine_code if compiled and HAS_NUMBA else lambda function: function


@functools.cache
def _machine_code(function: Callable[..., Any]) -> Any:
    """Returns a function that numba compiles at its first call, or reads from disk, where it finds a folder for it.

    Numba compares stored code only with the source of its own function, not with the sources of those that it calls. So
    the stamp that it stores beside the code has the sources of the package and of the function's folder too.
    """
    numba: Any = importlib.import_module("numba")
    dispatcher: Any = getattr(function, "dispatcher", None)
    if dispatcher is None:
        dispatcher = numba.njit(function, **OPTIONS)
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # no folder
        return dispatcher
    file = dispatcher._cache._cache_file
    file._source_stamp = (file._source_stamp, _digest(PACKAGE), _digest(Path(function.__code__.co_filename).parent))
    try:
        file._load_index()
    except Exception:  # a kill cut it, or it names a class of an earlier version
        file.flush()
    return dispatcher


@functools.cache
def _digest(folder: Path) -> str:
    """Returns a digest of the sources in a folder."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in sorted(folder.rglob("*.py")))).hexdigest()


@compiled
def count_bits(word: int) -> int:
    """Returns the number of members of a set: of the bits of a word of 32 bits."""
    word -= word >> 1 & 0x55555555
    word = (word & 0x33333333) + (word >> 2 & 0x33333333)
    word = word + (word >> 4) & 0x0F0F0F0F
    return (word * 0x01010101 & 0xFFFFFFFF) >> 24
