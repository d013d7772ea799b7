"""benchmarks.roofline: its figures are what their names say."""

import jax
import pytest

from benchmarks import roofline
from benchmarks.harness import Timing
from benchmarks.roofline import Arguments, measure_roofline, min_bytes
from jaxgames import make

GAME = "dots_and_boxes(rows=1, cols=2)"


def test_step_moves_the_board_twice_and_mask_and_observation_once() -> None:
    """A row of two boxes has 7 edges and is observed as 3 x 5 places of 3 planes."""
    env = make(GAME)
    assert env.num_actions == 7
    assert min_bytes(env) == 2 * env.state_bytes + 7 + 3 * 5 * 3


def test_batch_that_does_not_fit_into_memory_ends_its_column(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    batches: list[int] = []

    def run_out_of_memory(env: object, batch: int, *_: object) -> Timing:
        batches.append(batch)
        if batch > 4:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
        return Timing(1000.0, 0.0, 1.0, 1)

    monkeypatch.setattr(roofline, "COLUMNS", {"ppo": run_out_of_memory})
    arguments = Arguments(games=(GAME,), columns=("ppo",), batch_sizes=(4, 8, 16), repeats=2, copied_bytes=4096)
    rows = measure_roofline(arguments)["rows"]
    assert batches == [4, 8]
    assert [row.get("out_of_memory", False) for row in rows] == [False, True]
    assert "[row 2 of 2" in capsys.readouterr().err
