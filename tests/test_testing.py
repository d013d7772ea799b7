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
class AdjudicatedState(SticksState):
    plies: jax.Array  # int8[], not in the text


@dataclass(frozen=True)
class AdjudicatedSticks(Sticks):
    """After three plies, seat 0 wins."""

    def at(self, left: int | jax.Array, seat: int | jax.Array) -> Any:
        return AdjudicatedState(**vars(super().at(left, seat)), plies=jnp.int8(0))

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        plies = (state.plies + 1).astype(jnp.int8)
        after = AdjudicatedState(**vars(super()._step(state, action, key)), plies=plies)
        ends = (plies == 3) & ~after.terminated
        paid = jnp.where(ends, jnp.array([2.0, -1, -1], jnp.float32), after.rewards)
        return dataclasses.replace(after, rewards=paid, terminated=after.terminated | ends)

    def _winners(self, state: Any) -> jax.Array:
        return jnp.where(state.left == 0, super()._winners(state), (state.plies == 3) & (jnp.arange(3) == 0))

    def _reason(self, state: Any) -> str:
        return super()._reason(state) or "three plies" * int(state.plies == 3)


@pytest.mark.parametrize(
    "env",
    [Sticks(), LuckySticks(), jaxgames.make("dots_and_boxes(rows=1, cols=1)"), AdjudicatedSticks()],
)
def test_sound_game_passes(env: jaxgames.Env[Any]) -> None:
    check_env(env, games=3, seed=5)


def test_auto_reset_env_is_refused() -> None:
    with pytest.raises(AssertionError, match="never end: check the env inside"):
        check_env(jaxgames.auto_reset(Sticks()))


@pytest.mark.parametrize("argument", ["games", "steps"])
def test_number_of_games_or_steps_is_refused_when_it_is_0(argument: str) -> None:
    none: Any = {argument: 0}
    with pytest.raises(jaxgames.ParameterError, match=f"{argument} must be an integer from 1"):
        check_env(Sticks(), **none)


