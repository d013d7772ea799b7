"""Parameters as a file of `train.export` has them: in single or half precision, or as integers of 8 bits."""

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np


def stored_parts(params: Any, bits: int) -> list[tuple[np.ndarray, ...]]:
    """Returns the parts of each parameter in a file: one array, or with 8 bits integers and their scales.

    The last axis but one, of a matrix its inputs, shares a scale. Vectors are in half precision with 8 bits, too.

    Raises ValueError if a parameter is too large for half precision.
    """

    def parts_of(leaf: Any) -> tuple[np.ndarray, ...]:
        leaf = np.asarray(leaf)
        if leaf.dtype != np.float32 or bits == 32:
            return (leaf,)
        if not (np.abs(leaf) <= np.finfo(np.float16).max).all():
            raise ValueError("a parameter is too large for half precision: export the run with --bits 32")
        if bits == 16 or leaf.ndim < 2:
            return (leaf.astype(np.float16),)
        largest = np.abs(leaf).max(axis=-2, keepdims=True)
        scales = np.where(largest > 0, largest, 1) / np.iinfo(np.int8).max
        return np.rint(leaf / scales).astype(np.int8), scales.astype(np.float32)

    return [parts_of(leaf) for leaf in jax.tree.leaves(params)]


def from_parts(parts: Iterable[Any]) -> list[Any]:
    """Returns the parameters of the arrays in a file, in single precision; the arrays are of NumPy or JAX.

    Integers of 8 bits have their scales behind them.
    """
    left = iter(parts)

    def parameter(part: Any) -> Any:
        if part.dtype == np.int8:
            return part.astype(np.float32) * next(left)
        return part.astype(np.float32) if part.dtype == np.float16 else part

    return [parameter(part) for part in left]
