"""Metrics on the host: plain numbers, as they are stored and printed."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np


def to_floats(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Returns scalars on any device as floats, in the same order."""
    values = jax.device_get([*metrics.values()])
    return {name: float(np.asarray(value)) for name, value in zip(metrics, values, strict=True)}


def finite(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Returns the numbers with None for NaN and infinity, which JSON does not have."""
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def rounded(value: Any) -> Any:
    """Returns numbers as they are printed: floats with four decimals, None for NaN and infinity.

    Mappings, lists and tuples are rounded entry by entry; all other values are returned as they are.
    """
    if isinstance(value, Mapping):
        return {name: rounded(entry) for name, entry in value.items()}  # pyright: ignore[reportUnknownVariableType]  # of any type
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]  # pyright: ignore[reportUnknownVariableType]  # of any type
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None
    return value
