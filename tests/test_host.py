"""`host`: one compiled program and one copy per call, with exactly the values of the env's own functions."""

import dataclasses
import gc
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.host import BoardInfo, Host, host
from tests.helpers.positions import compiled, start
from tests.helpers.sticks import LuckySticks, Sticks

STICKS = Sticks()
CPU = jax.devices("cpu")[0]


def assert_same_info(info: BoardInfo, env: jaxgames.Env[Any], state: Any) -> None:
    """Compares every value with the env's own functions."""
    state = jax.device_get(state)
    plain = info.player, info.terminated, info.truncated
    assert plain == (state.current_player, state.terminated, state.truncated)
    assert [type(value) for value in plain] == [int, bool, bool]
    assert info.over == (info.terminated or info.truncated)
    for array, expected in (
        (info.mask, compiled(env).mask(state)),
        (info.rewards, state.rewards),
        (info.winners, jax.jit(env.winners)(state)),
    ):
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)


def test_equal_envs_share_their_programs_and_those_of_many_are_given_back() -> None:
    """So a server that is asked for ever more parameters of a game does not grow for ever."""
    first = host(Sticks(sticks=100))
    assert first is host(Sticks(sticks=100)) is host(Sticks(sticks=100), CPU)
    first.init()
    gone = weakref.ref(first)
    del first
    for sticks in range(101, 200):
        host(Sticks(sticks=sticks))
    gc.collect()
    assert gone() is None


# -- values ------------------------------------------------------------------------------------------------------


def test_values_of_a_game_are_those_of_its_own_functions() -> None:
    """Along a random game, whose last action is illegal, with an observation of each seat."""
    env = jaxgames.make("dots_and_boxes(rows=2, cols=3, reward='boxes')")
    rng = np.random.default_rng(0)
    state, info = host(env).init()
    expected = start(env)
    for _ in range(12):
        assert_same_info(info, env, expected)
        look = compiled(env).look(expected)
        np.testing.assert_array_equal(host(env).observe(state), look.mover)
        seat = int(rng.integers(env.num_players))
        np.testing.assert_array_equal(host(env).observe(state, seat), look.seats[seat])
        if info.over:
            break
        action = rng.choice(np.flatnonzero(info.mask))
        state, info = host(env).step(state, action)
        expected = compiled(env).step(expected, np.int32(action))
    if not info.over:
        state, info = host(env).step(state, -1)
        expected = compiled(env).step(expected, np.int32(-1))
        assert info.terminated
    assert_same_info(info, env, expected)
    after, again = host(env).step(state, 0)
    assert not again.rewards.any()
    assert host(env).look(after).over


def test_truncated_board_is_over_without_winners() -> None:
    info = host(STICKS).look(dataclasses.replace(STICKS.from_string("3 2"), truncated=np.True_))
    assert (info.terminated, info.truncated, info.over) == (False, True, True)
    assert not info.winners.any()


def test_old_states_stay_valid() -> None:
    state, info = host(STICKS).init()
    host(STICKS).step(state, 2)
    after, _ = host(STICKS).step(state, 0)
    assert STICKS.to_string(after) == "6 1"
    assert info.mask.all()
    with pytest.raises(ValueError, match="read-only"):
        info.mask[0] = False


def test_game_of_chance_follows_its_keys() -> None:
    game, keys = host(LuckySticks()), jax.random.split(jax.random.key(0), 20)
    left: Counter[str] = Counter()
    for key in keys:
        (state, _), (same, _) = (game.step(game.init(key)[0], 0, keys[0]) for _ in range(2))
        assert game.env.to_string(state) == game.env.to_string(same)
        left[game.env.to_string(state)] += 1
    assert left.keys() == {"6 1", "5 1"}


# -- one program and one copy --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted(Sticks):
    """Sticks that count how often Python runs their functions: once per program that is traced."""

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        COUNTS["steps"] += 1
        return super()._step(state, action, key)

    def _winners(self, state: Any) -> jax.Array:
        COUNTS["winners"] += 1
        return super()._winners(state)

    def _observe(self, state: Any, player: jax.Array) -> jax.Array:
        COUNTS["observations"] += 1
        return super()._observe(state, player)


COUNTS: Counter[str] = Counter()


def test_each_function_is_one_program_and_each_call_copies_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """`init`, `step` and `look` each have the winners in a program of their own."""
    get, game = jax.device_get, Host(Counted(sticks=9), CPU)

    def counting_get(tree: Any) -> Any:
        COUNTS["copied arrays"] += len(jax.tree.leaves(tree))
        return get(tree)

    monkeypatch.setattr(jax, "device_get", counting_get)
    COUNTS.clear()
    state, _ = game.init()
    for _ in range(3):
        game.init()
        game.look(state)
        state, _ = game.step(state, 0)
    assert COUNTS == {"steps": 1, "winners": 3, "copied arrays": 10}
    game.observe(state)
    game.observe(state)
    assert COUNTS["observations"] == 1


# -- wrong arguments, and devices: tests/interop/test_adapters.py has more -----------------------------------------


def test_missing_cpu_device_is_refused_with_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_cpu(backend: str) -> Any:
        raise RuntimeError(f"Unknown backend {backend}")

    monkeypatch.setattr(jax, "devices", without_cpu)
    with pytest.raises(RuntimeError, match="JAX_PLATFORMS=cuda,cpu, or pass device"):
        host(STICKS)


ONE_BOX = jaxgames.make("dots_and_boxes(rows=1, cols=1)")


def at_7() -> Any:
    return STICKS.from_string("7 0")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: host(STICKS).step(at_7(), np.array([1])), TypeError, "action must be one integer, not"),
        (lambda: host(STICKS).observe(at_7(), -1), ValueError, "seat must be an integer from 0 to 2, not -1"),
        (lambda: host(STICKS).observe(at_7(), 3), ValueError, "seat must be an integer from 0 to 2, not 3"),
        (lambda: host(ONE_BOX).look(at_7()), TypeError, "expected a state of dots_and_boxes"),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
