"""`jaxgames.testing.check_env` accepts a sound game, and refuses a game with any one defect by name."""
# The defects are in the methods that a game supplies.
# pyright: reportPrivateUsage=false

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.testing import check_env
from tests.helpers.sticks import LuckySticks, Sticks, SticksState


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class CountingState(SticksState):
    count: jax.Array  # int32[], plies since the position that was read: not in the text


@dataclass(frozen=True)
class CountingSticks(Sticks):
    def at(self, left: int | jax.Array, seat: int | jax.Array) -> Any:
        return CountingState(**vars(Sticks.at(self, left, seat)), count=jnp.int32(0))

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        return CountingState(**vars(Sticks._step(self, state, action, key)), count=state.count + 1)


@pytest.mark.parametrize("env", [Sticks(), LuckySticks()])
def test_sound_game_passes(env: jaxgames.Env[Any]) -> None:
    check_env(env, games=3, seed=5)


def unfinished(**options: bool) -> Any:
    """An instance of a dataclass that defines nothing, which Python allows if told that nothing is abstract."""
    cls: Any = dataclass(**options)(type("Unfinished", (jaxgames.Env,), {"num_players": 2}))
    cls.__abstractmethods__ = frozenset()
    return cls()


@pytest.mark.parametrize(
    ("env", "options", "needles"),
    [
        (jaxgames.auto_reset(Sticks()), {}, ["never end", "the env inside"]),
        (Sticks(), {"games": 0}, ["games", "from 1"]),
        (Sticks(), {"steps": 0}, ["steps", "from 1"]),
        (Sticks, {}, ["jaxgames.Env", "class Sticks", "instance"]),
        (unfinished(), {}, ["Unfinished", "@dataclass(frozen=True)"]),
        (unfinished(frozen=True), {}, ["Unfinished must define id"]),
    ],
)
def test_what_is_no_game_is_refused(env: Any, options: Any, needles: list[str]) -> None:
    with pytest.raises((AssertionError, jaxgames.ParameterError)) as error:
        check_env(env, **options)
    assert all(needle in str(error.value) for needle in needles)


# -- defects -----------------------------------------------------------------------------------------------------------