def unfinished(**options: bool) -> Any:
    """An instance of a dataclass that defines nothing, which Python allows if told that nothing is abstract."""
    cls: Any = dataclass(**options)(type("Unfinished", (jaxgames.Env,), {"num_players": 2}))
    cls.__abstractmethods__ = frozenset()
    return cls()


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Sticks, "expected a jaxgames.Env, not the class Sticks: pass an instance"),
        (
            unfinished(),
            r"Unfinished must be a frozen dataclass: write @dataclass\(frozen=True\) above its class",
        ),
        (unfinished(frozen=True), "Unfinished must define id"),
    ],
)
def test_class_that_is_not_a_game_is_named_in_words(env: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_env(env)


# -- defects: (members of Sticks that are replaced, part of the message) ---------------------------------------


def after(change: Callable[[Any, Any], dict[str, Any]]) -> Callable[..., Any]:
    """A `_step` whose result is changed."""

    def step(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        new = Sticks._step(self, state, action, key)
        return dataclasses.replace(new, **change(state, new))

    return step


def step_moves_finished_board(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
    new = Env_step(self, state, action, key)
    return dataclasses.replace(new, left=jnp.where(state.terminated, jnp.int8(5), new.left))


def step_pays_no_penalty_out_of_range(self: Sticks, state: Any, action: jax.Array, key: jax.Array | None = None) -> Any:
    new = Env_step(self, state, action, key)
    return dataclasses.replace(new, rewards=new.rewards * (action < 100))


Env_step = Sticks.step


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


def text_of_half_the_sticks(self: Sticks, state: Any) -> str:
    return f"{int(state.left) // 2} {int(state.current_player)}"


def from_string_needs_sticks(self: Sticks, text: str) -> Any:
    if text[0] == "0":
        raise ValueError("expected sticks")
    return Sticks._from_string(self, text)


def text_without_the_seat(self: Sticks, state: Any) -> str:
    return f"{int(state.left)} {1 if state.left else int(state.current_player)}"


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class RememberingState(SticksState):
    winner: jax.Array  # int32[], not part of the text


REMEMBERED: dict[str, Any] = {
    "num_actions is no int": ({"num_actions": np.int32(3)}, "num_actions must be an int"),
    "reason is no text": (
        {"_reason": lambda self, state: int(state.left == 0)},
        "must give a reason of one line, not 1",
    ),
    "live position has a reason": (
        {"_reason": lambda self, state: "no sticks left"},
        "outcome must be Outcome(kind='forfeit', winners=(), reason='illegal action by seat ",
    ),
    "outcome fails": ({"_reason": lambda self, state: state.no_such_field}, "outcome must not fail, but raised Attr"),
    "mask uses if": (
        {"_legal_action_mask": lambda self, state: jnp.arange(3) < (state.left if state.left > 0 else 1)},
        "legal_action_mask must not fail, but raised TracerBoolConversionError: Attempted boolean conversion",
    ),
    "mask has another shape": (
        {"_legal_action_mask": lambda self, state: jnp.ones((4, 4), jnp.float32)},
        "legal_action_mask must not fail, but raised TypeError",
    ),
    "action out of range has a text": (
        {"action_to_string": lambda self, state, action: f"take {action + 1}"},
        "action_to_string(state, -1) must raise ValueError",
    ),
    "_init": lambda self, key: RememberingState(**vars(self.at(7, 0)), winner=jnp.int32(-1)),
    "_step": lambda self, state, action, key: RememberingState(
        **vars(Sticks._step(self, state, action, key)), winner=state.current_player
    ),
    "_from_string": lambda self, text: RememberingState(**vars(Sticks._from_string(self, text)), winner=jnp.int32(-1)),
}


DEFECTS: dict[str, tuple[dict[str, Any], str]] = {
    "id is no identifier": ({"id": "my game"}, "id must be a Python identifier, not 'my game'"),
    "num_actions is 0": ({"num_actions": 0}, "num_actions must be an int of at least 1, not 0"),
    "observation_shape is a list": ({"observation_shape": [7, 4]}, "observation_shape must be a tuple"),
    "observation_support has another shape": (
        {"observation_support": np.ones(3, bool)},
        "observation_support must be a numpy bool",
    ),
    "max_steps is 0": ({"max_steps": 0}, "max_steps must be None or positive"),
    "max_steps is too small": ({"max_steps": 3}, "over after max_steps = 3 steps"),
    "reward_range leaves out the penalty": ({"reward_range": (0.0, 2.0)}, "reward_range must be two floats"),
    "zero_sum is no bool": ({"zero_sum": 1}, "zero_sum must be a bool"),
    "env is not hashable": ({"__hash__": None}, "hashable"),
    "current_player is int8": (
        {"_init": lambda self, key: dataclasses.replace(self.at(7, 0), current_player=jnp.int8(0))},
        "init: current_player must be int32[], not int8[]",
    ),
    "step changes a dtype": (
        {"_step": after(lambda old, new: {"left": new.left.astype(jnp.int32)})},
        "step must keep shapes and dtypes, but .left",
    ),
    "mask has integers": (
        {"legal_action_mask": lambda self, state: (jnp.arange(3) < state.left).astype(jnp.int8)},
        "legal_action_mask(state) must be bool[3], not int8[3]",
    ),
    "own draw is beyond the mask": (
        {"_random_legal_action": lambda self, state, key: jax.random.randint(key, (), 0, 3)},
        "random_legal_action must draw a legal action",
    ),
    "mask of a live board is empty": (
        {"_legal_action_mask": lambda self, state: jnp.arange(3) < state.left - 1},
        "mask of a live board must not be empty",
    ),
    "mask of a finished board is not empty": (
        {"legal_action_mask": lambda self, state: jnp.arange(3) < jnp.maximum(state.left, 1)},
        "must be all False",
    ),
    "current_player is no seat": (
        {"_step": after(lambda old, new: {"current_player": old.current_player + 1})},
        "must be a seat",
    ),
    "terminated and truncated are set together": (
        {"_step": after(lambda old, new: {"truncated": new.terminated})},
        "not be set together",
    ),
    "rewards exceed reward_range": (
        {"_step": after(lambda old, new: {"rewards": 3 * new.rewards})},
        "must lie in reward_range",
    ),
    "rewards do not sum to zero": (
        {"_step": after(lambda old, new: {"rewards": jnp.abs(new.rewards)})},
        "zero_sum is True",
    ),
    "mover has two observations": (
        {"_observe": observe_seat_differently},
        "observe(state) must equal observe(state, current_player)",
    ),
    "observation leaves its support": (
        {"observation_support": np.zeros((7, 4), bool)},
        "False off the observation_support",
    ),
    "finished board changes": ({"step": step_moves_finished_board}, "a finished board must stay as it is"),
    "action out of range pays nothing": (
        {"step": step_pays_no_penalty_out_of_range},
        "an illegal action must end a live board",
    ),
    "step and mask disagree": (
        {"_is_legal": lambda self, state, action: (action == 0) & (state.left > 0)},
        "step and legal_action_mask must agree",
    ),
    "new board pays": (
        {"_init": lambda self, key: dataclasses.replace(self.at(7, 0), rewards=jnp.ones(3))},
        "init must give a live board with rewards of 0",
    ),
    "won position reads as live": (
        {
            "_from_string": lambda self, text: dataclasses.replace(
                Sticks._from_string(self, text), terminated=jnp.bool_(0)
            )
        },
        "from_string must see that the game is won in '0 ",
    ),
    "finished position is refused": ({"_from_string": from_string_needs_sticks}, "from_string of '0 "),
    "text is bytes": ({"_to_string": lambda self, state: b"7 0"}, "to_string must give a text"),
    "batch differs from single boards": (
        {"_step": after(lambda old, new: {"left": identity_alone(new.left)})},
        "a board of a batch under vmap must be what it is alone",
    ),
    "all actions have one text": (
        {"_action_to_string": lambda self, state, action: "take 1"},
        "must have different texts",
    ),
    "action reads back as another": (
        {"_action_from_string": lambda self, state, text: 3 - int(text[-1])},
        "action_from_string must give",
    ),
    "position reads back as another": ({"_to_string": text_of_half_the_sticks}, "from_string must read back"),
    "text leaves out the seat": ({"_to_string": text_without_the_seat}, "must read back with the seat to move"),
    "text has two lines": (
        {
            "_to_string": lambda self, state: Sticks._to_string(self, state) + "\n",
            "_from_string": lambda self, text: Sticks._from_string(self, text.strip()),
        },
        "must be one line",
    ),
    "version is no int": ({"version": "1.0"}, "version must be an int of at least 1, not '1.0'"),
    "winners are integers": (
        {"winners": lambda self, state: self._winners(state).astype(jnp.int8)},
        "winners(state) must be bool[3], not int8[3]",
    ),
    "winner is named on a live board": (
        {"winners": lambda self, state: jnp.arange(3) == state.current_player},
        "winners must be all False on a live, truncated or forfeited board",
    ),
    "winners change on a finished board": (
        {"winners": lambda self, state: Sticks.winners(self, state) & (state.rewards > 0)},
        "a finished board must keep its winners",
    ),
    "winners are lost in the text": (
        {"_winners": lambda self, state: Sticks._winners(self, state) & (jnp.arange(3) == state.winner)} | REMEMBERED,
        "must read back with the winners",
    ),
    "won game has no reason": (
        {"_reason": lambda self, state: ""},
        "outcome must be of kind 'win' with the winners",
    ),
    "reason has two lines": (
        {"_reason": lambda self, state: "no sticks\nleft" if state.left == 0 else ""},
        "must give a reason of one line",
    ),
    "outcome names another winner": (
        {"outcome": lambda self, state: dataclasses.replace(Sticks.outcome(self, state), winners=(0,))},
        "outcome must be",
    ),
    "nonsense is read as a position": (
        {"_from_string": lambda self, text: Sticks._from_string(self, text if text[0].isdigit() else "7 0")},
        "from_string('no such position') must raise ValueError",
    ),
    "nonsense is read as an action": (
        {"_action_from_string": lambda self, state, text: int(text[-1]) - 1 if text[-1].isdigit() else 0},
        "action_from_string(state, 'no such move') must raise ValueError",
    ),
    "observe uses no player": (
        {"_observe": lambda self, state, player: Sticks._observe(self, state, None)},  # pyright: ignore[reportArgumentType]  # the defect
        "observe must not fail, but raised TypeError: unsupported operand",
    ),
    "observation has another shape": (
        {"_observe": lambda self, state, player: jnp.zeros(3, jnp.bool_)},
        "observe(state) must be bool[7, 4], not bool[3]",
    ),
    "init returns None": ({"_init": lambda self, key: None}, "init must return a jaxgames.State, not NoneType"),
    "attribute fails": (
        {"max_steps": property(lambda self: self.no_such_field)},
        "max_steps must not fail, but raised AttributeError",
    ),
    "attribute is a method": (
        {"observation_shape": after(lambda old, new: {})},
        "observation_shape must be a value, not a method: write @property above it",
    ),
    "wrong text raises KeyError": (
        {
            "_from_string": lambda self, text: (
                Sticks._from_string(self, {"7 0": text}.get(text, text)) if text[0].isdigit() else {}[text]
            )
        },
        "from_string('no such position') must raise ValueError, not KeyError",
    ),
    "board is drawn too wide": ({"_to_text": lambda self, state: "x" * 81}, "lines of at most 80 characters"),
}


# Each defect compiles half a second; those of texts are in the slow tests.
OF_TEXTS = re.compile("text|read|reason|position|outcome")


@pytest.mark.parametrize(
    "defect", [pytest.param(name, marks=pytest.mark.slow) if OF_TEXTS.search(name) else name for name in DEFECTS]
)
def test_defect_is_found_and_named(defect: str) -> None:
    replaced, message = DEFECTS[defect]
    members = {
        name: member
        if callable(member) or isinstance(member, property) or name in ("id", "__hash__")
        else property(lambda _, m=member: m)
        for name, member in replaced.items()
    }
    broken = type("Broken", (Sticks,), members)
    with pytest.raises(AssertionError, match=re.escape(message)):
        check_env(broken())
