"""Envs around other envs: `Wrapper`, which changes nothing, and `auto_reset`, which restarts finished boards.

For searches and value targets there is `seat_discount`, the factor of the value after a step.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env, Outcome, State

S = TypeVar("S", bound=State)  # states of the wrapped env
W = TypeVar("W", bound=State)  # states of the wrapper


@dataclass(frozen=True)
class Wrapper(Env[W], Generic[W, S]):
    """An env that passes every call to the env inside it; not an `auto_reset` env, which is the outermost wrapper.

    A subclass overrides the methods that it changes, such as `observe`. The rules of the env inside stay: its states,
    legal actions, steps and winners. Solvers, engines and drawings rely on that and read the game, `env.unwrapped`.
    """

    env: Env[S]
    num_players: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        if isinstance(self.env, AutoReset):
            raise TypeError(
                f"{self.env} restarts finished boards already: put auto_reset outside of all other wrappers"
            )
        for name in ("id", "version", "needs_key", "num_players"):
            object.__setattr__(self, name, getattr(self.env, name))

    @property
    def unwrapped(self) -> Env[Any]:
        return self.env.unwrapped

    def _inner(self, state: W) -> S:
        return cast(S, state)

    @property
    def num_actions(self) -> int:
        return self.env.num_actions

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return self.env.observation_shape

    @property
    def observation_support(self) -> np.ndarray:
        return self.env.observation_support

    @property
    def max_steps(self) -> int | None:
        return self.env.max_steps

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.env.reward_range

    @property
    def zero_sum(self) -> bool:
        return self.env.zero_sum

    @property
    def terminal_rewards(self) -> bool:
        return self.env.terminal_rewards

    @property
    def return_range(self) -> tuple[float, float]:
        return self.env.return_range

    # -- the public methods; the env inside checks their arguments -----------------------------------

    def init(self, key: jax.Array | None = None) -> W:
        return cast(W, self.env.init(key))

    def step(self, state: W, action: jax.Array | int, key: jax.Array | None = None) -> W:
        return cast(W, self.env.step(self._inner(state), action, key))

    def legal_action_mask(self, state: W) -> jax.Array:
        return self.env.legal_action_mask(self._inner(state))

    def random_legal_action(self, state: W, key: jax.Array) -> jax.Array:
        return self.env.random_legal_action(self._inner(state), key)

    def observe(self, state: W, player: jax.Array | int | None = None) -> jax.Array:
        return self.env.observe(self._inner(state), player)

    def winners(self, state: W) -> jax.Array:
        return self.env.winners(self._inner(state))

    def outcome(self, state: W) -> Outcome:
        return self.env.outcome(self._inner(state))

    def action_to_string(self, state: W, action: int) -> str:
        return self.env.action_to_string(self._inner(state), action)

    def action_from_string(self, state: W, text: str) -> int:
        return self.env.action_from_string(self._inner(state), text)

    def to_string(self, state: W) -> str:
        return self.env.to_string(self._inner(state))

    def to_text(self, state: W) -> str:
        return self.env.to_text(self._inner(state))

    def from_string(self, text: str) -> W:
        return cast(W, self.env.from_string(text))

    # -- the methods that a game supplies ------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> W:
        return self.init(key)

    def _step(self, state: W, action: jax.Array, key: jax.Array | None) -> W:
        return self.step(state, action, key)

    def _legal_action_mask(self, state: W) -> jax.Array:
        return self.legal_action_mask(state)

    def _is_legal(self, state: W, action: jax.Array) -> jax.Array:
        return self.env._is_legal(self._inner(state), action)

    def _restart_clock(self, state: W) -> W:
        return cast(W, self.env._restart_clock(cast(S, state))) if self._inner(state) is state else state

    def _observe(self, state: W, player: jax.Array) -> jax.Array:
        return self.observe(state, player)

    def _winners(self, state: W) -> jax.Array:
        return self.winners(state)

    def _reason(self, state: W) -> str:
        return self.outcome(state).reason

    def _action_to_string(self, state: W, action: int) -> str:
        return self.action_to_string(state, action)

    def _action_from_string(self, state: W, text: str) -> int:
        return self.action_from_string(state, text)

    def _to_string(self, state: W) -> str:
        return self.to_string(state)

    def _from_string(self, text: str) -> W:
        return self.from_string(text)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.env})"


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("board", "rewards", "terminated", "truncated", "before_reset"),
    meta_fields=(),
)
@dataclass(frozen=True, kw_only=True)
class AutoResetState(State, Generic[S]):
    """The live board, with the results of the last step: `rewards`, `terminated` and `truncated`."""

    wrapper: ClassVar[str] = "auto_reset"

    board: S  # the board to play on: a new one if the last step finished a game
    before_reset: S | None = None  # the board that the last step led to, finished or not; None unless it is kept
    current_player: jax.Array = dataclasses.field(  # of `board`: a leaf of its own would be copied in every step
        init=False, default=cast(Any, property(lambda state: state.board.current_player))
    )


def board_before_reset(state: AutoResetState[S]) -> S:
    """Returns the board that the last step led to. Raises ValueError if the env does not keep it."""
    if state.before_reset is None:
        raise ValueError("the state has no finished board: make the env with auto_reset(env, keep_before_reset=True)")
    return state.before_reset


@dataclass(frozen=True)
class AutoReset(Wrapper[AutoResetState[S], S], Generic[S]):
    """An env whose finished boards restart; made by `auto_reset`."""

    keep_before_reset: bool = False

    @property
    def max_steps(self) -> None:
        return None

    def _inner(self, state: AutoResetState[S]) -> S:
        """Returns the live board to play on."""
        return self._checked(state).board

    def _checked(self, state: Any) -> AutoResetState[S]:
        if not isinstance(state, AutoResetState):
            kind = type(state).__name__
            raise TypeError(f"expected a state of {self}, got a plain {kind}: begin with auto_reset(env).init(key)")
        return state

    def init(self, key: jax.Array | None = None) -> AutoResetState[S]:
        board = self.env.init(key)
        return self._state(board, board)

    def step(
        self, state: AutoResetState[S], action: jax.Array | int, key: jax.Array | None = None
    ) -> AutoResetState[S]:
        """Returns the state after `action`. Only a game of chance needs `key`, for the step and for the restart."""
        board = self._inner(state)
        self._check_key("step(state, action, key)", key)
        step_key, init_key = split_step_key(jax.random.key(0) if key is None else key)
        before_reset = self.env.step(board, action, step_key)
        finished = before_reset.terminated | before_reset.truncated
        start = self.env.init(init_key)
        board = jax.tree.map(lambda new, old: jnp.where(finished, new, old), start, before_reset)
        return self._state(board, before_reset)

    def _state(self, board: S, before_reset: S) -> AutoResetState[S]:
        """Returns the state with a live board and the results of the step that led to `before_reset`."""
        return AutoResetState(
            board=board,
            rewards=before_reset.rewards,
            terminated=before_reset.terminated,
            truncated=before_reset.truncated,
            before_reset=before_reset if self.keep_before_reset else None,
        )

    def winners(self, state: AutoResetState[S]) -> jax.Array:
        """Returns bool[num_players], the winners of the game that the last step ended; all False if it ended none."""
        return self.env.winners(board_before_reset(self._checked(state)))

    def outcome(self, state: AutoResetState[S]) -> Outcome:
        """Returns how the last step ended a game; "live" if it ended none."""
        return self.env.outcome(board_before_reset(self._checked(state)))

    def from_string(self, text: str) -> AutoResetState[S]:
        board = self.env.from_string(text)
        return self._state(board, board)

    def __str__(self) -> str:
        return f"auto_reset({self.env}{', keep_before_reset=True' if self.keep_before_reset else ''})"


def split_step_key(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the keys that `auto_reset` makes of the key of its step: of the step inside, and of the restart."""
    step_key, init_key = jax.random.split(key)
    return step_key, init_key


