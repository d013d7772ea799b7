"""benchmarks.play measures every click of a game on the page."""

import pytest

from benchmarks.play import Arguments, measure_clicks
from tests.play.web.browser import chromium


@pytest.mark.slow
@pytest.mark.browser
def test_benchmark_measures_clicks_up_to_the_end_of_the_game() -> None:
    chromium()
    (row,) = measure_clicks(Arguments(games=("dots_and_boxes(rows=1, cols=2)",)))["rows"]
    assert row["clicks"] == 7
    assert 0 < row["p50"] <= row["p95"]
    assert row["page"] > 0 < row["server"]
