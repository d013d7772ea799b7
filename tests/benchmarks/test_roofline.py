"""The roofline's figures are what their names say; how fast is not a test's business."""

import json

import pytest

from benchmarks.roofline import Arguments, least_bytes, measure
from jaxgames import make

TINY = Arguments(games=("dots_and_boxes(rows=1, cols=2)",), batch_sizes=(4,), steps=32, repeats=2, copied_bytes=4096)


def test_every_column_is_measured_and_fits_into_json(capsys: pytest.CaptureFixture[str]) -> None:
    stored = json.loads(json.dumps(measure(TINY)))
    play, ppo = stored["rows"]
    assert (play["column"], ppo["column"]) == ("random play", "ppo")
    assert play["of_roof"] == pytest.approx(play["steps_per_second"] * play["least_bytes"] / stored["bytes_per_second"])
    assert play["xla_bytes"] > play["least_bytes"]
    assert play["memory_bytes"] > 4 * make(TINY.games[0]).state_bytes
    assert ppo["memory_bytes"] > play["memory_bytes"]
    assert {"jax", "devices"} <= stored.keys()
    assert "of roof" in capsys.readouterr().err


def test_a_step_moves_the_board_twice_and_mask_and_observation_once() -> None:
    """One row of two boxes: 7 edges, observed as 3 x 5 places of 3 planes."""
    env = make(TINY.games[0])
    assert env.num_actions == 7
    assert least_bytes(env) == 2 * env.state_bytes + 7 + 3 * 5 * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (Arguments(columns=("step",)), "columns must be among random play, ppo, not step"),
        (Arguments(batch_sizes=(0,)), "must be positive"),
        (Arguments(games=("chess",)), "the games are"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(arguments)
