"""Each operation with a form for CPUs or TPUs has the same result in the library's form.

Whole games are compared beside their references: tests/games/*/test_whole_games.py; `random_action`: test_sampling.py.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames._platforms import VARIABLE, at, by_platform, has_cpu_form, take, written
from train.models.convolution import Convolution

KEY = jax.random.key(0)


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
        convolution,
        lambda: np.concatenate([written(jnp.arange(6).reshape(2, 3)).ravel(), written(jnp.bool_(1))[None]]),
        lookups,
    ],
    ids=["convolution", "written", "lookups"],
)
def test_all_forms_have_the_same_result(compute: Callable[[], np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[np.ndarray] = []
    for form in ("cpu", "tpu", "library"):
        monkeypatch.setenv(VARIABLE, form)
        results.append(compute())
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-5, atol=1e-5)


def test_checkers_has_one_form_on_cpus_and_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """So its games need no comparison."""
    env = jaxgames.make("checkers")
    board = env.init()

    def program(form: str) -> str:
        monkeypatch.setenv(VARIABLE, form)
        shown = jax.make_jaxpr(lambda board: (env.legal_action_mask(board), env.observe(board)))(board)
        return f"{shown} {jax.make_jaxpr(lambda board: env.step(board, 0))(board)}"

    assert program("cpu") == program("library")


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
