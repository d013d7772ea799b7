"""A function of the chosen rows only: the same numbers as for all rows, and no more calls than there are chunks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from train.ops.episodes import map_chosen_rows


@pytest.mark.parametrize("number", [0, 1, 4, 5, 10])
def test_chosen_rows_are_computed_in_chunks(number: int) -> None:
    """Ten rows in chunks of four, so the last chunk is not full."""
    rng = np.random.default_rng(number)
    chosen = np.zeros(10, np.bool_)
    chosen[rng.permutation(10)[:number]] = True
    rows = {"a": jnp.arange(10.0), "b": jnp.arange(20).reshape(10, 2)}
    calls: list[int] = []

    def function(rows: dict[str, jax.Array]) -> jax.Array:
        jax.debug.callback(lambda: calls.append(1))
        return rows["a"][:, None] * 10 + rows["b"]

    found = jax.jit(lambda rows, chosen: map_chosen_rows(function, rows, chosen, 4))(rows, jnp.asarray(chosen))
    jax.effects_barrier()
    expected = np.arange(10.0)[:, None] * 10 + np.arange(20).reshape(10, 2)
    np.testing.assert_array_equal(np.asarray(found)[chosen], expected[chosen])
    assert len(calls) == -(-number // 4)
