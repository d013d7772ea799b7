"""Metrics on the host: plain numbers, as they are stored and printed."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray


def to_floats(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Returns scalars on any device as floats, and arrays as float64 arrays on the host, in the same order.

    A number in single precision becomes the shortest decimal number that stands for it: 0.67, not 0.6699999868869781.
    """
    values = [_decimal(np.asarray(value)) for value in jax.device_get([*metrics.values()])]
    return {name: value if value.ndim else float(value) for name, value in zip(metrics, values, strict=True)}


def _decimal(value: NDArray[Any]) -> NDArray[np.float64]:
    shortest = value.astype(str) if value.dtype in (np.float32, np.float16) else value
    return shortest.astype(np.float64)


def finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row with None for NaN and infinity, which JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


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
