"""Games of jaxgames as environments of PettingZoo, which several agents play in turn (AEC).

The environment plays one board on the host. Agent `player_k` has seat k. One step is one ply: while the same seat
moves, `agent_selection` stays. There is no parallel form, because seats take turns. docs/interop/pettingzoo.md has an
example, and what differs from the env.
"""

import copy
from typing import Any

import jax
import numpy as np

from jaxgames import render
from jaxgames._checks import check_choice
from jaxgames.env import Env
from jaxgames.host import BoardInfo, host
from jaxgames.registry import as_env

try:
    import gymnasium
    from gymnasium import spaces
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
except ImportError as error:
    raise ImportError('PettingZoo is missing; install it with: pip install "jaxgames[pettingzoo]"') from error

FRAMES_PER_SECOND = 2  # of videos that are recorded from "rgb_array"


class BoardGameEnv(AECEnv[str, dict[str, np.ndarray], int]):
    """A game of jaxgames as an environment of PettingZoo; made by `raw_env` and `aec_env`.

    Observation space of every agent: Dict with "observation", Box(0, 1, observation_shape, int8), as the agent sees the
    board; and "action_mask", Box(0, 1, (num_actions,), int8), all zeros for an agent that is not to move and after the
    end of the game. Action space: Discrete(num_actions).

    Attributes:
      game: the env.
      board: its state.
      board_info: the public values of the board.
      state_space: the space of `state`, as that of "observation".
    """

    def __init__(self, env: Env[Any], render_mode: str | None = None) -> None:
        super().__init__()
        modes = render_modes(env)
        if render_mode is not None:
            check_choice("render_mode", render_mode, modes)
        self.game: Env[Any] = env
        self.render_mode: str | None = render_mode
        self.metadata: dict[str, Any] = {
            "name": f"jaxgames_{env.id}_v0",
            "render_modes": modes,
            "is_parallelizable": False,
            "render_fps": FRAMES_PER_SECOND,
        }
        self.possible_agents = [f"player_{seat}" for seat in range(env.num_players)]
        self.board: Any = None
        self.board_info: BoardInfo
        self._host = host(env)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._key: jax.Array | None = None
        self.set_spaces(spaces.Box(0, 1, env.observation_shape, np.int8), env.num_actions)

    def set_spaces(self, observation: spaces.Box, num_actions: int) -> None:
        """Gives every agent an action space, and an observation space of a box and a mask."""
        parts: dict[str, Any] = {"observation": observation, "action_mask": spaces.Box(0, 1, (num_actions,), np.int8)}
        discrete: Any = spaces.Discrete  # whose samples are an int or a numpy integer, by Gymnasium's version
        self.state_space = observation
        of_agents: Any = {agent: spaces.Dict(copy.deepcopy(parts)) for agent in self.possible_agents}
        self.observation_spaces = of_agents
        self.action_spaces = {agent: discrete(num_actions) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Any:
        """Returns the observation space of an agent, the same object in every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Returns the action space of an agent, the same object in every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Puts the board at the start. The seed makes a game of chance repeatable; `options` are ignored."""
        if self.game.needs_key and (seed is not None or self._key is None):
            chosen = int(np.random.SeedSequence(seed).generate_state(1)[0])
            with jax.default_device(self._host.device):
                self._key = jax.device_put(jax.random.key(chosen), self._host.device)  # later keys are split there too
        self.board, self.board_info = self._host.init(self._next_key())
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[self.board_info.player]
        self._skip_agent_selection = None
        self._show()

    def step(self, action: int | None) -> None:
        """Plays an action of the selected agent; None for an agent whose game is over."""
        mover = self.agent_selection
        if self.board_info.over:
            self._was_dead_step(action)  # pyright: ignore[reportArgumentType]  # PettingZoo's type lacks None
            return
        self._cumulative_rewards[mover] = 0.0
        self.board, info = self._host.step(self.board, action, self._next_key())
        self.board_info = info
        self.rewards = dict(zip(self.agents, info.rewards.tolist(), strict=True))
        self.agent_selection = self.agents[info.player]
        self._accumulate_rewards()
        if info.over:
            self.terminations = dict.fromkeys(self.agents, info.terminated)
            self.truncations = dict.fromkeys(self.agents, info.truncated)
            self._deads_step_first()
        self._show()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Returns {"observation": ..., "action_mask": ...} as the agent sees the board: new arrays in each call."""
        seat = self._seats[agent]
        mask = self.board_info.mask if seat == self.board_info.player else np.zeros(self.game.num_actions)
        observation = self._host.observe(self.board, seat)
        return {"observation": observation.astype(np.int8), "action_mask": mask.astype(np.int8)}

    def state(self) -> np.ndarray:
        """Returns an array of `state_space`, the whole board as seat 0 sees it."""
        return self._host.observe(self.board, 0).astype(np.int8)

    def render(self) -> Any:
        """Returns the board: a text as "ansi", uint8[height, width, 3] as "rgb_array".

        Returns None as "human": every `reset` and `step` has printed the text already.
        """
        if self.render_mode is None:
            modes = ", ".join(self.metadata["render_modes"])
            gymnasium.logger.warn(
                f"render() needs a render mode: make the environment with render_mode, one of {modes}"
            )
        if self.render_mode == "rgb_array":
            return render.svg(self.game, self.board).pixels()
        return self._text() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Does nothing: there is no window."""

    def _show(self) -> None:
        if self.render_mode == "human":
            print(self._text())

    def _text(self) -> str:
        """Returns the position in notation, and which agent is to move or how the game ended."""
        outcome = self.game.outcome(self.board)
        if outcome.kind == "live":
            status = f"{self.possible_agents[self.board_info.player]} to move"
        elif outcome.winners:
            status = f"{', '.join(self.possible_agents[seat] for seat in outcome.winners)} won: {outcome.reason}"
        else:
            status = f"{outcome.kind}: {outcome.reason}"
        return f"{self.game.to_string(self.board)}\n{status}"

    def _next_key(self) -> jax.Array | None:
        """Returns a new key for a game of chance, None for the others."""
        if self._key is None:
            return None
        self._key, key = jax.random.split(self._key)
        return key


def raw_env(env_or_id: Env[Any] | str, render_mode: str | None = None) -> BoardGameEnv:
    """Returns a game as an environment of PettingZoo, without PettingZoo's wrappers.

    The arguments are those of `aec_env`.
    """
    return BoardGameEnv(as_env(env_or_id), render_mode)


def aec_env(env_or_id: Env[Any] | str, render_mode: str | None = None) -> AECEnv[str, dict[str, np.ndarray], int]:
    """Returns a game as an environment of PettingZoo, in the wrappers that check the actions and the order of calls.

    `TerminateIllegalWrapper` is not among them: the env itself ends the game after an illegal action.

    Args:
      env_or_id: an env, or a text that `jaxgames.make` takes.
      render_mode: None, "ansi" (the position as text), "human" (prints it) or "rgb_array" (an image; needs the extra
        `render`).
    """
    return checked_env(raw_env(env_or_id, render_mode))


def checked_env(env: BoardGameEnv) -> AECEnv[str, dict[str, np.ndarray], int]:
    """Returns an environment in PettingZoo's wrappers that check the actions and the order of calls."""
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def render_modes(env: Env[Any]) -> list[str]:
    """Returns the render modes of a game; "rgb_array" is one if its pictures can become pixels."""
    return ["ansi", "rgb_array", "human"] if render.has_pixels(env) else ["ansi", "human"]
