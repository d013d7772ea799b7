"""The pieces of work of a clock, by the time that earlier ones took."""

import itertools
from types import SimpleNamespace

import pytest

from jaxgames.solvers.alphabeta import clock as clocks


def sizes_of_pieces(durations: list[float], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes that fit into a second, of pieces of 100 nodes that take these seconds."""
    ends = [*itertools.accumulate(durations)]
    looks = iter([time for piece in zip([0.0, *ends[:-1]], ends, strict=True) for time in piece])
    monkeypatch.setattr(clocks, "time", SimpleNamespace(perf_counter=looks.__next__))
    clock, sizes = clocks.Clock(), []

    def work(size: int) -> tuple[None, int]:
        sizes.append(size)
        return None, 100

    clock.start(1.0, clocks.NO_LIMIT)
    for _ in durations:
        clock.run(work)
    return sizes


def test_one_interrupted_piece_does_not_shorten_the_next_but_two_do(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, slow = 1e-4, 6e-2  # 1e-6 and 6e-4 seconds per node
    sizes = sizes_of_pieces([fast, fast, slow, slow, fast], monkeypatch)
    assert sizes[3] == pytest.approx((1 - 2 * fast - slow) / 2e-6, abs=1)
    assert sizes[4] == pytest.approx((1 - 2 * fast - 2 * slow) / 1.2e-3, abs=1)
