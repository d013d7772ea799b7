"""The contract that every game keeps: a board is a small pytree, a game is pure functions of it.

    state = env.init(key)
    mask  = env.legal_action_mask(state)
    state = env.step(state, action)

`Env` settles here, once for all games, what happens on an illegal action and on a finished board; a game
supplies the rules for a legal action on a live board (`_step`), the mask, the view and the notation.
Everything is written for one board: put `jax.vmap` around it for a batch.
"""

import abc
import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class State:
    """What every board carries. A game's own state adds its position and nothing that can be derived."""

    current_player: jax.Array  # int32[], the seat to move
    rewards: jax.Array  # float32[num_players], what the last step paid each seat
    terminated: jax.Array  # bool[], the rules ended the game
    truncated: jax.Array  # bool[], a limit cut the game off; never set together with `terminated`


S = TypeVar("S", bound=State)


MAX_LIMIT = 1_000_000  # the largest limit on plies or rounds that a game takes


class ParameterError(ValueError):
    """A game or a parameter that `make` refuses; the message names what is allowed."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter of the wrong type."""


class Env(abc.ABC, Generic[S]):
    """A board game as pure functions of arrays.

    Subclasses are frozen dataclasses whose fields are the game's parameters, so an env is hashable,
    equal to every env with the same parameters, and static under `jax.jit`.
    """

    id: ClassVar[str]  # the name that `jaxgames.make` knows
    needs_key: ClassVar[bool] = False  # whether chance plays a part in `init` or `step`
    num_players: int

    # -- plain Python values, known without touching a device --------------------------------------

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """Size of the action space, the same at every step."""

    @property
    @abc.abstractmethod
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of `observe`, a bool array."""

    @property
    def observation_support(self) -> np.ndarray:
        """bool[*observation_shape], where an observation can be True: a network may leave the rest out."""
        return np.ones(self.observation_shape, np.bool_)

    @property
    @abc.abstractmethod
    def max_steps(self) -> int | None:
        """Upper bound on the steps of one game, or None."""

    @property
    @abc.abstractmethod
    def reward_range(self) -> tuple[float, float]:
        """Lowest and highest reward that one step can pay one seat, the penalty of -1 included."""

    @property
    @abc.abstractmethod
    def zero_sum(self) -> bool:
        """Whether the rewards of every step sum to zero over the seats."""

    @property
    def state_bytes(self) -> int:
        """Bytes of one board, counted over the leaves of its state."""
        shapes = jax.eval_shape(self.init, jax.eval_shape(lambda: jax.random.key(0)))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))

    # -- the game ----------------------------------------------------------------------------------

    @abc.abstractmethod
    def init(self, key: jax.Array) -> S:
        """A board at the start. `key` is a PRNG key, unused where nothing is random."""

    def step(self, state: S, action: jax.Array, key: jax.Array | None = None) -> S:
        """The board after the mover plays `action` (int32[]).

        An illegal action, out of range included, ends the game: the mover gets -1, every other seat
        1 / (num_players - 1), and the position stays. A finished board stays as it is and pays zero.
        `key` is needed only by games with chance.
        """
        action = jnp.asarray(action, jnp.int32)  # a Python integer too, or a narrower type
        live = ~(state.terminated | state.truncated)
        legal = self._is_legal(state, action)
        after = jax.tree.map(lambda new, old: jnp.where(live & legal, new, old), self._step(state, action, key), state)
        seats = jnp.arange(self.num_players, dtype=jnp.int32)
        penalty = jnp.where(seats == state.current_player, -1.0, 1.0 / (self.num_players - 1))
        return dataclasses.replace(
            after,
            rewards=jnp.where(live, jnp.where(legal, after.rewards, penalty), 0.0).astype(jnp.float32),
            terminated=after.terminated | (live & ~legal),
        )

    def legal_action_mask(self, state: S) -> jax.Array:
        """bool[num_actions], what the mover may play; all False on a finished board only."""
        return self._legal_action_mask(state) & ~(state.terminated | state.truncated)

    @abc.abstractmethod
    def observe(self, state: S, player: jax.Array | int | None = None) -> jax.Array:
        """bool[*observation_shape], the board as the seat `player` sees it; the mover if None."""

    # -- what a game supplies; called on any board, but only the results on live ones count ----------

    @abc.abstractmethod
    def _step(self, state: S, action: jax.Array, key: jax.Array | None) -> S:
        """The board after a legal action on a live board; any other input may give any board."""

    @abc.abstractmethod
    def _legal_action_mask(self, state: S) -> jax.Array:
        """bool[num_actions] of a live board."""

    def _is_legal(self, state: S, action: jax.Array) -> jax.Array:
        """bool[], whether the mover of a live board may play `action`. Override where that is cheaper."""
        in_range = (action >= 0) & (action < self.num_actions)
        return in_range & self._legal_action_mask(state)[jnp.clip(action, 0, self.num_actions - 1)]

    # -- notation, on the host: one board at a time, outside of jit ----------------------------------

    @abc.abstractmethod
    def action_to_string(self, state: S, action: int) -> str:
        """The action as people write it. Raises ValueError for an action that names no move."""

    @abc.abstractmethod
    def action_from_string(self, state: S, text: str) -> int:
        """The action that `text` names. Raises ValueError that shows the offending part."""

    @abc.abstractmethod
    def to_string(self, state: S) -> str:
        """The position on one line."""

    @abc.abstractmethod
    def from_string(self, text: str) -> S:
        """The position that `text` describes, reachable or not. Raises ValueError that shows the offending part."""

    def __str__(self) -> str:
        """The id with every parameter, as `jaxgames.make` takes it."""
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]  # every env is a dataclass
        return f"{self.id}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in fields if f.init)})"


def check_int(name: str, value: object, low: int, high: int, also: str = "") -> None:
    """Raises ParameterError unless `value` is an integer from `low` to `high`; `also` names what else is allowed."""
    allowed = f"{name} must be an integer from {low} to {high}{also}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterTypeError(f"{allowed}, not {value!r}")
    if not low <= value <= high:
        raise ParameterError(f"{allowed}, not {value}")


def check_text(text: object) -> None:
    """Raises ValueError unless `text` is a string."""
    if not isinstance(text, str):
        raise ValueError(f"expected a text, not {text!r}")


def check_action(action: int, num_actions: int) -> int:
    """The action as a plain int. Raises ValueError unless it is from 0 to num_actions - 1."""
    action = int(action)
    if not 0 <= action < num_actions:
        raise ValueError(f"expected an action from 0 to {num_actions - 1}, not {action}")
    return action


def check_choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raises ParameterError unless `value` is one of `allowed` and of its type."""
    types = {type(choice) for choice in allowed}
    names = ", ".join(repr(choice) for choice in allowed)
    if type(value) not in types:
        raise ParameterTypeError(f"{name} must be one of {names}, not {value!r}")
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {names}, not {value!r}")
