"""`Env`: its functions refuse wrong arguments, and it says who won and why a game ended."""

import dataclasses
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import Env, Outcome, auto_reset
from tests.helpers.sticks import LuckySticks, Sticks

KEY = jax.random.key(0)
ENV = Sticks()
STATE = jax.device_get(ENV.init(KEY))


# -- plain values ------------------------------------------------------------------------------------------------


def test_return_range_follows_from_the_length_of_a_game_unless_only_its_end_pays() -> None:
    class AtTheEnd(Sticks):
        @property
        def terminal_rewards(self) -> bool:
            return True

    class Endless(Sticks):
        @property
        def max_steps(self) -> int | None:
            return None

    assert ENV.reward_range == (-1, 2)
    assert ENV.return_range == (-7, 14)
    assert AtTheEnd().return_range == (-1, 2)
    assert Endless().return_range == (-float("inf"), float("inf"))


# -- no device is touched ---------------------------------------------------------------------------------------------

MAKE_AND_ASK = """
import sys

from jax._src import xla_bridge

import jaxgames

assert "chex" not in sys.modules and len([name for name in sys.modules if name.startswith("jaxgames")]) <= 45
for name in jaxgames.__all__:
    assert getattr(jaxgames, name) is not None
assert not xla_bridge.backends_are_initialized(), "import"
for name in jaxgames.list_games():
    env = jaxgames.make(name)
    _ = hash(env), env.num_actions, env.observation_shape, env.version, env.max_steps, env.return_range, env.zero_sum
assert not xla_bridge.backends_are_initialized(), "make"
assert callable(jaxgames.solvers.solve) and callable(jaxgames.mcts.search), "reached by import jaxgames alone"
assert callable(jaxgames.solvers.strength.measure)
from tests.distribution.programs import FOREIGN

assert not FOREIGN & sys.modules.keys(), "import takes the dependencies of the core only"

import jax
import numpy as np

sys.modules.update(dict.fromkeys(FOREIGN | {"train"}))  # an import of one raises ImportError
env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
agent = jaxgames.agents.make("exported(tests/data/formats/policy.1.policy)", env)
states = jax.tree.map(lambda leaf: np.asarray(leaf)[None], env.init())
assert 0 <= jaxgames.agents.act_compiled(agent, jax.random.key(0), states)[0] < env.num_actions
del sys.modules["mctx"]  # a search needs it
agent = jaxgames.agents.make("exported(tests/data/formats/policy.1.policy, simulations=2)", env)
assert jax.eval_shape(agent.act, jax.random.key(0), states).shape == (1,)
"""


def test_no_device_is_initialised_by_import_and_make() -> None:
    """Nor by the plain properties of an env, which are plain Python values. A policy file plays without extras."""
    ran = subprocess.run([sys.executable, "-c", MAKE_AND_ASK], capture_output=True, text=True, env=dict(os.environ))
    assert ran.returncode == 0, ran.stderr


# -- wrong arguments are refused from their types and shapes, while a program is traced --------------------------

ON_DEVICE: dict[str, Callable[[Env[Any], Any], Any]] = {
    "step": lambda env, state: env.step(state, 0),
    "legal_action_mask": lambda env, state: env.legal_action_mask(state),
    "random_legal_action": lambda env, state: env.random_legal_action(state, KEY),
    "observe": lambda env, state: env.observe(state),
    "winners": lambda env, state: env.winners(state),
}
ON_HOST: dict[str, Callable[[Env[Any], Any], Any]] = {
    "outcome": lambda env, state: env.outcome(state),
    "action_to_string": lambda env, state: env.action_to_string(state, 0),
    "action_from_string": lambda env, state: env.action_from_string(state, "take 1"),
    "to_string": lambda env, state: env.to_string(state),
    "to_text": lambda env, state: env.to_text(state),
}
OF_A_STATE = ON_DEVICE | ON_HOST
RESTARTING = auto_reset(ENV, keep_before_reset=True)
ENVS: dict[str, Env[Any]] = {"game": ENV, "auto_reset": RESTARTING}


