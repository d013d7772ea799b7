"""Envs made of envs."""

import dataclasses
from dataclasses import dataclass
from typing import Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Env, State

S = TypeVar("S", bound=State)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class AutoResetState(State, Generic[S]):
    """How the last step ended (the fields of `State`), and the boards on both sides of a restart.

    `current_player` is the seat to move on `board`; `rewards`, `terminated` and `truncated` are those of the
    last step. A loop that does not read `final` does not carry it: the compiler drops it.
    """

    board: S  # the live board to play on: a new one where the last step finished the old one
    final: S  # the board that the last step led to, finished or not: observe it to bootstrap at a truncation


@dataclass(frozen=True)
class AutoReset(Env[AutoResetState[S]], Generic[S]):
    """See `auto_reset`."""

    unwrapped: Env[S]
    num_players: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_players", self.unwrapped.num_players)

    @property
    def id(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # that of the game
        return self.unwrapped.id

    @property
    def needs_key(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # that of the game
        return self.unwrapped.needs_key

    @property
    def num_actions(self) -> int:
        return self.unwrapped.num_actions

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return self.unwrapped.observation_shape

    @property
    def observation_support(self) -> np.ndarray:
        return self.unwrapped.observation_support

    @property
    def max_steps(self) -> None:
        return None

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.unwrapped.reward_range

    @property
    def zero_sum(self) -> bool:
        return self.unwrapped.zero_sum

    def init(self, key: jax.Array) -> AutoResetState[S]:
        board = self.unwrapped.init(key)
        return _state(board, board)

    def step(self, state: AutoResetState[S], action: jax.Array, key: jax.Array | None = None) -> AutoResetState[S]:
        """The boards after `action`. `key` is for the step and for the restart; only games with chance need it."""
        if key is None:
            if self.needs_key:
                raise ValueError(f"{self.id} is a game of chance: step(state, action, key) needs the key")
            key = jax.random.key(0)
        step_key, init_key = jax.random.split(key)
        final = self.unwrapped.step(state.board, action, step_key)
        finished = final.terminated | final.truncated
        board = jax.tree.map(lambda new, old: jnp.where(finished, new, old), self.unwrapped.init(init_key), final)
        return _state(board, final)

    def legal_action_mask(self, state: AutoResetState[S]) -> jax.Array:
        """bool[num_actions] of the live board, never empty."""
        return self.unwrapped.legal_action_mask(state.board)

    def observe(self, state: AutoResetState[S], player: jax.Array | int | None = None) -> jax.Array:
        """bool[*observation_shape], the live board."""
        return self.unwrapped.observe(state.board, player)

    def _step(self, state: AutoResetState[S], action: jax.Array, key: jax.Array | None) -> AutoResetState[S]:
        return self.step(state, action, key)

    def _legal_action_mask(self, state: AutoResetState[S]) -> jax.Array:
        return self.legal_action_mask(state)

    def action_to_string(self, state: AutoResetState[S], action: int) -> str:
        return self.unwrapped.action_to_string(state.board, action)

    def action_from_string(self, state: AutoResetState[S], text: str) -> int:
        return self.unwrapped.action_from_string(state.board, text)

    def to_string(self, state: AutoResetState[S]) -> str:
        """The live board."""
        return self.unwrapped.to_string(state.board)

    def from_string(self, text: str) -> AutoResetState[S]:
        board = self.unwrapped.from_string(text)
        return _state(board, board)

    def __str__(self) -> str:
        return f"auto_reset({self.unwrapped})"


def auto_reset(env: Env[S]) -> AutoReset[S]:
    """`env` with boards that start anew in the very step that finishes them.

    That step's rewards and flags stay readable on the returned state, and the finished board stays there as
    `state.final`. Every board of a batch is then always live, so a rollout is one `jax.lax.scan`.
    """
    return AutoReset(env)


def _state(board: S, final: S) -> AutoResetState[S]:
    return AutoResetState(
        current_player=board.current_player,
        rewards=final.rewards,
        terminated=final.terminated,
        truncated=final.truncated,
        board=board,
        final=final,
    )
