"""The public functions that compile trace nothing again for an equal env, other keys, boards and parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, arena
from jaxgames.mcts import SearchAgent, SearchConfig
from tests.helpers.positions import repeated
from tests.helpers.solved import solved_boxes
from tests.mcts.evaluations import Linear

TRACED: list[str] = []  # an entry for each trace in this process


@pytest.fixture(scope="module", autouse=True)
def count_traces() -> None:
    def note(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if "jaxpr_trace" in event:
            TRACED.append(f"{event} {kwargs}")

    jax.monitoring.register_event_duration_secs_listener(note)
    jax.jit(lambda: jnp.zeros(()))()
    assert TRACED, "JAX must report what it traces"


def make(id: str = "dots_and_boxes(rows=1, cols=1)") -> Any:
    """A new env at each call."""
    return jaxgames.make(id)


def played(number: int) -> Any:
    env = make()
    pair = [agents.make("random", env), agents.make(f"first(epsilon={number / 4})", env)]
    return arena.play(env, pair, arena.seating((1, 1), "alternating", 4), jax.random.key(number))


act: Callable[..., Any] = jax.jit(lambda agent, key, states: agent.act(key, states))
BOARDS = [repeated(make().from_string(text), 3) for text in ("0000 . 0", "1001 . 1")]
EVALUATE = Linear(make())


def searched(number: int) -> Any:
    agent = SearchAgent(make(), EVALUATE, SearchConfig(simulations=2), EVALUATE.params(number))
    return act(agent, jax.random.key(number), BOARDS[number])


ENTRIES: dict[str, Callable[[int], Any]] = {
    "arena.play": played,
    "arena.seating": lambda number: arena.seating((1, 1), "alternating", 4),
    "arena.random_openings": lambda number: arena.random_openings(make(), jax.random.key(number), 4, 2),
    "arena.results": lambda number: arena.results(make(), played(number), arena.seating((1, 1), "alternating", 4)),
    "act of a search with a network": searched,
    "act of mcts": lambda number: act(
        agents.make("mcts(simulations=2)", make()), jax.random.key(number), BOARDS[number]
    ),
    "act of first with epsilon": lambda number: act(
        agents.make(f"first(epsilon={number / 2})", make()), jax.random.key(number), BOARDS[number]
    ),
    "value of a solution": lambda number: solved_boxes(1, 1).value(BOARDS[number]),
    "best actions of a solution": lambda number: solved_boxes(1, 1).best_actions(BOARDS[number]),
    "children of a solution": lambda number: solved_boxes(1, 1).children(np.arange(number, number + 3)),
    "env.outcome": lambda number: make().outcome(make().from_string(("1111 0 0", "1111 1 1")[number])),
    "auto_reset": lambda number: STEP(
        jaxgames.auto_reset(make()), jaxgames.auto_reset(make()).from_string("1000 . 0"), jnp.int32(number)
    ),
}
STEP: Callable[..., Any] = jax.jit(lambda env, state, action: env.step(state, action), static_argnums=0)


SLOW = {"act of a search with a network", "act of mcts", "act of first with epsilon"}


@pytest.mark.parametrize(
    "entry", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ENTRIES]
)
def test_entry_is_not_traced_again(entry: str) -> None:
    ENTRIES[entry](0)
    before = len(TRACED)
    ENTRIES[entry](1)
    assert TRACED[before:] == []
