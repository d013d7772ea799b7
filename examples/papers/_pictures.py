"""Curves of several runs in the pictures of the studies: the median, in a band from the lowest to the highest."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from train import plot


def draw_band(axes: Any, x: ArrayLike, values: ArrayLike, index: int, label: str | None = None, **style: Any) -> str:
    """Draws one curve of several runs, where all of them have a number. Returns its colour.

    Args:
      axes: the panel.
      x: float[points].
      values: float[runs, points]; a point where a run is not finite is left out.
      index: of the curve in its panel, which gives its colour.
      label: its text in the legend.
      **style: of the line, as matplotlib takes it.
    """
    points: NDArray[np.float64] = np.array(values, np.float64)
    shown = np.isfinite(points).all(0)
    points, of_x, color = points[:, shown], np.array(x, np.float64)[shown], plot.style_of(index)["color"]
    axes.fill_between(of_x, points.min(0), points.max(0), color=color, alpha=0.2, linewidth=0)
    axes.plot(of_x, np.median(points, axis=0), label=label, **plot.style_of(index) | {"marker": ""} | style)
    return color
