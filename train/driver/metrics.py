"""Metrics on the host: plain numbers, as they are stored and printed."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

DIGITS = 6  # of a number in single precision, which has seven of which the last one is uncertain


def to_floats(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Returns scalars on any device as floats, and arrays as float64 arrays on the host, in the same order.

    Numbers in single precision are rounded to six digits, except for whole numbers: 0.67, not 0.6699999868869781.
    """
    values = [_decimal(np.asarray(value)) for value in jax.device_get([*metrics.values()])]
    return {name: value if value.ndim else float(value) for name, value in zip(metrics, values, strict=True)}


def _decimal(value: NDArray[Any]) -> NDArray[np.float64]:
    exact = value.astype(np.float64)
    if value.dtype.itemsize > 4 or value.dtype.kind != "f":
        return exact
    six_digits = np.array([float(f"{number:.{DIGITS}g}") for number in exact.ravel()]).reshape(exact.shape)
    return np.where(exact == np.round(exact), exact, six_digits)


def rounded(value: Any, digits: int = 4) -> Any:
    """Returns numbers as they are printed: floats with `digits` decimals, None for NaN and infinity.

    Mappings, lists and tuples are rounded entry by entry; all other values are returned as they are.
    """
    if isinstance(value, Mapping):
        return {name: rounded(entry, digits) for name, entry in value.items()}  # pyright: ignore[reportUnknownVariableType]  # of any type
    if isinstance(value, list | tuple):
        return [rounded(entry, digits) for entry in value]  # pyright: ignore[reportUnknownVariableType]  # of any type
    if isinstance(value, float):
        return round(value, digits) if math.isfinite(value) else None
    return value
