"""Games as environments of Gymnasium: the environment's agent has one seat, and an agent of jaxgames the others.

`SeatEnv` is one board on the CPU, against any agent. `SeatVectorEnv` is many boards in one compiled program on JAX's
default device, against an agent that runs on the device. Importing this module registers the ids of all games, such as
`jaxgames/DotsAndBoxes-v0`. docs/interop/gymnasium.md has examples of both, and what differs from the env.
"""

from typing import Any

import jax
import numpy as np

from jaxgames import render
from jaxgames._checks import ParameterError, check_choice, check_process, host_int32
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.host import host
from jaxgames.interop.gymnasium.vector_env import SeatVectorEnv as SeatVectorEnv
from jaxgames.interop.gymnasium.vector_env import draw_words, gym, key_of, spaces_of
from jaxgames.interop.seat_play import (
    Episode,
    HostSeatPlay,
    Seat,
    SeatInfo,
    SeatPlay,
    against,
    games_by_id,
    reset_episode,
    step_episode,
)
from jaxgames.registry import as_env

Info = dict[str, Any]


class SeatEnv(gym.Env[np.ndarray, Any]):
    """One seat of a game against an agent that plays all other seats.

    | | |
    |---|---|
    | action | `Discrete(num_actions)`, the actions of the env; an illegal one ends the game and pays -1 |
    | observation | `Box(0, 1, observation_shape, int8)`, the board as the seat sees it |
    | info | `action_mask`, int8[num_actions]: the legal actions, all 0 at the end; `seat`: the seat that is played |
    | reward | what the seat was paid for its ply and for those of the opponents that follow it |
    | end | `terminated` by the rules, or `truncated` by a limit of the game; never both |

    If the opponents move first, they have played when `reset` returns. If they have also ended the game, the mask is
    empty, and the first step takes any action, pays the seat and ends the episode.

    Attributes:
      game: the env of jaxgames.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012  # as in gym.Env

    def __init__(
        self,
        env_or_id: Env[Any] | str,
        seat: Seat = 0,
        opponent: str | Agent = "random",
        render_mode: str | None = None,
        **parameters: Any,
    ) -> None:
        """Makes the environment of one board.

        Args:
          env_or_id: a game, or its text for `jaxgames.make`.
          seat: from 0 to num_players - 1, or "random": drawn at every reset.
          opponent: the agent of all other seats, or its text for `jaxgames.agents.make`. One that runs on the
            host plays its moves one by one, in Python.
          render_mode: "ansi" for the position in notation, "rgb_array" for a picture (extra `render`), or None.
          **parameters: of the game, if `env_or_id` is a text.
        """
        self.game = as_env(env_or_id, **parameters)
        render_modes = ["ansi", "rgb_array"] if render.has_pixels(self.game) else ["ansi"]
        if render_mode is not None:
            check_choice("render_mode", render_mode, render_modes)
        self.render_mode = render_mode
        self.metadata = self.metadata | {"render_modes": render_modes}
        self.observation_space, self.action_space = spaces_of(self.game)
        self._device = host(self.game).device
        self._play = jax.device_put(against(self.game, seat, opponent, on_host=True), self._device)
        self._episode: Episode | None = None
        self._mask: Any = None  # bool[num_actions], of the last call

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Info]:
        """Starts a game in which the opponents play until the seat's turn.

        Args:
          seed: of the random numbers of this and of all later games, until the next seed.
          options: none are known.

        Raises RuntimeError in a process that was forked when JAX had started.
        """
        check_process()
        if options:
            raise ParameterError(f"reset takes no options, not {', '.join(map(repr, options))}")
        super().reset(seed=seed)
        if seed is None and self._episode is not None:
            key = self._episode.key
        else:
            with jax.default_device(self._device):
                key = jax.device_put(_key(draw_words(self.np_random)), self._device)  # later keys are split there too
        self._episode, seat_info = self._run(_new_game, key)
        return self._observation_and_info(jax.device_get(seat_info))

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        """Plays one ply of the seat and those of the opponents that follow it. A finished game does not change.

        The action is one integer. An illegal one ends the game, also one that is out of range.

        Raises ResetNeeded before the first reset.
        """
        number = host_int32("action", action)
        self._episode, *results = self._run(_step, self._started(), number)
        seat_info, reward = jax.device_get(results)
        observation, info = self._observation_and_info(seat_info)
        return observation, float(reward), bool(seat_info.terminated), bool(seat_info.truncated), info

    def action_masks(self) -> np.ndarray:
        """Returns bool[num_actions], the legal actions; the name is that of sb3-contrib's `MaskablePPO`."""
        self._started()
        return self._mask.copy()

    def render(self) -> Any:
        """Returns the board: a text as "ansi", uint8[height, width, 3] as "rgb_array", None without a render mode."""
        if self.render_mode is None:
            return None
        board = self._started().state.board
        if self.render_mode == "ansi":
            return self.game.to_string(jax.device_get(board))
        return render.svg(self.game, board).pixels()

    def __getstate__(self) -> dict[str, Any]:
        """Returns what `copy` and `pickle` store: all but the device, which belongs to a process."""
        return {name: value for name, value in vars(self).items() if name != "_device"}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        vars(self).update(stored)
        self._device = host(self.game).device
        self._play, self._episode = jax.device_put((self._play, self._episode), self._device)

    def _run(self, function: Any, *arguments: Any) -> Any:
        """Returns the result of a function of a `SeatPlay`: compiled, but as it is for a `HostSeatPlay`."""
        return (function if isinstance(self._play, HostSeatPlay) else _COMPILED[function])(self._play, *arguments)

    def _started(self) -> Episode:
        if self._episode is None:
            raise gym.error.ResetNeeded("call reset() first")
        return self._episode

    def _observation_and_info(self, seat_info: Any) -> tuple[np.ndarray, Info]:
        """Returns the observation and info of a `SeatInfo` of numpy, as new arrays, and keeps the mask."""
        self._mask = np.asarray(seat_info.action_mask)
        info = {"action_mask": self._mask.astype(np.int8), "seat": int(seat_info.seat)}
        return seat_info.observation.astype(np.int8), info


_key = jax.jit(key_of)


def _new_game(play: SeatPlay, key: jax.Array) -> tuple[Episode, SeatInfo]:
    episode = reset_episode(play, key)
    return episode, play.look(episode.state)


def _step(play: SeatPlay, episode: Episode, action: Any) -> tuple[Episode, SeatInfo, Any]:
    episode, reward = step_episode(play, episode, action)
    return episode, play.look(episode.state), reward


_COMPILED = {function: jax.jit(function) for function in (_new_game, _step)}


# -- environments by name ------------------------------------------------------------------------------------------


def register_envs() -> None:
    """Registers `jaxgames/<Game>-v0` for every game of `jaxgames.list_games()` that has no id in Gymnasium yet.

    Importing this module calls it. Call it again after `jaxgames.register` to give a game of your own an id.
    """
    for id, game in games_by_id().items():
        if id not in gym.registry:
            gym.register(
                id,
                entry_point=f"{__name__}:SeatEnv",
                vector_entry_point=f"{__name__}:SeatVectorEnv",
                kwargs={"env_or_id": game},
            )


register_envs()
