"""Games of jaxgames as games of Pgx, for loops and searches that are written for Pgx.

The rules, the numbers of the actions, the observations and the rewards are those of jaxgames, and the rest is as in
Pgx. docs/interop/pgx.md has examples, and what differs from the env.
"""

# Pgx requires an underscore before the names of all fields of a state but its own six. `PgxEnv` reads them.
# pyright: reportPrivateUsage=false

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp

from jaxgames import render
from jaxgames._checks import ParameterError, check_choice, check_seat
from jaxgames.env import Env
from jaxgames.registry import as_env
from jaxgames.render.drawing import CARD

try:
    from pgx import core
except ImportError as error:
    raise ImportError('Pgx is missing; install it with: pip install "jaxgames[pgx]"') from error

Theme = Literal["light", "dark"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)  # pyright: ignore[reportGeneralTypeIssues]  # Pgx's states are frozen at run time only
class PgxState(core.State):
    """A board of jaxgames as a `pgx.State`. Its public fields are exactly those of Pgx; make it with `PgxEnv.init`."""

    current_player: jax.Array  # int32[], the player id to move
    observation: jax.Array  # bool[*observation_shape], the mover's
    rewards: jax.Array  # float32[num_players], paid to each player id by the last step
    terminated: jax.Array  # bool[]
    truncated: jax.Array  # bool[]; all False with truncation="terminate"
    legal_action_mask: jax.Array  # bool[num_actions], all True on a finished board
    _step_count: jax.Array  # int32[]
    _first: jax.Array  # int8[], the player id of seat 0
    _state: Any  # the board, a state of `_env`
    _env: Env[Any] = dataclasses.field(metadata={"static": True})

    @property
    def board(self) -> Any:
        """The board, a state of `PgxEnv.unwrapped`, for its notation, its `winners` and solvers. It has seats."""
        return self._state

    @property
    def env_id(self) -> Any:
        """The id of the game."""
        return self._env.id

    def to_svg(self, *, color_theme: Theme | None = None, scale: float | None = None) -> str:
        """Returns the board, or the boards of a batch, as the text of an SVG.

        `color_theme` is "light" (None) or "dark"; `scale` multiplies the width, None is 1.
        """
        return self._picture(color_theme, scale).svg

    def save_svg(
        self, filename: str | os.PathLike[str], *, color_theme: Theme | None = None, scale: float | None = None
    ) -> None:
        """Writes `to_svg` to a file. Raises ValueError unless its name ends with .svg."""
        if Path(filename).suffix.lower() != ".svg":
            raise ParameterError(f"the file's suffix must be .svg, not {Path(filename).suffix!r} in {str(filename)!r}")
        self._picture(color_theme, scale).save(filename)

    def _repr_html_(self) -> str:
        return self._picture(None, None)._repr_html_()

    def _picture(self, theme: str | None, scale: float | None) -> render.Picture:
        width = CARD if scale is None else CARD * scale
        return render.svg(self._env, self._state, theme="light" if theme is None else theme, width=width)


