"""`jaxgames.testing.check_env`: a sound game passes, and a game with any one defect does not."""

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
from tests.helpers.sticks import Sticks, SticksState


def test_a_sound_game_passes_again_and_again() -> None:
    """Nothing is left behind in the process by a check."""
    check_env(Sticks())
    check_env(Sticks(), games=3, steps=2, seed=5)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class LuckyState(SticksState):
    luck: jax.Array  # a PRNG key


@dataclass(frozen=True)
class LuckySticks(Sticks):
    """A game of chance, which keeps a key in its state: now and then a stick is lost."""

    needs_key = True

    def _init(self, key: jax.Array | None) -> Any:
        return LuckyState(**vars(self.at(7, 0)), luck=key)

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        assert key is not None
        lost = jax.random.bernoulli(state.luck) & (state.left - action > 2)
        after = super()._step(state, action + lost, key)
        return LuckyState(**vars(after), luck=key)

    def _from_string(self, text: str) -> Any:
        return LuckyState(**vars(super()._from_string(text)), luck=jax.random.key(0))


def test_a_game_of_chance_passes() -> None:
    check_env(LuckySticks())


@pytest.mark.parametrize("argument", ["games", "steps"])
def test_no_games_are_refused(argument: str) -> None:
    with pytest.raises(jaxgames.ParameterError, match=f"{argument} must be an integer from 1"):
        check_env(Sticks(), **{argument: 0})


# -- defects: (what is replaced in Sticks, what the message says) --------------------------------------------------


