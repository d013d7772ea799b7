"""Curves of several runs: the median and the band, without points where a run has no number."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from examples.papers._pictures import draw_band


def test_curve_is_the_median_in_a_band_and_leaves_out_points_without_a_number() -> None:
    axes: Any = Figure().subplots()
    draw_band(axes, [1, 2, 3], [[0.0, 5.0, np.inf], [1.0, 6.0, 0.0], [4.0, 9.0, 0.0]], 0, "ours", marker="o")
    [line] = axes.get_lines()
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 2], [1, 6])
    assert (line.get_label(), line.get_marker()) == ("ours", "o")
    [band] = axes.collections
    corners = {(float(x), float(y)) for x, y in band.get_paths()[0].vertices}
    assert corners == {(1, 0), (1, 4), (2, 5), (2, 9)}
