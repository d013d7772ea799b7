"""Games as environments of gymnax: one seat against an agent that plays all other seats, as traced functions.

A step is one ply of the seat and all plies of the opponents that follow it. gymnax has no masks of actions, so
`action_mask` computes them from the state. docs/interop/gymnax.md has an example, and what differs from the env.
"""

# `make check` runs without gymnax
# pyright: reportMissingImports=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false

import functools
from typing import Any

import jax
import jax.numpy as jnp

from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.interop.seat_play import Seat, SeatPlay, SeatState, against, games_by_id
from jaxgames.registry import as_env

try:
    import gymnax
    from flax import struct
    from gymnax.environments import environment, spaces
except ImportError as error:
    raise ImportError('gymnax is missing; install it with: pip install "jaxgames[gymnax]"') from error

UNLIMITED = 1_000_000  # `max_steps_in_episode` of a game whose `max_steps` is None


@struct.dataclass(kw_only=True)
class SeatEnvState(environment.EnvState):
    """A game of one seat."""

    time: Any  # int32[], the seat's steps in this game
    game: SeatState


@struct.dataclass(kw_only=True)
class SeatEnvParams(environment.EnvParams):
    """The seat, its opponent and a limit. All arrays among them can change without a new compilation.

    Pass `params` to `reset` and `step`: otherwise the arrays of the opponent, such as the parameters of a network,
    become constants of the compiled program.
    """

    max_steps_in_episode: Any = UNLIMITED  # int, truncates a game after that many steps of the seat
    play: SeatPlay  # another one: params.replace(play=seat_play.against(env.game, 1, "greedy"))


class SeatEnv(environment.Environment[Any, Any]):
    """One seat of a game against an agent that plays all other seats, with the methods of gymnax's environments.

    | | |
    |---|---|
    | action | `Discrete(num_actions)`, the actions of the game; an illegal one ends the game and pays -1 |
    | observation | `Box(0, 1, observation_shape, float32)`, the board as the seat sees it |
    | reward | what the seat was paid for its ply and for those of the opponents that follow it |
    | end | `terminated` by the rules, or `truncated` by a limit of the game or of the params; never both |
    | info | `seat`, `terminated`, `truncated`, `final_observation`: of the game before it was restarted |

    If the opponents move first, they have played when `reset` returns. If they have also ended the game, the mask is
    empty, and the first step takes any action, pays the seat and ends the episode.

    Attributes:
      game: the env of jaxgames.
    """

    def __init__(
        self, env_or_id: Env[Any] | str, seat: Seat = 0, opponent: str | Agent = "random", **parameters: Any
    ) -> None:
        """Makes the environment of one board.

        Args:
          env_or_id: a game, or its text for `jaxgames.make`.
          seat: from 0 to num_players - 1, or "random": drawn at every reset.
          opponent: the agent of all other seats, or its text for `jaxgames.agents.make`. It must run on the device;
            `jaxgames.interop.gymnasium.SeatEnv` takes any agent.
          **parameters: of the game, if `env_or_id` is a text.
        """
        super().__init__()
        self.game = as_env(env_or_id, **parameters)
        self._play = against(self.game, seat, opponent)

    @property
    def name(self) -> str:
        """The game with its parameters, as `jaxgames.make` takes it."""
        return str(self.game)

    @property
    def num_actions(self) -> int:
        return self.game.num_actions

    @property
    def default_params(self) -> SeatEnvParams:
        """The seat and the opponent that the environment was made with, without a limit besides those of the game."""
        max_steps = UNLIMITED if self.game.max_steps is None else self.game.max_steps
        return SeatEnvParams(max_steps_in_episode=max_steps, play=self._play)

    def action_space(self, params: SeatEnvParams | None = None) -> spaces.Discrete:
        return spaces.Discrete(self.num_actions)

    def observation_space(self, params: SeatEnvParams | None = None) -> spaces.Box:
        return spaces.Box(0.0, 1.0, self.game.observation_shape, jnp.float32)

    def state_space(self, params: SeatEnvParams) -> spaces.Dict:
        """The space of `time`. The boards of a game are pytrees of its own, which have no space."""
        return spaces.Dict({"time": spaces.Discrete(params.max_steps_in_episode + 1)})

    def action_mask(self, state: SeatEnvState) -> jax.Array:
        """Returns bool[num_actions], the legal actions of the seat; traced."""
        return self.game.legal_action_mask(state.game.board)

    def reset_env(self, key: jax.Array, params: SeatEnvParams) -> tuple[jax.Array, SeatEnvState]:
        """Returns the observation and the state of a game in which the opponents have played until the seat's turn."""
        state = SeatEnvState(time=jnp.int32(0), game=params.play.reset(key))
        return self.get_obs(state), state

    def step_env(
        self, key: jax.Array, state: SeatEnvState, action: Any, params: SeatEnvParams
    ) -> tuple[jax.Array, SeatEnvState, jax.Array, jax.Array, dict[Any, Any]]:
        """Returns the observation, state, reward, whether the rules ended the game, and info; without a restart."""
        game, reward = params.play.step(key, state.game, action)
        state = SeatEnvState(time=state.time + 1, game=game)
        return self.get_obs(state), state, reward, self.is_terminated(state, params), {"seat": game.seat}

    def get_obs(self, state: Any, params: Any = None, key: Any = None) -> jax.Array:
        """Returns float32[*observation_shape], the board as the seat sees it."""
        return self.game.observe(state.game.board, state.game.seat).astype(jnp.float32)

    def is_terminated(self, state: SeatEnvState, params: SeatEnvParams) -> jax.Array:
        """Returns bool[], whether the rules ended the game."""
        return state.game.board.terminated

    def is_truncated(self, state: SeatEnvState, params: SeatEnvParams) -> jax.Array:
        """Returns bool[], whether a limit of the game or of the params cut it off, and the rules did not end it."""
        board = state.game.board
        return (board.truncated | (state.time >= params.max_steps_in_episode)) & ~board.terminated


def register_envs() -> None:
    """Registers `jaxgames/<Game>-v0` for every game of `jaxgames.list_games()` that has no id in gymnax yet.

    Importing this module calls it: `env, params = gymnax.make("jaxgames/DotsAndBoxes-v0", rows=2, cols=2)`. Call it
    again after `jaxgames.register` to give a game of your own an id.
    """
    for id, game in games_by_id().items():
        if id not in gymnax.registered_envs:
            gymnax.register(id, functools.partial(SeatEnv, game))


register_envs()
