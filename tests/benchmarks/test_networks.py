"""benchmarks.networks: the ways to share parameters compute the same; weights are counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.networks import WAYS
from tests.benchmarks.conftest import RunCommand
from train.driver.machine import stamp

SEATS, ROWS, INPUTS = 3, 200, 4


@pytest.mark.slow
@pytest.mark.usefixtures("programs")
def test_network_that_cannot_play_a_game_is_left_out(run_command: RunCommand) -> None:
    game = "'dots_and_boxes(rows=1, cols=1)'"  # too small for alpha_mini
    sizes = "--boards 2 --rollout-length 2 --repeats 1"
    result = run_command(f"networks {sizes} --games {game} --networks 'mlp(hidden_sizes=[2])' alpha_mini")
    assert result.keys() == {"rows", *stamp()}
    (row,) = result["rows"]
    assert row.keys() == {"game", "network", "weights", "microseconds", "relative"}
    assert row["network"] == "mlp(hidden_sizes=[2])"
    assert row["weights"] == 6 * 2 + 2 + 2 * 5 + 5  # 6 inputs, 4 logits and a value
    assert row["relative"] == 1


@pytest.mark.slow  # compiles every way
def test_all_ways_give_every_row_the_output_of_its_seat() -> None:
    """With a linear layer for each seat, so that the expected output is one product per row."""
    params = jax.random.normal(jax.random.key(0), (SEATS, INPUTS, 2))
    rows = jax.random.normal(jax.random.key(1), (ROWS, INPUTS))
    seat = jax.random.randint(jax.random.key(2), (ROWS,), 0, SEATS)

    def apply(weights: jax.Array, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        return rows @ weights, rows.sum(1)

    for way in WAYS.values():
        outputs, sums = way(apply, params, rows, seat)
        np.testing.assert_allclose(outputs, jnp.einsum("ri,rio->ro", rows, params[seat]), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(sums, rows.sum(1), rtol=1e-4, atol=1e-5)