class PgxEnv(core.Env):
    """A game of jaxgames as a `pgx.Env`. Envs with the same arguments are equal and hashable.

    Attributes:
      unwrapped: the game.
      truncation, shuffle_players: the arguments.
    """

    def __init__(
        self,
        env_or_id: Env[Any] | str,
        truncation: Literal["terminate", "keep"] = "terminate",
        shuffle_players: bool = True,
    ) -> None:
        """Makes the env of a game.

        Args:
          env_or_id: an env, or a text that `jaxgames.make` takes.
          truncation: "terminate" reports a game that a limit has cut off as `terminated`. "keep" reports it as
            `truncated`, for loops that read this flag too. With "keep", a loop that waits for `terminated` never ends.
          shuffle_players: whether `init` draws the player id that moves first; the other ids follow in order. False:
            player id 0 always moves first, and player ids are seats.
        """
        super().__init__()
        check_choice("truncation", truncation, ("terminate", "keep"))
        check_choice("shuffle_players", shuffle_players, (False, True))
        self.unwrapped: Env[Any] = as_env(env_or_id)
        self.truncation: str = truncation
        self.shuffle_players: bool = shuffle_players

    @property
    def id(self) -> Any:
        """The id of the game."""
        return self.unwrapped.id

    @property
    def version(self) -> str:
        """The version of the game, counted from "v0" as in Pgx."""
        return f"v{self.unwrapped.version - 1}"

    @property
    def num_players(self) -> int:
        return self.unwrapped.num_players

    @property
    def num_actions(self) -> int:
        return self.unwrapped.num_actions

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return self.unwrapped.observation_shape

    def init(self, key: jax.Array) -> PgxState:
        """Returns the start of a game; `key` is a PRNG key."""
        if self.shuffle_players and key is None:  # pyright: ignore[reportUnnecessaryComparison]  # from untyped code
            raise ParameterError("init(key) draws the player who moves first: pass a key, such as jax.random.key(0)")
        self.unwrapped._check_key("init(key)", key)
        if not self.shuffle_players:
            return self.state_at(self.unwrapped.init(key))
        init_key, first_key = jax.random.split(key)
        return self.state_at(self.unwrapped.init(init_key), jax.random.randint(first_key, (), 0, self.num_players))

    def state_at(self, board: Any, first: jax.Array | int = 0) -> PgxState:
        """Returns the state of any board of the game; its `rewards` are those of the board and its step count is 0.

        `first`, int32[], is the player id of seat 0.
        """
        self.unwrapped.legal_action_mask(board)
        return self._state_of(board, check_seat(first, self.num_players).astype(jnp.int8), jnp.int32(0))

    def step(self, state: core.State, action: jax.Array | int, key: jax.Array | None = None) -> PgxState:
        """Returns the state after `action` (int32[]). Only a game of chance needs `key`.

        A state whose flags `terminated` or `truncated` are set does not change, and its rewards are zero.
        """
        state = self._checked(state)
        over = state.terminated | state.truncated
        after = self._state_of(self.unwrapped.step(state._state, action, key), state._first, state._step_count + 1)
        same = dataclasses.replace(state, rewards=jnp.zeros_like(state.rewards))
        return jax.tree.map(lambda old, new: jnp.where(over, old, new), same, after)

    def observe(self, state: core.State, player_id: jax.Array | int | None = None) -> jax.Array:
        """Returns bool[*observation_shape], the observation of a player id (int32[]); of the mover if None."""
        state = self._checked(state)
        if player_id is None:
            return self.unwrapped.observe(state._state)
        player = check_seat(player_id, self.num_players)
        return self.unwrapped.observe(state._state, (player - state._first) % self.num_players)

    # -- the methods that Pgx requires of a game; `init`, `step` and `observe` above replace those that call them ---

    def _init(self, key: jax.Array) -> PgxState:
        return self.init(key)

    def _step(self, state: core.State, action: jax.Array, key: jax.Array | None) -> PgxState:
        return self.step(state, action, key)

    def _observe(self, state: core.State, player_id: jax.Array) -> jax.Array:
        return self.observe(state, player_id)

    def _state_of(self, board: Any, first: jax.Array, step_count: jax.Array) -> PgxState:
        """Returns the state with the public fields of a board."""
        merged = self.truncation == "terminate"
        over = board.terminated | board.truncated
        return PgxState(
            current_player=(board.current_player + first) % self.num_players,
            observation=self.unwrapped.observe(board),
            rewards=jnp.roll(board.rewards, first),
            terminated=over if merged else board.terminated,
            truncated=jnp.zeros_like(over) if merged else board.truncated,
            legal_action_mask=self.unwrapped.legal_action_mask(board) | over,
            _step_count=step_count,
            _first=first,
            _state=board,
            _env=self.unwrapped,
        )

    def _checked(self, state: core.State) -> PgxState:
        if not isinstance(state, PgxState):
            raise TypeError(f"expected a state of {self}, not {type(state).__name__}: begin with env.init(key)")
        if state._env != self.unwrapped:
            raise TypeError(f"expected a state of {self}, got one of {state._env}: begin with env.init(key)")
        return state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PgxEnv) and self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash(self._arguments())

    def _arguments(self) -> tuple[Env[Any], str, bool]:
        return self.unwrapped, self.truncation, self.shuffle_players

    def __repr__(self) -> str:
        return (
            f"PgxEnv({str(self.unwrapped)!r}, truncation={self.truncation!r}, shuffle_players={self.shuffle_players})"
        )