@pytest.mark.parametrize("method", OF_A_STATE)
def test_batch_of_boards_is_refused_without_vmap(method: str) -> None:
    for env in ENVS.values():
        state = jax.eval_shape(env.init, KEY)
        batch = jax.tree.map(lambda leaf: np.zeros((2, 3, *leaf.shape), leaf.dtype), state)
        remedy = f"put jax.vmap around env.{method}" if method in ON_DEVICE else r"pass one, jax.tree.map\(.*"
        with pytest.raises(ValueError, match=f"^expected one board, got a batch of 2 x 3: {remedy}$"):
            OF_A_STATE[method](env, batch)


@pytest.mark.parametrize("env", ENVS.values(), ids=ENVS)
def test_batch_of_keys_is_refused_without_vmap(env: Env[Any]) -> None:
    for keys in (jax.random.split(KEY, 5), jnp.zeros((5, 2), jnp.uint32)):
        with pytest.raises(ValueError, match=r"expected one key, got a batch of 5: put jax.vmap around env.init"):
            env.init(keys)
    with pytest.raises(ValueError, match=r"expected one key, got a batch of 5: put jax.vmap around env.step"):
        env.step(env.init(KEY), 0, jax.random.split(KEY, 5))


@pytest.mark.parametrize("method", OF_A_STATE)
def test_state_of_another_kind_is_refused(method: str) -> None:
    """Of `auto_reset`, of no env, of other parameters, and with a leaf of another shape or dtype."""
    call = OF_A_STATE[method]
    with pytest.raises(TypeError, match=rf"got one of auto_reset\(env\): call auto_reset\(env\).{method}"):
        call(ENV, auto_reset(ENV).init(KEY))
    with pytest.raises(TypeError, match=r"expected a state of auto_reset\(sticks\(.*\)\), got a plain SticksState"):
        call(auto_reset(ENV), STATE)
    with pytest.raises(TypeError, match=rf"env.{method} expected a state of sticks\(.*\), not tuple"):
        call(ENV, (1, 2))
    with pytest.raises(TypeError, match=r"expected a state of .*, a DotsAndBoxesState, not SticksState"):
        call(jaxgames.make("dots_and_boxes"), STATE)
    for name, other, message in OTHER_PARAMETERS:
        with pytest.raises(TypeError, match=rf"env\.{method} expected a state of .*: its {message}.*; make it by init"):
            call(jaxgames.make(name), jaxgames.make(other).init())
    for leaf in ("left", "rewards", "truncated"):
        value = getattr(STATE, leaf)
        for wrong in (np.stack([value, value]), value.astype(np.int16)):
            changed = dataclasses.replace(STATE, **{leaf: wrong})
            with pytest.raises(TypeError, match=rf"env\.{method} expected a state of .*: its {leaf} must be .*, not "):
                call(ENV, changed)
            if method in ON_DEVICE:
                with pytest.raises(TypeError, match=f"its {leaf} must be"):
                    jax.eval_shape(lambda state: call(ENV, state), changed)


OTHER_PARAMETERS = [
    ("dots_and_boxes(rows=2, cols=2)", "dots_and_boxes(rows=2, cols=3)", r"edges must be bool\[12\], not bool\[17\]"),
    ("chinese_checkers(size=1, num_players=3)", "chinese_checkers(size=1, num_players=2)", "rewards must be float32"),
    ("minichess", "minichess(rules='king_capture')", "leaves must be those of init"),
]


@pytest.mark.parametrize("env", ENVS.values(), ids=ENVS)
def test_action_is_refused_unless_it_is_an_integer(env: Env[Any]) -> None:
    for action in (0.0, np.nan, True, "0", None, [0], np.float32(0), np.bool_(0), jnp.float32(0), jnp.bool_(1), KEY):
        wrong: Any = action
        with pytest.raises(TypeError, match="action must be one integer, not "):
            env.step(env.init(KEY), wrong)
        if env is not RESTARTING:
            with pytest.raises(TypeError, match="expected an action from 0 to 2, one integer, not "):
                env.action_to_string(env.init(KEY), wrong)


