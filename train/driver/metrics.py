"""Metrics on the host: plain numbers, as they are stored and printed."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np


def to_floats(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Returns scalars on any device as floats, and arrays as float64 arrays on the host, in the same order."""
    values = [np.asarray(value) for value in jax.device_get([*metrics.values()])]
    return {
        name: value.astype(np.float64) if value.ndim else float(value)
        for name, value in zip(metrics, values, strict=True)
    }


def finite(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Returns the numbers with None for NaN and infinity, which JSON does not have."""
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


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
