"""benchmarks.parameter_sharing compares three ways to compute the same thing."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.parameter_sharing import WAYS, Arguments, measure_parameter_sharing

SEATS, ROWS, INPUTS = 3, 200, 4


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


@pytest.mark.slow  # traces for seconds; test_throughput.py has a whole command that is fast
@pytest.mark.usefixtures("programs")
def test_every_way_is_measured_in_both_directions(capsys: pytest.CaptureFixture[str]) -> None:
    result = measure_parameter_sharing(Arguments(rows=(2,), repeats=1))
    (line,) = result["microseconds_per_row"]
    columns: Any = {f"{way}, {direction}" for way in WAYS for direction in ("forward", "gradient")}
    assert line.keys() == columns | {"rows"}
    assert all(line[column] > 0 for column in columns)
    assert "| rows | tiles, forward |" in capsys.readouterr().err


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        measure_parameter_sharing(Arguments(rows=(0,)))
