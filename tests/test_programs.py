"""What is compiled: all forms of an operation agree, programs lower for accelerators, and nothing is traced again."""

from collections.abc import Callable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, arena
from jaxgames._platforms import VARIABLE, at, by_platform, has_cpu_form, take, written
from tests.helpers.positions import repeated
from tests.helpers.solved import solved_boxes
from train.models.convolution import Convolution
from train.ppo import PPO, config_for

KEY = jax.random.key(0)

# -- forms: whole games are compared beside their references, `random_action` in test_sampling.py -------------------


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


def test_variable_chooses_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    for form, expected in {"auto": 1, "cpu": 1, "library": 2, "tpu": 3}.items():
        monkeypatch.setenv(VARIABLE, form)
        forms: Any = {"cpu": lambda x: x + 1, "library": lambda x: x + 2, "tpu": lambda x: x + 3}  # pyright: ignore[reportUnknownLambdaType]
        assert jax.jit(lambda x, forms=forms: by_platform(x, **forms))(jnp.int32(0)) == expected
        assert has_cpu_form() == (expected == 1)
    monkeypatch.setenv(VARIABLE, "gpu")
    with pytest.raises(ValueError, match="JAXGAMES_FORMS must be one of auto, cpu, tpu, library, not 'gpu'"):
        by_platform(jnp.int32(0), cpu=lambda x: x, library=lambda x: x)


# -- lowering for GPUs and TPUs: no accelerator is needed ------------------------------------------------------------


@pytest.mark.usefixtures("every_form")
def test_iteration_of_ppo_lowers_for_accelerators() -> None:
    """With convolutions, and dense layers behind them. The games are in tests/contract/."""
    game = "dots_and_boxes(rows=2, cols=2)"
    ppo = PPO(config_for(game, num_envs=8, rollout_length=6, num_minibatches=2, update_epochs=2))
    train_state = jax.eval_shape(ppo.init, jax.eval_shape(lambda: KEY))
    jax.export.export(jax.jit(ppo.iterate), platforms=("cuda", "tpu"))(train_state)


# -- the public functions that compile trace nothing again for an equal env, other keys, boards and parameters -------

TRACED: list[str] = []  # an entry for each trace in this process


@pytest.fixture(scope="module")
def count_traces() -> None:
    def note(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if "jaxpr_trace" in event:
            TRACED.append(f"{event} {kwargs}")

    jax.monitoring.register_event_duration_secs_listener(note)
    jax.jit(lambda: jnp.zeros(()))()
    assert TRACED, "JAX must report what it traces"


def make() -> Any:
    """A new env at each call."""
    return jaxgames.make("dots_and_boxes(rows=1, cols=1)")


def played(number: int) -> Any:
    env = make()
    pair = [agents.make("random", env), agents.make(f"first(epsilon={number / 4})", env)]
    return arena.play(env, pair, arena.seating((1, 1), "alternating", 4), jax.random.key(number))


act: Callable[..., Any] = jax.jit(lambda agent, key, states: agent.act(key, states))
BOARDS = [repeated(make().from_string(text), 3) for text in ("0000 . 0", "1001 . 1")]


def searched_by_mcts(number: int) -> Any:
    return act(agents.make("mcts(simulations=2)", make()), jax.random.key(number), BOARDS[number])


ENTRIES: dict[str, Callable[[int], Any]] = {
    "arena.play": played,
    "arena.seating": lambda number: arena.seating((1, 1), "alternating", 4),
    "arena.random_openings": lambda number: arena.random_openings(make(), jax.random.key(number), 4, 2),
    "arena.results": lambda number: arena.results(make(), played(number), arena.seating((1, 1), "alternating", 4)),
    "act of mcts": searched_by_mcts,
    "value of a solution": lambda number: solved_boxes(1, 1).value(BOARDS[number]),
    "best actions of a solution": lambda number: solved_boxes(1, 1).best_actions(BOARDS[number]),
    "children of a solution": lambda number: solved_boxes(1, 1).children(np.arange(number, number + 3)),
    "env.outcome": lambda number: make().outcome(make().from_string(("1111 0 0", "1111 1 1")[number])),
}


@pytest.mark.usefixtures("count_traces")
@pytest.mark.parametrize(
    "entry", [pytest.param(name, marks=[pytest.mark.slow] * name.startswith("act")) for name in ENTRIES]
)
def test_entry_is_not_traced_again(entry: str) -> None:
    ENTRIES[entry](0)
    before = len(TRACED)
    ENTRIES[entry](1)
    assert TRACED[before:] == []
