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


def rounded(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Returns `finite` numbers with four decimals, as they are printed."""
    return {name: None if value is None else round(value, 4) for name, value in finite(numbers).items()}
