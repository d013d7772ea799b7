"""The contract of every game: a board is a small pytree, and a game is pure functions of it.

    state = env.init(key)
    mask  = env.legal_action_mask(state)
    state = env.step(state, action)

Everything is written for one board: put `jax.vmap` around it for a batch.

The public methods of `Env` check their arguments and settle, once for all games, what happens on an illegal action and
on a finished board. Then they call the method of the same name with an underscore, which a game supplies.
"""

import abc
import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import as_int32, check_action, check_seat, check_text, written_shape


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class State:
    """The fields of every board. A game adds its position and nothing that can be derived from it."""

    current_player: jax.Array  # int32[], the seat to move
    rewards: jax.Array  # float32[num_players], paid to each seat by the last step
    terminated: jax.Array  # bool[], the rules ended the game
    truncated: jax.Array  # bool[], a limit cut the game off; never set together with `terminated`

    wrapper: ClassVar[str] = ""  # the function that wraps a game and has states of this class; "" for a game's own


S = TypeVar("S", bound=State)


@dataclass(frozen=True)
class Outcome:
    """How a game ended, for people; see `Env.outcome`."""

    kind: Literal["live", "win", "draw", "truncated", "forfeit"]
    winners: tuple[int, ...]  # seats; empty unless `kind` is "win"
    reason: str  # "checkmate", "all edges drawn", "illegal action by seat 1"; "" on a live board


# The public methods that check their arguments and call the method with an underscore, which a game supplies.
CHECKED_METHODS = (
    "init",
    "observe",
    "winners",
    "action_to_string",
    "action_from_string",
    "to_string",
    "from_string",
)
MODULES: dict[str, str] = {}  # by id: the module that `make` imported to find a game; part of the env's text


