"""`auto_reset`, an env around another one that restarts its finished boards.

For searches and value targets there is `seat_discount`, the factor of the value after a step.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.env import Env, Outcome, State

S = TypeVar("S", bound=State)  # states of the env inside


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
        raise ParameterError("the state has no finished board: use auto_reset(env, keep_before_reset=True)")
    return state.before_reset


def _not_called(*arguments: Any, **named: Any) -> Any:
    """Stands for the methods that a game supplies: `AutoReset` has all the public ones that would call them."""
    raise NotImplementedError


@dataclass(frozen=True)
class AutoReset(Env[AutoResetState[S]], Generic[S]):
    """An env whose finished boards restart; made by `auto_reset`. All else is that of the env inside."""

    env: Env[S]
    keep_before_reset: bool = False
    num_players: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        if isinstance(self.env, AutoReset):
            raise TypeError(f"{self.env} restarts finished boards already")
        for name in ("id", "version", "needs_key", "num_players"):
            object.__setattr__(self, name, getattr(self.env, name))

    @property
    def unwrapped(self) -> Env[Any]:
        return self.env

    @property
    def max_steps(self) -> None:
        return None

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

    # -- what restarts boards ------------------------------------------------------------------------

    def init(self, key: jax.Array | None = None) -> AutoResetState[S]:
        board = self.env.init(key)
        return self._state(board, board)

    def step(
        self, state: AutoResetState[S], action: jax.Array | int, key: jax.Array | None = None
    ) -> AutoResetState[S]:
        """Returns the state after `action`. Only a game of chance needs `key`, for the step and for the restart."""
        self._check_key("step(state, action, key)", key)
        step_key, init_key = split_step_key(jax.random.key(0) if key is None else key)
        before_reset = self.env.step(self._board(state), action, step_key)
        finished = before_reset.terminated | before_reset.truncated
        start = self.env.init(init_key)
        board = jax.tree.map(lambda new, old: jnp.where(finished, new, old), start, before_reset)
        return self._state(board, before_reset)

    def from_string(self, text: str) -> AutoResetState[S]:
        board = self.env.from_string(text)
        return self._state(board, board)

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
        return self.env.winners(self._before_reset(state))

    def outcome(self, state: AutoResetState[S]) -> Outcome:
        """Returns how the last step ended a game; "live" if it ended none."""
        return self.env.outcome(self._before_reset(state))

    # -- of the live board; the env inside checks the arguments --------------------------------------

    def legal_action_mask(self, state: AutoResetState[S]) -> jax.Array:
        return self.env.legal_action_mask(self._board(state))

    def random_legal_action(self, state: AutoResetState[S], key: jax.Array) -> jax.Array:
        return self.env.random_legal_action(self._board(state), key)

    def observe(self, state: AutoResetState[S], player: jax.Array | int | None = None) -> jax.Array:
        return self.env.observe(self._board(state), player)

    def action_to_string(self, state: AutoResetState[S], action: int) -> str:
        return self.env.action_to_string(self._board(state), action)

    def action_from_string(self, state: AutoResetState[S], text: str) -> int:
        return self.env.action_from_string(self._board(state), text)

    def to_string(self, state: AutoResetState[S]) -> str:
        return self.env.to_string(self._board(state))

    def to_text(self, state: AutoResetState[S]) -> str:
        return self.env.to_text(self._board(state))

    def _board(self, state: Any) -> S:
        return self._checked(state).board

    def _before_reset(self, state: Any) -> S:
        return board_before_reset(self._checked(state))

    def _checked(self, state: Any) -> AutoResetState[S]:
        if not isinstance(state, AutoResetState):
            kind = type(state).__name__
            raise TypeError(f"expected a state of {self}, got a plain {kind}: begin with auto_reset(env).init(key)")
        return state

    _init = _step = _legal_action_mask = _observe = _not_called
    _action_to_string = _action_from_string = _to_string = _from_string = _not_called

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


def live_boards(states: Any) -> Any:
    """Returns the boards to play on: the live ones in states of `auto_reset`, else the states themselves."""
    return states.board if isinstance(states, AutoResetState) else states


def seat_discount(before: Any, after: Any) -> jax.Array:
    """Returns float32[], the factor of the value of `after` in the value of `before`, where a value is the mover's.

        1 if the same seat moves again, -1 if another seat moves, 0 if the rules have ended the game

    It is the `discount` of `mctx.RecurrentFnOutput`, which computes `reward + discount * value`. There `reward` is what
    the step paid the mover of `before`. A constant -1 is wrong in games where a seat moves again: after a box, a jump
    or a hop. After a truncation the factor is 1 or -1, so the value of the last board counts.

    It is for games of two seats whose rewards sum to zero, where one number is the value for both. More seats need a
    value for each of them, as in `jaxgames.mcts`.

    Args:
      before: the state in which the action was played: of jaxgames, of Pgx, or any object with `current_player` and
        `terminated`.
      after: the state to which it led, before any restart. Of an `auto_reset` env with `keep_before_reset` it is a
        state as `step` returns it. Both can be batches; then the result has their shape.

    Raises ValueError for a state of `auto_reset` without the board before the restart: after a truncation, the seat to
    move is known only there.
    """
    if isinstance(after, AutoResetState):
        after = board_before_reset(after)
    discount = discount_of(before.current_player, after.current_player, after.terminated, -1.0)
    return discount.astype(jnp.float32)


def discount_of(mover: jax.Array, next_mover: jax.Array, terminated: jax.Array, gamma: float | jax.Array) -> jax.Array:
    """Returns float32[...], the discount of a step: 1 if the same seat moves again, `gamma` if another seat moves.

    It is 0 if the rules have ended the game.
    """
    return jnp.where(terminated, 0.0, jnp.where(next_mover == mover, 1.0, gamma))
