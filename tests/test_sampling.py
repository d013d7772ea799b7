"""`random_action` draws each legal action equally often and no other; `sample_action` in proportion to weights."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import random_action, sample_action
from jaxgames._platforms import VARIABLE
from jaxgames.sampling import MASKED_LOGIT, shifted_logits

SLOW_SIZES = [pytest.param(size, marks=pytest.mark.slow) for size in (2, 3, 31, 32, 223)]
SIZES = [1, *SLOW_SIZES, 33, 727]  # around the 32 bits of a word, and action spaces of the star game
ROWS = 1000  # masks in a batch: one shape for each size, so one program for each size

sample = jax.jit(jax.vmap(sample_action))
one = jax.jit(random_action)

Draw = Callable[[jax.Array, jax.Array], jax.Array]


def drawing(form: str) -> Draw:
    """`random_action` of a batch, in a form of `jaxgames._platforms`."""
    program = jax.jit(jax.vmap(lambda key, mask: random_action(key, mask)))

    def call(keys: jax.Array, masks: jax.Array) -> jax.Array:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, form)  # read when the program is traced, in the first call
            return program(keys, masks)

    return call


draw, draw_on_gpu = drawing("cpu"), drawing("library")


def keys(seed: int, number: int = ROWS) -> jax.Array:
    return jax.random.split(jax.random.key(seed), number)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("density", [0.0, 0.02, 0.5, 1.0])
def test_key_draws_the_same_legal_action_on_every_platform(size: int, density: float) -> None:
    mask = np.random.default_rng(0).random((ROWS, size)) < density
    actions = np.asarray(draw(keys(1), jnp.asarray(mask)))
    assert actions.dtype == np.int32
    assert mask[np.arange(ROWS), actions][mask.any(1)].all()
    assert not actions[~mask.any(1)].any()
    np.testing.assert_array_equal(draw_on_gpu(keys(1), jnp.asarray(mask)), actions)


@pytest.mark.parametrize(
    "position",
    [
        "minichess",  # its words are of cells
        "minichess(promotion=all) 1k3/3P1/5/5/K4 w - - 0 1",
        "chinese_checkers_diamond 1..0000/..0000./.0000../0000.11/00.1.1./0..1.../...1..1 0 40",
    ],
)
def test_game_draws_its_legal_actions_uniformly(position: str) -> None:
    """Where a game draws from words of its own. Chi-square of 20,000 draws: mean k - 1, variance 2 (k - 1)."""
    game, _, text = position.partition(" ")
    env = jaxgames.make(game)
    state = env.from_string(text) if text else env.init()
    legal = np.asarray(env.legal_action_mask(state))
    actions = jax.jit(jax.vmap(lambda key: env.random_legal_action(state, key)))(keys(10, 20_000))
    counts = np.bincount(np.asarray(actions), minlength=legal.size)
    expected = len(actions) / legal.sum()
    assert counts[legal].sum() == len(actions)
    freedom = legal.sum() - 1
    assert ((counts[legal] - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("size", [3, 223, pytest.param(1225, marks=pytest.mark.slow)])
@pytest.mark.parametrize("draw_one", [random_action, sample_action])
def test_each_legal_action_owns_an_equal_part_of_the_unit_interval(
    draw_one: Draw, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drawn action is exactly uniform if the one random number is; also at both ends of its range."""
    legal = np.flatnonzero(np.arange(size) % 3 != 1)
    mask = jnp.zeros(size, jnp.bool_).at[legal].set(True)
    middles = (np.arange(len(legal)) + 0.5) / len(legal)
    numbers = np.array([0.0, *middles, 1 - 2**-24], np.float32)

    def uniform(key: jax.Array, dtype: Any = np.float32) -> jax.Array:
        return jnp.asarray(numbers)[jax.random.key_data(key)[-1]]  # the number that the key counts to

    monkeypatch.setattr(jax.random, "uniform", uniform)
    words = np.stack([np.zeros(len(numbers)), np.arange(len(numbers))], -1).astype(np.uint32)
    counting = jax.random.wrap_key_data(jnp.asarray(words))
    first, *inner, last = np.asarray(jax.jit(jax.vmap(draw_one, (0, None)))(counting, mask)).tolist()
    assert sorted(inner) == legal.tolist()
    assert (first, last) == (inner[0], inner[-1])