def test_wide_integer_of_an_array_stays_out_of_range() -> None:
    with jax.enable_x64(True):
        for action in (jnp.int64(2**32 + 1), jnp.int64(-(2**32) + 1), jnp.uint64(2**32 + 1), jnp.uint32(2**32 - 1)):
            assert bool(jax.jit(ENV.step)(STATE, action).terminated)
        assert not bool(jax.jit(ENV.step)(STATE, jnp.int64(1)).terminated)


def test_any_type_of_integer_is_an_action_and_a_seat() -> None:
    for one in (1, np.int64(1), np.array(1), jnp.uint8(1)):
        number: Any = one
        assert int(ENV.step(STATE, number).left) == 5
        assert ENV.action_to_string(STATE, number) == "take 2"
        np.testing.assert_array_equal(ENV.observe(STATE, number), ENV.observe(STATE, jnp.int32(1)))


UINT64: Any = np.uint64(2**63)
INT64: Any = np.int64(3)
NO_KEY: Any = None
SPENT: Any = LuckySticks().init(KEY)
OVER = dataclasses.replace(STATE, terminated=np.bool_(True))


class Silent(Sticks):
    """Sticks without what `Env` says of the end of a game."""

    _winners = Env._winners
    _reason = Env._reason


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        # 2**32 + 1 would wrap around to the legal action 1
        (lambda: ENV.step(STATE, 2**32 + 1), ValueError, "action must fit int32, and 4294967297 does not"),
        (lambda: ENV.step(STATE, -(2**31) - 1), ValueError, "action must fit int32, and -2147483649 does not"),
        (lambda: ENV.step(STATE, UINT64), ValueError, "action must fit int32, and 9223372036854775808"),
        (lambda: ENV.step(STATE, jnp.arange(4)), ValueError, "one action, got a batch of 4: put jax.vmap"),
        (lambda: ENV.observe(STATE, -1), ValueError, "player .* 0 to 2, not -1"),
        (lambda: ENV.observe(STATE, INT64), ValueError, "player .* 0 to 2, not 3"),
        (lambda: jax.eval_shape(lambda state: ENV.observe(state, -1), STATE), ValueError, "player .* 0 to 2"),
        (lambda: ENV.observe(STATE, jnp.bool_(0)), TypeError, "player must be one integer, not "),
        (lambda: ENV.observe(STATE, jnp.arange(3)), ValueError, "one player, got a batch of 3: put jax.vmap"),
        (
            lambda: ENV.random_legal_action(STATE, NO_KEY),
            ValueError,
            r"random_legal_action\(state, key\) needs the key",
        ),
        (lambda: LuckySticks().init(), ValueError, r"sticks is a game of chance: init\(key\) needs the key"),
        (lambda: LuckySticks().step(SPENT, 0), ValueError, "sticks is a game of chance: step.* needs the key"),
        (lambda: Silent().winners(STATE), NotImplementedError, r"sticks .* who has won: define _winners\(state\)"),
        (lambda: Silent().outcome(OVER), NotImplementedError, r"sticks .* why its games end: define _reason\(state\)"),
        (lambda: ENV.from_string("x" * 10**6), ValueError, r"^expected .{150,194}\.\.\.$"),
        (lambda: ENV.action_from_string(STATE, "x" * 10**6), ValueError, r"^expected .{150,194}\.\.\.$"),
        (lambda: ENV.from_string(None), ValueError, "expected a text, not None"),  # pyright: ignore
        (lambda: ENV.action_from_string(STATE, b"7 0"), ValueError, "expected a text, not b'7 0'"),  # pyright: ignore
    ],
)
def test_wrong_call_is_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# -- winners and outcome ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Limited(Sticks):
    """Sticks, drawn when the last one is taken with its neighbour, and truncated when 3 are left."""

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        after = super()._step(state, action, key)
        return dataclasses.replace(after, truncated=after.left == 3)

    def _winners(self, state: Any) -> jax.Array:
        return super()._winners(state) & (jnp.arange(3) != 2)

    def _reason(self, state: Any) -> str:
        return "three sticks left" if int(state.left) == 3 else super()._reason(state)