class Env(abc.ABC, Generic[S]):
    """A board game as pure functions of arrays.

    Subclasses are frozen dataclasses whose fields are the game's parameters. So an env is hashable, equal to every env
    with the same parameters, and static under `jax.jit`.
    """

    id: ClassVar[str]  # the name that `jaxgames.make` takes
    version: ClassVar[int] = 1  # raised when rules, rewards, actions or observations change: results do not compare
    needs_key: ClassVar[bool] = False  # whether chance plays a part in `init` or `step`
    num_players: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Lets a game override a public method itself. The method then does without the checks of this class."""
        super().__init_subclass__(**kwargs)
        for name in CHECKED_METHODS:
            supplied = f"_{name}"
            if name in vars(cls) and getattr(cls, supplied) is vars(Env)[supplied]:
                setattr(cls, supplied, vars(cls)[name])

    # -- plain Python values, which need no device ---------------------------------------------------

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
        """bool[*observation_shape], the places where an observation can be True. A network may leave out the rest."""
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

    # -- the game: traced, one board at a time -------------------------------------------------------

    def init(self, key: jax.Array | None = None) -> S:
        """Returns a board at the start. Only a game of chance (`needs_key`) needs `key`, a PRNG key."""
        self._check_key("init(key)", key)
        return self._init(key)

    def step(self, state: S, action: jax.Array | int, key: jax.Array | None = None) -> S:
        """Returns the board after the mover plays `action` (int32[]).

        An illegal action, out of range included, ends the game: the mover gets -1, every other seat
        1 / (num_players - 1), and the position stays. A finished board stays as it is and pays zero.
        Only a game of chance (`needs_key`) needs `key`, a PRNG key.

        Raises TypeError for an action that is no integer, ValueError for a batch.
        """
        self._check_board("step", state)
        self._check_key("step(state, action, key)", key)
        action = as_int32("action", action)
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
        """Returns bool[num_actions], the actions that the mover may play; all False on a finished board only."""
        self._check_board("legal_action_mask", state)
        return self._legal_action_mask(state) & ~(state.terminated | state.truncated)

    def observe(self, state: S, player: jax.Array | int | None = None) -> jax.Array:
        """Returns bool[*observation_shape], the board from the seat `player` (int32[]); from the mover's if None.

        Raises TypeError for a `player` that is no integer, ValueError for a batch or a seat outside
        0 .. num_players - 1. The value of a traced `player` is not checked.
        """
        self._check_board("observe", state)
        return self._observe(state, None if player is None else check_seat(player, self.num_players))

    def winners(self, state: S) -> jax.Array:
        """Returns bool[num_players], the seats that have won by the rules.

        All False on a live, drawn, truncated or forfeited board.
        """
        self._check_board("winners", state)
        return state.terminated & self._winners(state)

    # -- for people, on the host: one board at a time, outside of jit --------------------------------

    def outcome(self, state: S) -> Outcome:
        """Returns how the game ended and why, in words.

        A board is forfeited when an illegal action ended it: nobody has won by the rules.
        """
        self._check_board("outcome", state, on_host=True)
        if not (state.terminated or state.truncated):
            return Outcome("live", (), "")
        state = jax.tree.map(jnp.asarray, state)  # numpy's integers warn where those of JAX wrap around
        reason = self._reason(state)
        if state.truncated:
            return Outcome("truncated", (), reason)
        if not reason:
            return Outcome("forfeit", (), f"illegal action by seat {int(state.current_player)}")
        winners = tuple(np.flatnonzero(_compiled_winners(self, state)).tolist())
        return Outcome("win" if winners else "draw", winners, reason)

    def action_to_string(self, state: S, action: int) -> str:
        """Returns the action as people write it. Raises ValueError for an action that names no move."""
        self._check_board("action_to_string", state, on_host=True)
        return self._action_to_string(state, check_action(action, self.num_actions))

    def action_from_string(self, state: S, text: str) -> int:
        """Returns the action that `text` names. Raises ValueError that shows the offending part."""
        self._check_board("action_from_string", state, on_host=True)
        check_text(text)
        return self._action_from_string(state, text)

    def to_string(self, state: S) -> str:
        """Returns the position on one line."""
        self._check_board("to_string", state, on_host=True)
        return self._to_string(state)

    def from_string(self, text: str) -> S:
        """Returns the position that `text` describes, reachable or not.

        Raises ValueError that shows the offending part.
        """
        check_text(text)
        return self._from_string(text)

    # -- supplied by a game; arguments are checked already. Only results on live boards count, but for the last two ---

    @abc.abstractmethod
    def _init(self, key: jax.Array | None) -> S:
        """Returns a board at the start; `key` is None only for a game without chance."""

    @abc.abstractmethod
    def _step(self, state: S, action: jax.Array, key: jax.Array | None) -> S:
        """Returns the board after a legal action (int32[]) on a live board; any board for any other input."""

    @abc.abstractmethod
    def _legal_action_mask(self, state: S) -> jax.Array:
        """Returns bool[num_actions] of a live board."""

    def _is_legal(self, state: S, action: jax.Array) -> jax.Array:
        """Returns bool[], whether the mover of a live board may play `action`. Override it where that is cheaper."""
        in_range = (action >= 0) & (action < self.num_actions)
        return in_range & self._legal_action_mask(state)[jnp.clip(action, 0, self.num_actions - 1)]

    @abc.abstractmethod
    def _observe(self, state: S, player: jax.Array | None) -> jax.Array:
        """Returns bool[*observation_shape] from the seat `player` (int32[]), from the mover's if None."""

    def _winners(self, state: S) -> jax.Array:
        """Returns bool[num_players], who has won in this position by the rules alone; all False in a live position."""
        raise NotImplementedError(f"{self.id} does not say who has won: define _winners(state)")

    def _reason(self, state: S) -> str:
        """Returns why the rules ended the game in this position, or which limit truncated it, in a few words.

        Returns "" where they did neither: if the board is finished, an illegal action has ended it.
        """
        raise NotImplementedError(f"{self.id} does not say why its games end: define _reason(state)")

    @abc.abstractmethod
    def _action_to_string(self, state: S, action: int) -> str:
        """Returns the text of an action from 0 to num_actions - 1."""

    @abc.abstractmethod
    def _action_from_string(self, state: S, text: str) -> int:
        """Returns the action that `text` names. Raises ValueError."""

    @abc.abstractmethod
    def _to_string(self, state: S) -> str:
        """Returns the position on one line."""

    @abc.abstractmethod
    def _from_string(self, text: str) -> S:
        """Returns the position that `text` describes. Raises ValueError."""

    # -- checks of arguments: types and shapes only, while the program is traced ----------------------

    def _check_board(self, method: str, state: Any, on_host: bool = False) -> None:
        """Raises TypeError unless `state` is a state of this env, ValueError unless it is one board."""
        if not isinstance(state, State):
            raise TypeError(f"env.{method} expected a state of {self}, not {type(state).__name__}")
        if state.wrapper:
            raise TypeError(
                f"env.{method} expected a state of {self}, got one of {state.wrapper}(env): "
                f"call {state.wrapper}(env).{method}, or pass state.board"
            )
        shape = np.shape(state.terminated)
        if shape != ():
            remedy = (
                "pass one, jax.tree.map(lambda x: x[0], states)" if on_host else f"put jax.vmap around env.{method}"
            )
            raise ValueError(f"expected one board, got a batch of {written_shape(shape)}: {remedy}")

    def _check_key(self, call: str, key: Any) -> None:
        """Raises ValueError if a game of chance gets no key, or any game a batch of keys."""
        if key is None:
            if self.needs_key:
                raise ValueError(f"{self.id} is a game of chance: {call} needs the key")
            return
        typed = jnp.issubdtype(getattr(key, "dtype", np.uint32), jax.dtypes.prng_key)
        batch = np.shape(key) if typed else np.shape(key)[:-1]  # a key of the old style is uint32[2]
        if batch != ():
            method = call.partition("(")[0]
            raise ValueError(
                f"expected one key, got a batch of {written_shape(batch)}: put jax.vmap around env.{method}"
            )

    def __str__(self) -> str:
        """Returns the id with every parameter, as `jaxgames.make` takes it in any process."""
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]  # every env is a dataclass
        module = f"{MODULES[self.id]}:" if self.id in MODULES else ""
        return f"{module}{self.id}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in fields if f.init)})"


@functools.partial(jax.jit, static_argnums=0)
def _compiled_winners(env: Env[Any], state: Any) -> jax.Array:
    return env.winners(state)