@pytest.mark.parametrize("size", [1, 33, 727])
def test_actions_are_drawn_in_proportion_to_their_weights(size: int) -> None:
    """Chi-square of 20,000 draws, as above. Without weights, action 0 is drawn."""
    weights = (np.random.default_rng(size).random(size) * (np.arange(size) % 3 != 1)).astype(np.float32)
    rows = jnp.broadcast_to(weights, (ROWS, size))
    actions = np.concatenate([sample(keys(batch), rows) for batch in range(20)])
    possible = weights > 0
    counts = np.bincount(actions, minlength=size)
    assert counts[~possible].sum() == 0
    expected = (actions.size * weights / weights.sum())[possible]
    freedom = possible.sum() - 1
    variance = 2 * freedom + (1 / expected).sum()  # of the statistic, whose terms with few expected draws vary more
    assert ((counts[possible] - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(variance) + 1e-9
    assert not sample(keys(0), jnp.zeros((ROWS, size))).any()


def test_many_actions_are_drawn_from_by_groups_of_words() -> None:
    mask = np.random.default_rng(7).random((20, 10_000)) < 0.001
    actions = np.asarray(draw(keys(7, 20), jnp.asarray(mask)))
    assert mask[np.arange(20), actions].all()
    assert len(set(actions // 1000)) > 5
    np.testing.assert_array_equal(draw_on_gpu(keys(7, 20), jnp.asarray(mask)), actions)


def test_actions_of_a_key_are_those_of_earlier_versions() -> None:
    """A run can be repeated only while a key draws the same actions."""
    mask = jnp.asarray(np.arange(223) % 3 == 0)
    assert [int(one(key, mask)) for key in keys(0, 5)] == [222, 0, 69, 204, 15]


def test_logits_are_shifted_below_the_largest_legal_one_and_stay_finite() -> None:
    logits = jnp.array([[1, 3, 9], [-np.inf, 2, -np.inf], [-np.inf, -np.inf, 5], [3e38, -3e38, 1]])
    mask = jnp.array([[1, 1, 0], [1, 1, 1], [1, 1, 0], [1, 1, 1]], jnp.bool_)
    least = MASKED_LOGIT / 2
    expected = np.array([[-2, 0, MASKED_LOGIT], [least, 0, least], [0, 0, MASKED_LOGIT], [0, least, least]])
    np.testing.assert_array_equal(shifted_logits(logits, mask), expected)


# -- arguments that are refused, from their types and shapes ---------------------------------------------------

KEY, MASK = jax.random.key(0), np.ones(5, np.bool_)


@pytest.mark.parametrize("draw_one", [random_action, sample_action])
@pytest.mark.parametrize(
    ("key", "mask", "error", "message"),
    [
        (MASK, KEY, TypeError, "expected a PRNG key .* in this order, not bool and key<fry>"),
        (0, MASK, TypeError, "not int(32)? and bool"),
        (KEY, KEY, TypeError, "not key<fry> and key<fry>"),
        (KEY, [True], TypeError, "not key<fry> and list"),
        (KEY, np.ones((7, 5), np.bool_), ValueError, "got a batch of 7: put jax.vmap around it"),
        (np.zeros((3, 2), np.uint32), MASK, ValueError, "got a batch of 3: put jax.vmap around it"),
        (KEY, np.True_, ValueError, "not a single number"),
    ],
)
def test_argument_of_wrong_type_or_shape_is_refused(
    draw_one: Draw, key: Any, mask: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        draw_one(key, mask)


def test_mask_of_integers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"bool\[num_actions\], .* not key<fry> and int32"):
        random_action(KEY, jnp.ones(5, jnp.int32))


def test_key_of_the_old_style_is_accepted() -> None:
    assert int(one(jax.random.PRNGKey(0), MASK)) == int(one(KEY, MASK))
