"""Statistics over seeds: bootstrap intervals, a permutation test, and the band of several runs in a picture.

    interval([48_000, 52_000, 44_000], np.median)         # Interval(value, low, high)
    difference(slow, fast)                                # of median(slow) - median(fast), resampled apart
    interval(np.subtract(blanked, whole), np.mean)        # of mean(blanked - whole): two numbers of each run

The percentile bootstrap of Efron (1979) draws the runs of each set with replacement. For five runs the interval of a
median lies between the lowest and the highest run, and covers less than 95 %. So a difference that is claimed should
also be seen in `exact_p`, the permutation test, which has no assumption but exchangeable runs.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from train import plot

NUM_RESAMPLES = 10_000
MAX_SPLITS = 200_000  # of the runs into two sets, all of which are counted
DRAWN_SPLITS = 20_000  # in place of more splits than that
LEVEL = (2.5, 97.5)  # percentiles

Floats = NDArray[np.float64]
Statistic = Callable[..., Any]  # float64[..., runs], axis -> float64[...]; such as np.median


class Interval(NamedTuple):
    """A value and its 95 % interval. It can be infinite where runs never reached a rate."""

    value: float
    low: float
    high: float


def interval(values: Sequence[float] | Floats, statistic: Statistic = np.median, seed: int = 0) -> Interval:
    """Returns a statistic of one number per run with its bootstrap interval. Raises ValueError without a run."""
    runs = _checked(values)
    drawn = _resampled(runs, statistic, np.random.default_rng(seed))
    return Interval(float(statistic(runs, axis=-1)), *_percentiles(drawn))


def difference(
    first: Sequence[float], second: Sequence[float], statistic: Statistic = np.median, seed: int = 0
) -> Interval:
    """Returns statistic(first) - statistic(second) with its bootstrap interval. The two sets are resampled apart.

    It is NaN where both are infinite. Raises ValueError if one of them has no run.
    """
    generator = np.random.default_rng(seed)
    runs = [_checked(values) for values in (first, second)]
    one, other = (_resampled(each, statistic, generator) for each in runs)
    with np.errstate(invalid="ignore"):  # infinity - infinity
        value = float(statistic(runs[0], axis=-1)) - float(statistic(runs[1], axis=-1))
        return Interval(value, *_percentiles(one - other))


def exact_p(first: Sequence[float], second: Sequence[float], seed: int = 0) -> float:
    """Returns the two-sided p-value of the permutation test of equal distributions, by the difference of mean ranks.

    All splits of the runs into sets of these sizes are counted. If there are more than MAX_SPLITS, DRAWN_SPLITS random
    ones are counted. Raises ValueError if a set has no run.
    """
    sizes, together = (len(_checked(first)), len(_checked(second))), np.array([*first, *second])
    ranks = stats.rankdata(together)

    def distance(one: Floats, other: Floats, axis: int) -> Any:
        return np.abs(one.mean(axis) - other.mean(axis)).round(9)  # equal ones stay equal

    resamples = MAX_SPLITS if math.comb(len(ranks), sizes[0]) <= MAX_SPLITS else DRAWN_SPLITS
    parts = ranks[: sizes[0]], ranks[sizes[0] :]
    test = stats.permutation_test(
        parts, distance, vectorized=True, n_resamples=resamples, alternative="greater", rng=np.random.default_rng(seed)
    )
    return float(test.pvalue)


def format_interval(interval: Interval, form: str = "{:.1f}") -> str:
    """Returns an interval as text: "22.4 (21.1 to 22.8)"; infinity is "never"."""
    value, low, high = (_format_number(x, form) for x in interval)
    return f"{value} ({low} to {high})"


def format_mean(values: Sequence[float] | Floats, form: str = "{:.3f}") -> str:
    """Returns the mean of one number per run, with its bootstrap interval, as text."""
    return format_interval(interval(values, np.mean), form)


def format_p(p: float) -> str:
    """Returns a p-value as in tables."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def _format_number(x: float, form: str) -> str:
    text = "never" if math.isinf(x) else "?" if math.isnan(x) else form.format(x)
    return text.removeprefix("-") if text.startswith("-") and not text.strip("-0.") else text  # of "-0.00"


def draw_band(axes: Any, x: ArrayLike, values: ArrayLike, index: int, label: str | None = None, **style: Any) -> str:
    """Draws the median of runs float[runs, points], in a band from the lowest to the highest. Returns its colour.

    A point where a run is not finite is left out. The `index` of the curve in its panel gives the colour.
    """
    points: Floats = np.array(values, np.float64)
    shown = np.isfinite(points).all(0)
    points, shown_x, color = points[:, shown], np.array(x, np.float64)[shown], plot.style_of(index)["color"]
    axes.fill_between(shown_x, points.min(0), points.max(0), color=color, alpha=0.2, linewidth=0)
    axes.plot(shown_x, np.median(points, axis=0), label=label, **plot.style_of(index) | {"marker": ""} | style)
    return color


def _checked(values: Sequence[float] | Floats) -> Floats:
    runs = np.asarray(values, np.float64)
    if runs.ndim != 1 or not runs.size:
        raise ValueError(f"expected one number for each of one or more runs, not an array of shape {list(runs.shape)}")
    return runs


def _resampled(runs: Floats, statistic: Statistic, generator: np.random.Generator) -> Floats:
    """Returns float64[NUM_RESAMPLES], the statistic of runs that are drawn with replacement."""
    return statistic(generator.choice(runs, (NUM_RESAMPLES, runs.size)), axis=-1)


def _percentiles(drawn: Floats) -> tuple[float, float]:
    """Returns the ends of the interval. Each is one of the drawn values, which can be infinite; NaN are left out."""
    known = drawn[~np.isnan(drawn)]
    low, high = np.percentile(known, LEVEL, method="higher") if known.size else (math.nan, math.nan)
    return float(low), float(high)