def after(change: Callable[[Any, Any], dict[str, Any]]) -> Callable[..., Any]:
    """A `_step` whose result is changed."""

    def step(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        new = Sticks._step(self, state, action, key)
        return dataclasses.replace(new, **change(state, new))

    return step


def after_any(change: Callable[[Any, Any, jax.Array], dict[str, Any]]) -> Callable[..., Any]:
    """A `step`, also of finished boards and of illegal actions, whose result is changed."""

    def step(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
        new = Sticks.step(self, state, action, key)
        return dataclasses.replace(new, **change(state, new, action))

    return step


def new_board(**changed: Any) -> Callable[..., Any]:
    return lambda self, key: dataclasses.replace(self.at(7, 0), **changed)


@jax.custom_batching.custom_vmap
def identity_alone(x: jax.Array) -> jax.Array:
    return x


@identity_alone.def_vmap
def changed_in_a_batch(size: int, in_batched: list[bool], x: jax.Array) -> tuple[jax.Array, bool]:
    """Returns what a batched kernel with a bug might."""
    return jnp.where(jnp.arange(size) == 2, jnp.int8(7), x), in_batched[0]


def observe_seat_differently(self: Sticks, state: Any, player: jax.Array) -> jax.Array:
    view = Sticks._observe(self, state, player)
    return view if player is state.current_player else view.at[0, 2].set(True)


def read_as(change: Callable[[str], str]) -> Callable[..., Any]:
    """A `_from_string` of a changed text."""
    return lambda self, text: Sticks._from_string(self, change(text))


def raised(error: Exception) -> Any:
    raise error


DEFECTS: dict[str, dict[str, Any]] = {  # what is named, and the members of Sticks that are replaced
    # Values, and shapes of what is returned.
    "id must be a Python identifier, not 'my game'": {"id": "my game"},
    "num_actions must be an int of at least 1, not 0": {"num_actions": 0},
    "version must be an int of at least 1, not '1.0'": {"version": "1.0"},
    "observation_shape must be a tuple": {"observation_shape": [7, 4]},
    "observation_shape must be a value, not a method": {"observation_shape": after(lambda old, new: {})},
    "observation_support must be a numpy bool": {"observation_support": np.ones(3, bool)},
    "max_steps must be None or positive": {"max_steps": 0},
    "max_steps must not fail, but raised AttributeError": {"max_steps": property(lambda self: self.no_such_field)},
    "reward_range must be two floats": {"reward_range": (0.0, 2.0)},
    "zero_sum must be a bool": {"zero_sum": 1},
    "hashable": {"__hash__": None},
    "init must return a jaxgames.State, not NoneType": {"_init": lambda self, key: None},
    "init: current_player must be int32[], not int8[]": {"_init": new_board(current_player=jnp.int8(0))},
    "step must keep shapes and dtypes, but .left": {"_step": after(lambda old, new: {"left": jnp.int32(new.left)})},
    "legal_action_mask(state) must be bool[3]": {
        "legal_action_mask": lambda self, state: jnp.int8(jnp.arange(3) < state.left)
    },
    "legal_action_mask must not fail, but raised Tracer": {
        "_legal_action_mask": lambda self, state: jnp.arange(3) < (state.left if state.left > 0 else 1)
    },
    "observe(state) must be bool[7, 4], not bool[3]": {"_observe": lambda self, state, player: jnp.zeros(3, bool)},
    "winners(state) must be bool[3], not int8[3]": {"winners": lambda self, state: jnp.int8(self._winners(state))},
    # Boards in play.
    "init must give a live board with rewards of 0": {"_init": new_board(rewards=jnp.ones(3))},
    "must draw a legal action": {"_random_legal_action": lambda self, state, key: jax.random.randint(key, (), 0, 3)},
    "live board must not be empty": {"_legal_action_mask": lambda self, state: jnp.arange(3) < state.left - 1},
    "all False after an illegal action": {"legal_action_mask": lambda self, state: jnp.arange(3) < state.left},
    "mask of a finished board must be all False": {
        "legal_action_mask": lambda self, state: Sticks.legal_action_mask(self, state) | (state.left == 0)
    },
    "legal_action_mask must agree": {"_is_legal": lambda self, state, action: (action == 0) & (state.left > 0)},
    "over after max_steps = 3 steps": {"max_steps": 3},
    "must be a seat": {"_step": after(lambda old, new: {"current_player": old.current_player + 1})},
    "not be set together": {"_step": after(lambda old, new: {"truncated": new.terminated})},
    "must lie in reward_range": {"_step": after(lambda old, new: {"rewards": 3 * new.rewards})},
    "zero_sum is True": {"_step": after(lambda old, new: {"rewards": jnp.abs(new.rewards)})},
    "observe(state) must equal observe(state, current_player)": {"_observe": observe_seat_differently},
    "False off the observation_support": {"observation_support": np.zeros((7, 4), bool)},
    "finished board must stay": {
        "step": after_any(lambda old, new, action: {"left": jnp.where(old.terminated, jnp.int8(5), new.left)})
    },
    "illegal action must end": {"step": after_any(lambda old, new, action: {"rewards": new.rewards * (action < 100)})},
    "batch under vmap": {"_step": after(lambda old, new: {"left": identity_alone(new.left)})},
    "winners must be all False": {"winners": lambda self, state: jnp.arange(3) == state.current_player},
    "must keep its winners": {"winners": lambda self, state: Sticks.winners(self, state) & (state.rewards > 0)},
    # Outcomes.
    "outcome must be of kind 'win' with the winners": {"_reason": lambda self, state: ""},
    "outcome must be Outcome(kind='forfeit', winners=(), reason='illegal action by seat ": {
        "_reason": lambda self, state: "no sticks left"
    },
    "outcome must be": {"outcome": lambda self, state: dataclasses.replace(Sticks.outcome(self, state), winners=(0,))},
    "must give a reason of one line": {"_reason": lambda self, state: "no sticks\nleft" if state.left == 0 else ""},
    # Texts.
    "to_string must give a text": {"_to_string": lambda self, state: b"7 0"},
    "must be one line": {
        "_to_string": lambda self, state: Sticks._to_string(self, state) + "\n",
        "_from_string": read_as(str.strip),
    },
    "from_string must read back": {
        "_to_string": lambda self, state: f"{int(state.left) // 2} {int(state.current_player)}"
    },
    "must read back with the seat": {
        "_to_string": lambda self, state: f"{int(state.left)} {1 if state.left else int(state.current_player)}"
    },
    "must read back with the winners": {
        **{name: vars(CountingSticks)[name] for name in ("at", "_step")},
        "_winners": lambda self, state: Sticks._winners(self, state) & (state.count > 0),
    },
    "must see that the game is won in '0 ": {
        "_from_string": lambda self, text: dataclasses.replace(Sticks._from_string(self, text), terminated=jnp.bool_(0))
    },
    "from_string of '0 ": {"_from_string": read_as(lambda text: "" if text[0] == "0" else text)},
    "('no such position') must raise ValueError": {
        "_from_string": read_as(lambda text: text if text[0].isdigit() else "7 0")
    },
    "('no such position') must raise ValueError, not KeyError": {
        "_from_string": read_as(lambda text: text if text[0].isdigit() else raised(KeyError(text)))
    },
    "must have different texts": {"_action_to_string": lambda self, state, action: "take 1"},
    "action_from_string must give": {"_action_from_string": lambda self, state, text: 3 - int(text[-1])},
    "'no such move') must raise ValueError": {
        "_action_from_string": lambda self, state, text: int(text[-1]) - 1 if text[-1].isdigit() else 0
    },
    "(state, -1) must raise ValueError": {"action_to_string": lambda self, state, action: f"take {action + 1}"},
    "lines of at most 80 characters": {"_to_text": lambda self, state: "x" * 81},
}


# Each defect compiles half a second; those of texts and outcomes are in the slow tests.
OF_TEXTS = re.compile("text|read|reason|string|outcome|raise ValueError")


@pytest.mark.parametrize(
    "named", [pytest.param(named, marks=pytest.mark.slow) if OF_TEXTS.search(named) else named for named in DEFECTS]
)
def test_defect_is_found_and_named(named: str) -> None:
    members = {
        name: member
        if callable(member) or isinstance(member, property) or name in ("id", "__hash__")
        else property(lambda _, m=member: m)
        for name, member in DEFECTS[named].items()
    }
    broken = type("Broken", (Sticks,), members)
    with pytest.raises(AssertionError, match=re.escape(named)):
        check_env(broken())
