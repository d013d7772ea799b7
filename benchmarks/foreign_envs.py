"""Traced environments of other libraries behind the functions of `jaxgames.Env`, for benchmarks/random_play.py."""

from typing import Any, NamedTuple

import jax.numpy as jnp


def pgx_functions(env: Any) -> tuple[Any, Any]:
    """Returns an env with Pgx's interface behind the functions of `jaxgames.Env`: without restarts, and with Pgx's."""
    from pgx.experimental import auto_reset

    class Bare:
        init = staticmethod(env.init)
        step = staticmethod(env.step)

        @staticmethod
        def observe(state: Any) -> Any:
            return state.observation  # written by the step

        @staticmethod
        def legal_action_mask(state: Any) -> Any:
            return state.legal_action_mask

    class Playing(Bare):
        step = staticmethod(auto_reset(env.step, env.init))

    return Bare, Playing


class JaxMARLBoard(NamedTuple):
    """The results of the last step of an env of JaxMARL."""

    state: Any
    observations: Any  # by agent
    rewards: Any
    current_player: Any


class PlayingJaxMARL:
    """An env of JaxMARL, which restarts finished boards, behind the functions of `jaxgames.Env`."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def init(self, key: Any) -> JaxMARLBoard:
        observations, state = self._env.reset(key)
        return self._board(observations, state, dict.fromkeys(self._env.agents, jnp.float32(0)))

    def step(self, board: JaxMARLBoard, action: Any, key: Any) -> JaxMARLBoard:
        joint = dict.fromkeys(self._env.agents, action)  # only the mover's counts
        observations, state, rewards, _, _ = self._env.step(key, board.state, joint)
        return self._board(observations, state, rewards)

    def observe(self, board: JaxMARLBoard) -> Any:
        return self._stacked(board.observations)

    def legal_action_mask(self, board: JaxMARLBoard) -> Any:
        return self._stacked(self._env.get_avail_actions(board.state))[board.current_player]

    def _board(self, observations: Any, state: Any, rewards: Any) -> JaxMARLBoard:
        return JaxMARLBoard(state, observations, self._stacked(rewards), state.board.current_player)

    def _stacked(self, by_agent: Any) -> Any:
        return jnp.stack([by_agent[agent] for agent in self._env.agents])
