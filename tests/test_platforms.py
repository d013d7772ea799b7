"""Each operation with a form for CPUs or TPUs has the same result in the library's form."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames._platforms import VARIABLE, at, by_platform, computed_once, has_cpu_form, take
from jaxgames.games.chinese_checkers_diamond_board import move_bit
from jaxgames.games.minichess_board import decode
from train.models.convolution import Convolution

KEY = jax.random.key(0)


def random_game(game: str) -> np.ndarray:
    """Returns the actions of one random game and the results of the functions that have a form per platform.

    `random_action` is not compared: a key draws other actions on a GPU or TPU.
    """
    env = jaxgames.make(game)
    restarting = jaxgames.auto_reset(env)
    actions = jnp.arange(-2, env.num_actions + 2)

    def step(state: Any, key: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        board = state.board
        mask = env.legal_action_mask(board)
        action = jaxgames.sample_action(key, mask)
        last_seat = jnp.int32(env.num_players - 1)
        legal = jax.vmap(env._is_legal, (None, 0))(board, actions)  # pyright: ignore[reportPrivateUsage]
        views = env.observe(board).ravel(), env.observe(board, last_seat).ravel()
        return restarting.step(state, action), (mask, *views, legal, action)

    start = restarting.init(KEY)
    return np.column_stack(jax.jit(lambda keys: jax.lax.scan(step, start, keys)[1])(jax.random.split(KEY, 100)))


def lookups() -> np.ndarray:
    """Every value that an int8 or a bool can have, taken one by one and at known places."""
    numbers, places = np.arange(-128, 128).astype(np.int8), np.array([[255, 0, 7], [128, 7, 1]])

    def values(numbers: jax.Array) -> tuple[jax.Array, ...]:
        one_by_one = jax.vmap(lambda index: at(numbers, index))(jnp.arange(256))
        flags = jax.vmap(lambda index: at(numbers > 0, index))(jnp.arange(256))
        return one_by_one, flags, take(numbers, places).ravel(), take(numbers, np.array([256]))

    return np.concatenate(jax.jit(values)(numbers))


def convolution() -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(4, 5, 6, 3)).astype(np.float32)
    layer = Convolution(8)
    return np.asarray(jax.jit(lambda x: layer.apply(layer.init(KEY, x), x))(x))


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param(lambda: random_game("chinese_checkers(size=1, num_players=3)"), marks=pytest.mark.slow),
        pytest.param(lambda: random_game("chinese_checkers(size=2, num_players=6)"), marks=pytest.mark.slow),
        lambda: random_game("dots_and_boxes(rows=2, cols=3)"),
        pytest.param(lambda: random_game("minichess(double_step=True)"), marks=pytest.mark.slow),
        pytest.param(lambda: random_game("minichess(rules=king_capture, promotion=queen)"), marks=pytest.mark.slow),
        lambda: np.stack(jax.jit(lambda: jax.vmap(decode)(jnp.arange(1225)))()),
        pytest.param(
            lambda: random_game("chinese_checkers_diamond(size=4, pieces=6, tip_lock=True)"), marks=pytest.mark.slow
        ),
        lambda: np.asarray(jax.jit(lambda: move_bit(7, *jnp.divmod(jnp.arange(49**2), 49)))()),
        convolution,
        lambda: np.asarray(computed_once(jnp.array([False, True]))),
        lookups,
    ],
    ids=[
        "star of three seats",
        "star of six seats",
        "boxes",
        "minichess",
        "king capture",
        "targets",
        "diamond",
        "move bits",
        "convolution",
        "computed_once",
        "lookups",
    ],
)
def test_all_forms_have_the_same_result(compute: Callable[[], np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[np.ndarray] = []
    for form in ("cpu", "tpu", "library"):
        monkeypatch.setenv(VARIABLE, form)
        results.append(compute())
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("form", "expected"), [("auto", 1), ("cpu", 1), ("library", 2), ("tpu", 3)])
def test_variable_chooses_the_form(form: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, form)
    chosen = jax.jit(lambda x: by_platform(x, cpu=lambda x: x + 1, library=lambda x: x + 2, tpu=lambda x: x + 3))(
        jnp.int32(0)
    )
    assert chosen == expected
    assert has_cpu_form() == (expected == 1)


def test_unknown_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "gpu")
    with pytest.raises(ValueError, match="JAXGAMES_FORMS must be one of auto, cpu, tpu, library, not 'gpu'"):
        by_platform(jnp.int32(0), cpu=lambda x: x, library=lambda x: x)
