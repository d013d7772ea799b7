"""The contract of every game: a board is a small pytree, and a game is pure functions of it.

    state = env.init(key)
    mask  = env.legal_action_mask(state)
    state = env.step(state, action)

All functions take one board: put `jax.vmap` around them for a batch.

The public methods of `Env` check their arguments, and handle illegal actions and finished boards in the same way for
all games. Then they call the method of the same name with an underscore, which a game supplies.
"""

import abc
import dataclasses
import functools
import math
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import _checks
from jaxgames._platforms import at
from jaxgames.sampling import random_action


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
    """The end of a game, for people; see `Env.outcome`."""

    kind: Literal["live", "win", "draw", "truncated", "forfeit"]
    winners: tuple[int, ...]  # seats; empty unless `kind` is "win"
    reason: str  # "checkmate", "all edges drawn", "illegal action by seat 1"; "" on a live board

    def to_text(self) -> str:
        """Returns how the game ended, as in "won by seat 0: checkmate"; "" on a live board."""
        if self.kind == "win":
            return f"won by seat {' and '.join(map(str, self.winners))}: {self.reason}"
        return "" if self.kind == "live" else f"{self.kind}: {self.reason}"


MODULE_OF_GAME: dict[str, str] = {}  # by id, of games that `make` found by importing a module; part of the env's text