@pytest.mark.parametrize(
    ("position", "action", "outcome", "text"),
    [
        ("7 0", 0, Outcome("live", (), ""), ""),
        ("2 1", 1, Outcome("win", (1,), "no sticks left"), "won by seat 1: no sticks left"),
        ("1 2", 0, Outcome("draw", (), "no sticks left"), "draw: no sticks left"),
        ("5 0", 1, Outcome("truncated", (), "three sticks left"), "truncated: three sticks left"),
        ("2 1", 2, Outcome("forfeit", (), "illegal action by seat 1"), "forfeit: illegal action by seat 1"),
        ("7 2", -1, Outcome("forfeit", (), "illegal action by seat 2"), "forfeit: illegal action by seat 2"),
    ],
)
def test_outcome_names_the_winners_and_the_reason(position: str, action: int, outcome: Outcome, text: str) -> None:
    """Of an `auto_reset` env, that of the game which the last step ended."""
    for env in (Limited(), auto_reset(Limited(), keep_before_reset=True)):
        after = env.step(env.from_string(position), action)
        assert env.outcome(after) == outcome
        assert outcome.to_text() == text
        assert tuple(np.flatnonzero(env.winners(after)).tolist()) == outcome.winners


def test_winners_are_all_false_unless_terminated_is_set() -> None:
    won = ENV.from_string("0 1")
    assert ENV.winners(won).tolist() == [True, False, False]
    for flags in ({"terminated": False}, {"terminated": False, "truncated": True}):
        changed = dataclasses.replace(won, **{name: jnp.bool_(flag) for name, flag in flags.items()})
        assert not ENV.winners(changed).any()


@dataclasses.dataclass(frozen=True)
class Wide(Sticks):
    """Sticks whose states depend on `jax_enable_x64`, and whose `init` calls a public method."""

    def _init(self, key: jax.Array | None) -> Any:
        start = dataclasses.replace(super()._init(key), left=jnp.asarray(np.array(7)))
        return dataclasses.replace(start, truncated=~self.legal_action_mask(start).any())

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        after = super()._step(state, action, key)
        return dataclasses.replace(after, left=after.left.astype(jnp.asarray(state.left).dtype))


def test_state_is_taken_with_and_without_x64() -> None:
    narrow = Wide().init()
    with jax.enable_x64(True):
        wide = Wide(3).init()
        assert wide.left.dtype == jnp.int64
        assert [int(jax.jit(Wide().step)(state, 0).left) for state in (narrow, wide)] == [6, 6]
    assert int(jax.jit(Wide(3).step)(jax.device_get(wide), 0).left) == 6


@dataclasses.dataclass(frozen=True)
class Waiting(Sticks):
    """`Sticks` with an `init` that blocks until an event is set."""

    begun: ClassVar[threading.Event] = threading.Event()
    goes_on: ClassVar[threading.Event] = threading.Event()

    def _init(self, key: jax.Array | None) -> Any:
        self.begun.set()
        assert self.goes_on.wait(60)
        return super()._init(key)


def test_state_is_checked_while_another_thread_traces_init() -> None:
    wrong = dataclasses.replace(Sticks().init(), left=jnp.int16(3))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(Waiting().legal_action_mask, wrong)
        assert Waiting.begun.wait(60)
        second = pool.submit(Waiting().legal_action_mask, wrong)
        wait([second], timeout=0.2)
        Waiting.goes_on.set()
        for each in (first, second):
            with pytest.raises(TypeError, match="its left must be int8"):
                each.result(60)


@pytest.mark.parametrize("key", [KEY, jax.random.PRNGKey(0), jax.random.key(0, impl="rbg")], ids=["key", "old", "rbg"])
def test_state_with_any_kind_of_key_is_taken(key: jax.Array) -> None:
    env = LuckySticks()
    assert 0 < int(env.step(env.init(key), 0, key).left) < 7
    assert jax.vmap(env.legal_action_mask)(jax.vmap(env.init)(jax.random.split(key, 3))).shape == (3, 3)
