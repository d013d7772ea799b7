"""benchmarks.roofline: its figures are what their names say."""

import dataclasses
import json

import jax
import pytest

from benchmarks import roofline, throughput
from benchmarks.harness import Timing
from benchmarks.roofline import Arguments, measure_roofline, min_bytes
from jaxgames import make
from train.ppo import Config

TINY = Arguments(games=("dots_and_boxes(rows=1, cols=2)",), batch_sizes=(4,), steps=32, repeats=2, copied_bytes=4096)


@pytest.mark.slow  # traces for seconds; test_throughput.py has a whole command that is fast
@pytest.mark.usefixtures("programs")
def test_every_column_is_measured_and_fits_into_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(
        env=TINY.games[0], num_envs=4, rollout_length=8, update_epochs=1, num_minibatches=2, hidden_sizes=(5,)
    )
    monkeypatch.setattr(throughput, "config_for", lambda env: config)
    stored = json.loads(json.dumps(measure_roofline(TINY)))
    play, ppo = stored["rows"]
    assert (play["column"], ppo["column"]) == ("random play", "ppo")
    assert play["of_roof"] == pytest.approx(play["steps_per_second"] * play["min_bytes"] / stored["bytes_per_second"])
    assert play["xla_bytes"] > play["min_bytes"]
    assert play["memory_bytes"] > 4 * make(TINY.games[0]).state_bytes
    assert ppo["memory_bytes"] >= play["memory_bytes"]
    assert {"jax", "devices"} <= stored.keys()
    assert "of roof" in capsys.readouterr().err


def test_step_moves_the_board_twice_and_mask_and_observation_once() -> None:
    """A row of two boxes has 7 edges and is observed as 3 x 5 places of 3 planes."""
    env = make(TINY.games[0])
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
    rows = measure_roofline(dataclasses.replace(TINY, columns=("ppo",), batch_sizes=(4, 8, 16)))["rows"]
    assert batches == [4, 8]
    assert [row.get("out_of_memory", False) for row in rows] == [False, True]
    shown = capsys.readouterr().err
    assert "[row 2 of 2" in shown
    assert "| ppo | 8 | out of memory |" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (Arguments(columns=("step",)), "columns must be among random play, ppo, not step"),
        (Arguments(batch_sizes=(0,)), "must be positive"),
        (Arguments(games=("chess",)), "the games are"),
    ],
)
def test_bad_input_is_refused_with_the_allowed_values(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure_roofline(arguments)