class Env(abc.ABC, Generic[S]):
    """A board game as pure functions of arrays.

    Subclasses are frozen dataclasses whose fields are the game's parameters. So an env is hashable and can be a static
    argument under `jax.jit`. Envs with the same parameters are equal.
    """

    id: ClassVar[str]  # the name that `jaxgames.make` takes
    version: ClassVar[int] = 1  # increased when rules, rewards, actions or observations change
    state_type: ClassVar[type[State]] = State  # of `Env[MyState]`: the class of a game's states
    needs_key: ClassVar[bool] = False  # whether `init` or `step` has random events
    num_players: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reads the class of the states from `Env[MyState]`."""
        super().__init_subclass__(**kwargs)
        for base in vars(cls).get("__orig_bases__", ()):
            if get_origin(base) is Env:
                (state,) = get_args(base)
                if isinstance(state, type) and issubclass(state, State):  # not a type variable, nor Any
                    cls.state_type = state

    # -- plain Python values, which need no device ---------------------------------------------------

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """Number of actions, the same at every step."""

    @property
    @abc.abstractmethod
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of `observe`, a bool array."""

    @property
    def observation_support(self) -> np.ndarray:
        """bool[*observation_shape], True where an observation can be True. A network may ignore the other places."""
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
    def terminal_rewards(self) -> bool:
        """True if only the last step of a game pays. Such a game overrides it; False is always allowed."""
        return False

    @property
    def return_range(self) -> tuple[float, float]:
        """Bounds of a seat's return: of the sum of its rewards in a game from the start, without illegal actions.

        A game overrides it where it has closer bounds than `reward_range` and `max_steps` give.
        """
        steps = 1 if self.terminal_rewards else math.inf if self.max_steps is None else self.max_steps
        low, high = self.reward_range
        return low * steps, high * steps

    @property
    def unwrapped(self) -> "Env[Any]":
        """The game without the wrappers around it; a game returns itself."""
        return self

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

        An illegal action ends the game, also one that is out of range. The mover is paid -1, every other seat
        1 / (num_players - 1), and the position does not change. A finished board does not change and pays zero.
        Only a game of chance (`needs_key`) needs `key`, a PRNG key.
        """
        self._check_board("step", state)
        self._check_key("step(state, action, key)", key)
        state = _in_jax(state)
        action = _checks.as_int32("action", action)
        live = ~(state.terminated | state.truncated)
        legal = self._is_legal(state, action)
        played = self._step(state, action, key)
        after = jax.tree.map(lambda new, old: jnp.where(live & legal, new, old), played, state)
        seats = jnp.arange(self.num_players, dtype=jnp.int32)
        penalty = jnp.where(seats == state.current_player, -1.0, 1.0 / (self.num_players - 1))
        return dataclasses.replace(
            after,
            rewards=jnp.where(live, jnp.where(legal, played.rewards, penalty), 0.0).astype(jnp.float32),
            terminated=after.terminated | (live & ~legal),
        )

    def legal_action_mask(self, state: S) -> jax.Array:
        """Returns bool[num_actions], True for each legal action of the mover; all False only on a finished board.

        There a softmax over -inf is NaN: mask logits by `jaxgames.sampling.shifted_logits`, which stay finite.
        """
        self._check_board("legal_action_mask", state)
        state = _in_jax(state)
        return self._legal_action_mask(state) & ~(state.terminated | state.truncated)

    def random_legal_action(self, state: S, key: jax.Array) -> jax.Array:
        """Returns int32[], an action drawn uniformly from the legal ones; 0 on a finished board.

        The same key gives the same action on every platform, but not always the action of
        `jaxgames.random_action(key, env.legal_action_mask(state))`: a game may choose without making the mask.
        """
        self._check_board("random_legal_action", state)
        self._check_key("random_legal_action(state, key)", key, is_needed=True)
        state = _in_jax(state)
        return jnp.where(state.terminated | state.truncated, 0, self._random_legal_action(state, key))

    def observe(self, state: S, player: jax.Array | int | None = None) -> jax.Array:
        """Returns bool[*observation_shape], the board as the seat `player` (int32[]) sees it; as the mover if None.

        The value of a traced `player` is not checked.
        """
        self._check_board("observe", state)
        state = _in_jax(state)
        return self._observe(
            state, state.current_player if player is None else _checks.check_seat(player, self.num_players)
        )

    def winners(self, state: S) -> jax.Array:
        """Returns bool[num_players], True for the seats that have won by the rules.

        It is all False on a live, drawn, truncated or forfeited board.
        """
        self._check_board("winners", state)
        state = _in_jax(state)
        return state.terminated & self._winners(state)

    # -- for people, on the host: one board at a time, outside of jit --------------------------------

    def outcome(self, state: S) -> Outcome:
        """Returns how the game ended and why, in words.

        A game is forfeited if an illegal action ended it. Then no seat has won by the rules.
        """
        self._check_board("outcome", state, on_host=True)
        if not (state.terminated or state.truncated):
            return Outcome("live", (), "")
        state = _in_jax(state)
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
        return self._action_to_string(state, _checks.check_action(action, self.num_actions))

    def action_from_string(self, state: S, text: str) -> int:
        """Returns the action that `text` names. Raises ValueError, which shows the wrong part."""
        self._check_board("action_from_string", state, on_host=True)
        with _checks.short_errors():
            _checks.check_text(text)
            return self._action_from_string(state, text)

    def to_string(self, state: S) -> str:
        """Returns the position on one line."""
        self._check_board("to_string", state, on_host=True)
        return self._to_string(state)

    def to_text(self, state: S) -> str:
        """Returns the board in lines of at most 80 characters; the last line says who is to move or how the game ended.

        A game that draws nothing has the text of `to_string` in place of the board.
        """
        self._check_board("to_text", state, on_host=True)
        end = self.outcome(state).to_text() or f"seat {int(state.current_player)} to move"
        return f"{self._to_text(state)}\n{end}"

    def from_string(self, text: str) -> S:
        """Returns the position that `text` describes, even if no game leads to it.

        Counters that the text of a game does not hold start from 0, such as plies without progress.

        Raises ValueError, which shows the wrong part.
        """
        with _checks.short_errors():
            _checks.check_text(text)
            return self._from_string(text)

    # -- supplied by a game, with checked arguments; steps and masks of finished boards are not used ---

    @abc.abstractmethod
    def _init(self, key: jax.Array | None) -> S:
        """Returns a board at the start; `key` is None only for a game without chance."""

    @abc.abstractmethod
    def _step(self, state: S, action: jax.Array, key: jax.Array | None) -> S:
        """Returns the board after a legal action (int32[]) on a live board. For other inputs the result is not used."""

    @abc.abstractmethod
    def _legal_action_mask(self, state: S) -> jax.Array:
        """Returns bool[num_actions] for a live board; the result for a finished board is not used."""

    def _is_legal(self, state: S, action: jax.Array) -> jax.Array:
        """Returns bool[], whether the mover of a live board may play `action`. Override it if a cheaper way exists."""
        in_range = (action >= 0) & (action < self.num_actions)
        return in_range & at(self._legal_action_mask(state), action)

    def _random_legal_action(self, state: S, key: jax.Array) -> jax.Array:
        """Returns int32[], a legal action of a live board, drawn uniformly. Override it if a cheaper way exists."""
        return random_action(key, self.legal_action_mask(state))

    def _restart_clock(self, state: S) -> S:
        """Returns the board with the counters of its limits of length at their start; a search begins with them.

        A limit on plies or rounds is not a rule of the game. A search with this counter would give the same position
        another action later in the game. Counters that are rules stay, such as plies without a capture.
        """
        return state

    @abc.abstractmethod
    def _observe(self, state: S, player: jax.Array) -> jax.Array:
        """Returns bool[*observation_shape], as the seat `player` (int32[]) sees the board.

        `player` is `state.current_player` itself where the caller named no seat.
        """

    def _winners(self, state: S) -> jax.Array:
        """Returns bool[num_players], the seats that have won this position by the rules; all False in a live one."""
        raise NotImplementedError(f"{self.id} does not say who has won: define _winners(state)")

    def _reason(self, state: S) -> str:
        """Returns why the rules ended the game in this position, or which limit truncated it, in a few words.

        Returns "" if neither is the case. If the board is finished then, an illegal action has ended it.
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

    def _to_text(self, state: S) -> str:
        """Returns the board drawn in lines of at most 80 characters. Override it to draw one."""
        return self._to_string(state)

    @abc.abstractmethod
    def _from_string(self, text: str) -> S:
        """Returns the position that `text` describes. Raises ValueError."""

    # -- checks of arguments: types and shapes only, while the program is traced ----------------------

    def _check_board(self, method: str, state: Any, on_host: bool = False) -> None:
        """Raises TypeError unless `state` is an unwrapped state of this env, ValueError unless it is one board."""
        if not isinstance(state, State):
            raise TypeError(f"env.{method} expected a state of {self}, not {type(state).__name__}")
        if state.wrapper:
            raise TypeError(
                f"env.{method} expected a state of {self}, got one of {state.wrapper}(env): "
                f"call {state.wrapper}(env).{method}, or pass state.board"
            )
        if not isinstance(state, self.state_type):
            raise TypeError(
                f"env.{method} expected a state of {self}, a {self.state_type.__name__}, not {type(state).__name__}"
            )
        shape = np.shape(state.terminated)
        if shape != ():
            remedy = (
                "pass one, jax.tree.map(lambda x: x[0], states)" if on_host else f"put jax.vmap around env.{method}"
            )
            raise _checks.ParameterError(f"expected one board, got a batch of {_checks.written_shape(shape)}: {remedy}")
        start = _start(self)
        if start is not None and (difference := _checks.differing_leaf(start, state)):
            remedy = "make it by init, step or from_string of this env"
            raise TypeError(f"env.{method} expected a state of {self}: {difference}; {remedy}")

    def _check_key(self, call: str, key: Any, is_needed: bool = False) -> None:
        """Raises ValueError for a batch of keys, and for no key where the call or a game of chance needs one."""
        if key is None:
            if is_needed or self.needs_key:
                why = "" if is_needed else f"{self.id} is a game of chance: "
                raise _checks.ParameterError(f"{why}{call} needs the key")
            return
        typed = jnp.issubdtype(getattr(key, "dtype", np.uint32), jax.dtypes.prng_key)
        batch = np.shape(key) if typed else np.shape(key)[:-1]  # a key of the old style is uint32[2]
        if batch != ():
            method = call.partition("(")[0]
            raise _checks.ParameterError(
                f"expected one key, got a batch of {_checks.written_shape(batch)}: put jax.vmap around env.{method}"
            )

    def __str__(self) -> str:
        """Returns the id with every parameter, as `jaxgames.make` takes it in any process."""
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]  # every env is a dataclass
        module = f"{MODULE_OF_GAME[self.id]}:" if self.id in MODULE_OF_GAME else ""
        return f"{module}{self.id}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in fields if f.init)})"


_in_init: ContextVar[tuple[Env[Any], ...]] = ContextVar("in_init", default=())  # whose `init` is traced in this thread


def _start(env: Env[Any]) -> Any:
    """Returns the shapes and dtypes of `env.init`. Returns None inside `init` itself, which may call public methods."""
    return None if env in _in_init.get() else _shapes_of_init(env)


@functools.lru_cache(maxsize=256)
def _shapes_of_init(env: Env[Any]) -> Any:
    token = _in_init.set((*_in_init.get(), env))
    try:
        return jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))
    finally:
        _in_init.reset(token)


def _in_jax(state: S) -> S:
    """Returns the state without numpy's leaves: numpy's integers warn where those of JAX wrap around."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf, state)


@functools.partial(jax.jit, static_argnums=0)
def _compiled_winners(env: Env[Any], state: Any) -> jax.Array:
    """Returns bool[num_players], `env.winners` as one compiled program, for calls on the host."""
    return env.winners(state)