def auto_reset(env: Env[S], keep_before_reset: bool = False) -> AutoReset[S]:
    """Returns `env` with boards that restart in the same step that finishes them.

    The returned state has the rewards and flags of that step beside the new board. Every board of a batch is then
    always live, so a rollout is one `jax.lax.scan`.

    With `keep_before_reset` the state also has the board before the restart, a second one to move in every step.
    `winners`, `outcome`, `seat_discount` and an animation of a finished game need it, else they raise ValueError.
    """
    return AutoReset(env, keep_before_reset)


def inside(env: Env[Any], states: Any = None) -> tuple[Env[Any], Any]:
    """Returns the env without `auto_reset`, and the live boards of its states, one or a batch."""
    if not isinstance(env, AutoReset):
        return env, states
    return env.env, None if states is None else env._inner(states)  # pyright: ignore[reportPrivateUsage]  # its own module


class WithMover(Protocol):
    """A state of jaxgames, of Pgx, or any other object with these two fields."""

    @property
    def current_player(self) -> jax.Array: ...  # int32[], the seat to move

    @property
    def terminated(self) -> jax.Array: ...  # bool[]


def seat_discount(before: WithMover, after: WithMover) -> jax.Array:
    """Returns float32[], the factor of the value of `after` in the value of `before`, where a value is the mover's.

        1 if the same seat moves again, -1 if another seat moves, 0 if the rules have ended the game

    It is the `discount` of `mctx.RecurrentFnOutput`, which computes `reward + discount * value`. There `reward` is what
    the step paid the mover of `before`. A constant -1 is wrong in games where a seat moves again: after a box, a jump
    or a hop. After a truncation the factor is 1 or -1, so the value of the last board counts.

    It is for games of two seats whose rewards sum to zero, where one number is the value for both. More seats need a
    value for each of them, as in `jaxgames.mcts`.

    Args:
      before: the state in which the action was played.
      after: the state to which it led, before any restart. Of an `auto_reset` env with `keep_before_reset` it is a
        state as `step` returns it. Both can be batches; then the result has their shape.

    Raises ValueError for a state of `auto_reset` without the board before the restart: after a truncation, the seat to
    move is known only there.
    """
    if isinstance(after, AutoResetState):
        after = board_before_reset(cast(AutoResetState[Any], after))
    discount = discount_of(before.current_player, after.current_player, after.terminated, -1.0)
    return discount.astype(jnp.float32)


def discount_of(mover: jax.Array, next_mover: jax.Array, terminated: jax.Array, gamma: float | jax.Array) -> jax.Array:
    """Returns float32[...], the discount of a step: 1 if the same seat moves again, `gamma` if another seat moves.

    It is 0 if the rules have ended the game.
    """
    return jnp.where(terminated, 0.0, jnp.where(next_mover == mover, 1.0, gamma))
