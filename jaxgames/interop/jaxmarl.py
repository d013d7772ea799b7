"""Games of jaxgames as environments of JaxMARL, for its wrappers and for algorithms that are written for it.

All agents act in every step, and only the mover's action counts. The others have one action, `no_op`, the last one.
docs/interop/jaxmarl.md has an example, and what differs from the env.
"""

# `make check` runs without JaxMARL
# pyright: reportMissingImports=false, reportUntypedBaseClass=false

import contextlib
import functools
import sys
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterTypeError, check_choice
from jaxgames.env import Env
from jaxgames.registry import as_env

try:
    # While JaxMARL is imported it replaces both streams. The two contexts put them back, for notebooks and tests.
    with contextlib.redirect_stdout(sys.stdout), contextlib.redirect_stderr(sys.stderr):
        from jaxmarl.environments import multi_agent_env as base
        from jaxmarl.environments.spaces import Box, Discrete
except ImportError as error:
    raise ImportError('JaxMARL is missing; install it with: pip install "jaxgames[jaxmarl]"') from error

ByAgent = dict[str, jax.Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)  # pyright: ignore[reportGeneralTypeIssues]  # JaxMARL's states are frozen at run time only
class JaxMARLState(base.State):
    """A board as a state of JaxMARL.

    Attributes:
      done: bool[], whether the game is finished, by the rules or by a limit.
      step: int32[], steps of this game.
      board: the state of the game.
    """

    board: Any


class JaxMARLEnv(base.MultiAgentEnv):
    """A game of jaxgames as a `MultiAgentEnv`. Envs with the same arguments are equal and hashable.

    Attributes:
      unwrapped: the game.
      no_op: the action of agents that are not to move.
      max_steps: upper bound on the steps of a game, or None.
    """

    def __init__(self, env_or_id: Env[Any] | str, flat: bool = True) -> None:
        """Makes the env of a game.

        Args:
          env_or_id: an env, or a text that `jaxgames.make` takes.
          flat: whether observations are vectors, as JaxMARL's dense and recurrent networks take them. False: they have
            the shape of the board, for convolutions.
        """
        check_choice("flat", flat, (False, True))
        self.unwrapped: Env[Any] = as_env(env_or_id)
        super().__init__(self.unwrapped.num_players)
        self.flat: bool = flat
        self.no_op: int = self.unwrapped.num_actions
        self.max_steps: int | None = self.unwrapped.max_steps
        shape = self.unwrapped.observation_shape
        self.observation_shape: tuple[int, ...] = (int(np.prod(shape)),) if flat else shape
        self.observation_spaces = {agent: Box(0.0, 1.0, self.observation_shape) for agent in self.agents}
        self.action_spaces = {agent: Discrete(self.no_op + 1) for agent in self.agents}

    @property
    def name(self) -> str:
        """The id of the game."""
        return self.unwrapped.id

    @functools.partial(jax.jit, static_argnums=0)
    def reset(self, key: jax.Array) -> tuple[ByAgent, JaxMARLState]:
        """Returns the observations and the state at the start of a game; `key` is a PRNG key."""
        board = self.unwrapped.init(key)
        state = JaxMARLState(done=jnp.bool_(False), step=jnp.int32(0), board=board)
        return self.get_obs(state), state

    @functools.partial(jax.jit, static_argnums=0)
    def step_env(  # pyright: ignore[reportIncompatibleMethodOverride]  # compiled, as in JaxMARL's own games
        self, key: jax.Array, state: JaxMARLState, actions: dict[str, Any]
    ) -> tuple[ByAgent, JaxMARLState, ByAgent, ByAgent, dict[str, Any]]:
        """Returns the results of one step without a restart. A finished board does not change and pays zero.

        Args:
          key: PRNG key; only a game of chance uses it.
          state: the state before.
          actions: an integer for each agent, int32[] or int32[1]. Only the mover's is used.

        Returns:
          observations: float32[*observation_shape] by agent.
          state: the state after.
          rewards: float32[] by agent.
          dones: bool[] by agent, and as "__all__".
          infos: "truncated" bool[num_agents], whether a limit has cut the game off, the same for all agents.
        """
        board = _board(state)
        board = self.unwrapped.step(board, self._stacked(actions)[board.current_player], key)
        done = board.terminated | board.truncated
        state = JaxMARLState(done=done, step=jnp.where(state.done, state.step, state.step + 1), board=board)
        rewards = {agent: board.rewards[seat] for seat, agent in enumerate(self.agents)}
        dones: dict[str, Any] = dict.fromkeys([*self.agents, "__all__"], done)
        infos = {"truncated": jnp.broadcast_to(board.truncated, self.num_agents)}
        return self.get_obs(state), state, rewards, dones, infos

    @functools.partial(jax.jit, static_argnums=0)
    def get_obs(self, state: JaxMARLState) -> ByAgent:  # pyright: ignore[reportIncompatibleMethodOverride]  # compiled too
        """Returns float32[*observation_shape] by agent: the board in the agent's own frame."""
        seats = jnp.arange(self.num_agents, dtype=jnp.int32)
        seen = jax.vmap(functools.partial(self.unwrapped.observe, _board(state)))(seats)
        return self._by_agent(seen.reshape(-1, *self.observation_shape).astype(jnp.float32))

    @functools.partial(jax.jit, static_argnums=0)
    def get_avail_actions(self, state: JaxMARLState) -> ByAgent:
        """Returns bool[num_actions + 1] by agent: the mover's legal actions, or `no_op`, the last one."""
        board = _board(state)
        mask = self.unwrapped.legal_action_mask(board)
        moves = (jnp.arange(self.num_agents) == board.current_player) & mask.any()
        return self._by_agent(jnp.concatenate([moves[:, None] & mask, ~moves[:, None]], axis=1))

    def _stacked(self, actions: dict[str, Any]) -> jax.Array:
        """Returns the actions as one array, [num_agents]."""
        arrays = {agent: jnp.asarray(actions[agent]) for agent in self.agents}
        for agent, action in arrays.items():
            if not jnp.issubdtype(action.dtype, jnp.integer) or action.size != 1:
                raise ParameterTypeError(f"expected one integer of {agent}, not {action.dtype}{list(action.shape)}")
        return jnp.stack([action.reshape(()) for action in arrays.values()])

    def _by_agent(self, rows: jax.Array) -> ByAgent:
        return {agent: rows[seat] for seat, agent in enumerate(self.agents)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JaxMARLEnv) and (self.unwrapped, self.flat) == (other.unwrapped, other.flat)

    def __hash__(self) -> int:
        return hash((self.unwrapped, self.flat))

    def __repr__(self) -> str:
        return f"JaxMARLEnv({str(self.unwrapped)!r}, flat={self.flat})"


def _board(state: Any) -> Any:
    if not isinstance(state, JaxMARLState):
        kind = type(state).__name__
        raise TypeError(f"expected a JaxMARLState, not {kind}: pass state.env_state of a state of a wrapper")
    return state.board
