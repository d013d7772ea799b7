"""`random_action`: always legal, every legal action equally likely; `sample_action`: as likely as its weight."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import random_action, sample_action

SIZES = (1, 2, 3, 31, 32, 33, 223, 727)  # around a word, and action spaces of the star game

draw = jax.jit(jax.vmap(random_action))


def keys(seed: int, number: int) -> jax.Array:
    return jax.random.split(jax.random.key(seed), number)


@pytest.mark.parametrize("size", SIZES)
def test_the_only_legal_action_is_drawn_wherever_it_stands(size: int) -> None:
    np.testing.assert_array_equal(draw(keys(0, size), jnp.eye(size, dtype=jnp.bool_)), np.arange(size))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("density", [0.02, 0.5, 0.98, 1.0])
def test_an_illegal_action_is_never_drawn(size: int, density: float) -> None:
    mask = np.random.default_rng(0).random((1000, size)) < density
    mask = mask[mask.any(1)]
    if not len(mask):
        mask = np.ones((1, size), np.bool_)
    actions = np.asarray(draw(keys(1, len(mask)), jnp.asarray(mask)))
    assert actions.dtype == np.int32
    assert mask[np.arange(len(mask)), actions].all()


def test_first_and_last_are_drawn_alike() -> None:
    mask = jnp.zeros(727, jnp.bool_).at[jnp.array([0, 726])].set(True)
    actions = np.asarray(jax.jit(jax.vmap(random_action, in_axes=(0, None)))(keys(2, 1000), mask))
    assert set(actions.tolist()) == {0, 726}
    assert abs((actions == 0).mean() - 0.5) < 0.08  # five standard deviations


@pytest.mark.parametrize("size", [2, 223, 727])
def test_the_choice_is_uniform(size: int) -> None:
    """Chi-square of 20,000 draws against equal counts: mean k - 1, variance 2 (k - 1)."""
    legal = np.flatnonzero(np.random.default_rng(size).random(size) < 0.3) if size > 2 else np.arange(2)
    mask = jnp.zeros(size, jnp.bool_).at[legal].set(True)
    actions = np.asarray(jax.jit(jax.vmap(random_action, in_axes=(0, None)))(keys(3, 20_000), mask))
    counts = np.bincount(actions, minlength=size)[legal]
    expected = 20_000 / len(legal)
    freedom = len(legal) - 1
    assert counts.sum() == 20_000
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("size", [1, 3, 223])
@pytest.mark.parametrize("draw_one", [random_action, sample_action])
def test_equal_parts_of_the_unit_interval_belong_to_the_legal_actions(
    draw_one: Callable[[jax.Array, jax.Array], jax.Array], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly uniform, if the one random number is; also at both ends of its range."""

    def as_given(key: jax.Array) -> jax.Array:
        return key

    monkeypatch.setattr(jax.random, "uniform", as_given)
    legal = np.flatnonzero(np.arange(size) % 3 != 1)
    mask = jnp.zeros(size, jnp.bool_).at[legal].set(True)
    middles = (np.arange(len(legal)) + 0.5) / len(legal)
    numbers = jnp.asarray([0.0, *middles, 1 - 2**-24], jnp.float32)
    first, *inner, last = np.asarray(jax.jit(jax.vmap(lambda number: draw_one(number, mask)))(numbers)).tolist()
    assert sorted(inner) == legal.tolist()
    assert (first, last) == (inner[0], inner[-1])


@pytest.mark.parametrize("size", [1, 3, 223, 727])
def test_actions_are_drawn_in_proportion_to_their_weights(size: int) -> None:
    """Chi-square of 20,000 draws, as above."""
    weights = np.random.default_rng(size).random(size) * (np.arange(size) % 3 != 1)
    actions = np.asarray(jax.jit(jax.vmap(sample_action, in_axes=(0, None)))(keys(6, 20_000), jnp.asarray(weights)))
    possible = weights > 0
    counts = np.bincount(actions, minlength=size)
    assert counts[~possible].sum() == 0
    expected = (20_000 * weights / weights.sum())[possible]
    freedom = possible.sum() - 1
    variance = 2 * freedom + (1 / expected).sum()  # of the statistic, whose terms with few expected draws vary more
    assert ((counts[possible] - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(variance) + 1e-9


@pytest.mark.parametrize("size", SIZES)
def test_without_a_legal_action_it_is_0(size: int) -> None:
    none = jnp.zeros((5, size), jnp.bool_)
    assert draw(keys(4, 5), none).tolist() == [0] * 5
    assert jax.vmap(sample_action)(keys(4, 5), none).tolist() == [0] * 5


def test_a_very_large_action_space() -> None:
    """Beyond the sizes whose prefix sums are a product."""
    np.testing.assert_array_equal(draw(keys(7, 20), jnp.eye(20, 10_000, 9_979, dtype=jnp.bool_)), 9_979 + np.arange(20))


def test_a_batch_draws_what_its_rows_draw() -> None:
    mask = jnp.asarray(np.random.default_rng(5).random((20, 223)) < 0.1)
    alone = [int(draw(key[None], row[None])[0]) for key, row in zip(keys(5, 20), mask, strict=True)]
    assert draw(keys(5, 20), mask).tolist() == alone