def after(change: Callable[[Any, Any], dict[str, Any]]) -> Callable[..., Any]:
    """A `_step` whose result is changed."""

    def step(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        new = Sticks._step(self, state, action, key)  # pyright: ignore[reportPrivateUsage]  # the game's own
        return dataclasses.replace(new, **change(state, new))

    return step


def unfrozen(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
    new = Env_step(self, state, action, key)
    return dataclasses.replace(new, left=jnp.where(state.terminated, jnp.int8(5), new.left))


def unfined(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
    new = Env_step(self, state, action, key)
    return dataclasses.replace(new, rewards=new.rewards * (action < 100))


def moved_by_illegal(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
    new = Env_step(self, state, action, key)
    return dataclasses.replace(new, left=jnp.where(action > state.left, jnp.int8(1), new.left))


Env_step = Sticks.step


@jax.custom_batching.custom_vmap
def only_alone(x: jax.Array) -> jax.Array:
    return x


@only_alone.def_vmap
def of_batch(size: int, in_batched: list[bool], x: jax.Array) -> tuple[jax.Array, bool]:
    """What a batched kernel with a bug does."""
    return jnp.where(jnp.arange(size) == 2, jnp.int8(7), x), in_batched[0]


def sees_its_own_seat(self: Sticks, state: Any, player: Any = None) -> jax.Array:
    view = Sticks._observe(self, state, player)
    return view if player is None else view.at[0, 2].set(True)


def text_of_half(self: Sticks, state: Any) -> str:
    return f"{int(state.left) // 2} {int(state.current_player)}"


def unconverted(self: Sticks, state: Any, action: Any, key: jax.Array | None = None) -> Any:
    return Env_step(self, state, action.astype(jnp.int32), key)


def paid_again(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
    new = Env_step(self, state, action, key)
    return dataclasses.replace(new, rewards=new.rewards + jnp.where(state.terminated, state.rewards, 0))


def revived(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
    new = Env_step(self, state, action, key)
    return dataclasses.replace(new, terminated=new.terminated & ~(state.terminated & (state.left > 0)))


def no_sticks(self: Sticks, text: str) -> Any:
    if text[0] == "0":
        raise ValueError("expected sticks")
    return Sticks._from_string(self, text)


def text_without_the_seat(self: Sticks, state: Any) -> str:
    return f"{int(state.left)} 0"


DEFECTS: dict[str, tuple[dict[str, Any], str]] = {
    "no identifier": ({"id": "my game"}, "id must be a Python identifier, not 'my game'"),
    "no actions": ({"num_actions": 0}, "num_actions must be an int of at least 1, not 0"),
    "actions are not an int": ({"num_actions": np.int32(3)}, "num_actions must be an int"),
    "observation shape is a list": ({"observation_shape": [7, 4]}, "observation_shape must be a tuple"),
    "support of another shape": ({"observation_support": np.ones(3, bool)}, "observation_support must be a numpy bool"),
    "no steps": ({"max_steps": 0}, "max_steps must be None or positive"),
    "too few steps": ({"max_steps": 3}, "over after max_steps = 3 steps"),
    "a range without the fine": ({"reward_range": (0.0, 2.0)}, "reward_range must be two floats"),
    "zero_sum is not a bool": ({"zero_sum": 1}, "zero_sum must be a bool"),
    "unhashable": ({"__hash__": None}, "hashable"),
    "seats as int8": (
        {"_init": lambda self, key: dataclasses.replace(self.at(7, 0), current_player=jnp.int8(0))},
        "init: current_player must be int32[], not int8[]",
    ),
    "step changes a dtype": (
        {"_step": after(lambda old, new: {"left": new.left.astype(jnp.int32)})},
        "step must keep shapes and dtypes, but .left",
    ),
    "a mask of integers": (
        {"legal_action_mask": lambda self, state: (jnp.arange(3) < state.left).astype(jnp.int8)},
        "legal_action_mask(state) must be bool[3], not int8[3]",
    ),
    "an empty mask": (
        {"_legal_action_mask": lambda self, state: jnp.arange(3) < state.left - 1},
        "mask of a live board must not be empty",
    ),
    "a mask of a finished board": (
        {"legal_action_mask": lambda self, state: jnp.arange(3) < jnp.maximum(state.left, 1)},
        "must be all False",
    ),
    "an unknown seat": (
        {"_step": after(lambda old, new: {"current_player": old.current_player + 1})},
        "must be a seat",
    ),
    "both ends at once": ({"_step": after(lambda old, new: {"truncated": new.terminated})}, "not be set together"),
    "paid beyond the range": (
        {"_step": after(lambda old, new: {"rewards": 3 * new.rewards})},
        "must lie in reward_range",
    ),
    "not zero-sum": ({"_step": after(lambda old, new: {"rewards": jnp.abs(new.rewards)})}, "zero_sum is stated"),
    "two views of the mover": (
        {"_observe": sees_its_own_seat},
        "observe(state) must equal observe(state, current_player)",
    ),
    "seen off the support": ({"observation_support": np.zeros((7, 4), bool)}, "False off the observation_support"),
    "finished boards go on": ({"step": unfrozen}, "a finished board must stay as it is"),
    "actions out of range are free": ({"step": unfined}, "an illegal action must end a live board"),
    "an illegal action moves": ({"step": moved_by_illegal}, "an illegal action must end a live board"),
    "step knows other rules": (
        {"_is_legal": lambda self, state, action: (action == 0) & (state.left > 0)},
        "step and legal_action_mask must agree",
    ),
    "a new board pays": (
        {"_init": lambda self, key: dataclasses.replace(self.at(7, 0), rewards=jnp.ones(3))},
        "init must give a live board with rewards of 0",
    ),
    "a Python integer is no action": (
        {"_is_legal": lambda self, state, action: action.astype(jnp.int32) < state.left, "step": unconverted},
        "step(state, action, key) outside of jit, action an int, must not fail, but raised AttributeError",
    ),
    "a finished board pays": ({"step": paid_again}, "a finished board"),
    "a forfeited board comes alive": ({"step": revived}, "a finished board must stay as it is"),
    "a won position reads as live": (
        {
            "_from_string": lambda self, text: dataclasses.replace(
                Sticks._from_string(self, text), terminated=jnp.bool_(0)
            )
        },
        "from_string must see that the game is won in '0 ",
    ),
    "a finished position is refused": ({"_from_string": no_sticks}, "from_string of '0 "),
    "texts are bytes": ({"_to_string": lambda self, state: b"7 0"}, "to_string must give a text"),
    "a batch differs": (
        {"_step": after(lambda old, new: {"left": only_alone(new.left)})},
        "a board of a batch under vmap must be what it is alone",
    ),
    "one text for all actions": ({"_action_to_string": lambda self, state, action: "take 1"}, "texts of their own"),
    "actions read wrongly": (
        {"_action_from_string": lambda self, state, text: 3 - int(text[-1])},
        "action_from_string must give",
    ),
    "positions read wrongly": ({"_to_string": text_of_half}, "from_string must read back"),
    "the seat is left out": ({"_to_string": text_without_the_seat}, "must read back with the seat to move"),
    "positions of two lines": (
        {
            "_to_string": lambda self, state: Sticks._to_string(self, state) + "\n",
            "_from_string": lambda self, text: Sticks._from_string(self, text.strip()),
        },
        "must be one line",
    ),
    "nonsense is read": (
        {"_from_string": lambda self, text: Sticks._from_string(self, text if text[0].isdigit() else "7 0")},
        "from_string('no such position') must raise ValueError",
    ),
    "any move is read": (
        {"_action_from_string": lambda self, state, text: int(text[-1]) - 1 if text[-1].isdigit() else 0},
        "action_from_string(state, 'no such move') must raise ValueError",
    ),
    "any action is written": (
        {"action_to_string": lambda self, state, action: f"take {action + 1}"},
        "action_to_string(state, -1) must raise ValueError",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found_and_named(defect: str) -> None:
    replaced, message = DEFECTS[defect]
    members = {
        name: member if callable(member) or name in ("id", "__hash__") else property(lambda _, m=member: m)
        for name, member in replaced.items()
    }
    broken = type("Broken", (Sticks,), members)
    with pytest.raises(AssertionError, match=re.escape(message)):
        check_env(broken())
