"""Many boards of one seat as a vector environment of Gymnasium: all boards in one compiled program.

`gym.vector.SyncVectorEnv` around single `SeatEnv`s returns the same for the same seeds and actions, in each of the
three autoreset modes. docs/interop/gymnasium.md explains the modes.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import INT32, ParameterError, check_choice, check_int, check_process
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.interop.seat_play import Episode, Seat, SeatPlay, against, reset_episode, step_episode
from jaxgames.registry import as_env

try:
    import gymnasium as gym
    from gymnasium.utils import seeding
except ImportError as error:
    raise ImportError('Gymnasium is missing; install it with: pip install "jaxgames[gymnasium]"') from error

AutoresetMode = gym.vector.AutoresetMode

WORDS_PER_SEED = 2  # uint32 numbers that make one PRNG key
MAX_NUM_ENVS = 2**24
WIDER = {np.float32: np.float64, np.int32: np.int64}  # numpy output has the types of Gymnasium's own environments

Infos = dict[str, Any]


def spaces_of(env: Env[Any]) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Returns the observation space and the action space of a game."""
    return gym.spaces.Box(0, 1, env.observation_shape, np.int8), gym.spaces.Discrete(env.num_actions)


def draw_words(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns uint32[*shape, WORDS_PER_SEED], drawn; `key_of` makes a PRNG key of the last axis."""
    return generator.integers(2**32, size=(*shape, WORDS_PER_SEED), dtype=np.uint32)


def key_of(words: jax.Array) -> jax.Array:
    """Returns the PRNG key of uint32[WORDS_PER_SEED]; traced."""
    return jax.random.fold_in(jax.random.key(words[0]), words[1])


class SeatVectorEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """Many boards, on each of them one seat against an agent; see `SeatEnv` for what a step is.

    `infos` has `action_mask`, int8[num_envs, num_actions], and `seat`, int[num_envs], the seat that is played. As in
    all vector environments of Gymnasium, `infos["_action_mask"]` is True for the boards whose rows are filled.

    With output="numpy" observations are int8, rewards float64 and flags bool, all of them new arrays. With output="jax"
    they stay on the device (rewards float32), and no call copies them or waits for them. Then `infos` always has the
    entries of finished games, `final_obs` is one array, and `infos["_final_obs"]` says which rows are filled.

    Attributes:
      game: the env of jaxgames.
    """

    def __init__(
        self,
        env_or_id: Env[Any] | str,
        num_envs: int,
        seat: Seat = 0,
        opponent: str | Agent = "random",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        output: Literal["numpy", "jax"] = "numpy",
        **parameters: Any,
    ) -> None:
        """Makes the environment of a batch of boards.

        Args:
          env_or_id: a game, or its text for `jaxgames.make`.
          num_envs: number of boards.
          seat: the seat that is played, or "random": drawn for every game.
          opponent: the agent of all other seats, or its text. It must run on the device;
            `SeatEnv` takes any agent.
          autoreset_mode: when finished boards restart, as an `AutoresetMode` or as its value.
          output: "numpy", or "jax" for arrays that stay on the device.
          **parameters: of the game, if `env_or_id` is a text.
        """
        check_int("num_envs", num_envs, 1, MAX_NUM_ENVS)
        check_choice("output", output, ("numpy", "jax"))
        self.game = as_env(env_or_id, **parameters)
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = spaces_of(self.game)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        if not isinstance(autoreset_mode, AutoresetMode):
            check_choice("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
        self._mode = AutoresetMode(autoreset_mode)
        self._numpy = output == "numpy"
        self.metadata = {"autoreset_mode": self._mode, "render_modes": [], "jax": not self._numpy}
        self._play = jax.device_put(against(self.game, seat, opponent))
        self._boards: Boards | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        """Restarts all boards, or those of a mask.

        Args:
          seed: an integer, so that board i has the seed `seed + i`, or one seed per board. A board without a seed
            continues its own random numbers.
          options: {"reset_mask": bool[num_envs]} restarts the boards of the mask only. `infos` has their rows only.

        Raises ResetNeeded for a mask before all boards have started, and RuntimeError in a process that was forked when
        JAX had started.
        """
        check_process()
        which = self._reset_mask(options)
        words, seeded = self._seeds(seed)
        if self._boards is None:
            if which is not None:
                raise gym.error.ResetNeeded("reset all boards first, without a reset_mask")
            self._boards, rows = _start(self._play, words)
        else:
            which = np.ones(self.num_envs, np.bool_) if which is None else which
            self._boards, rows = _restart(self._play, self._boards, words, seeded & which, which)
        rows = self._out(rows)
        return rows.observations, _infos(rows)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Infos]:
        """Plays one step of every board; the actions are integers [num_envs], of numpy or JAX.

        An illegal action ends the game of its board and pays -1, also one that is out of range.

        Raises ResetNeeded before the first reset and, with AutoresetMode.DISABLED, for finished boards. But
        output="jax" reads no values: there finished boards do not change and pay 0.
        """
        boards, actions = self._started(), self._checked_actions(actions)
        if self._mode is AutoresetMode.DISABLED and self._numpy and np.any(boards.over):
            which = ", ".join(map(str, np.flatnonzero(boards.over)))
            raise gym.error.ResetNeeded(f'boards {which} are finished: call reset(options={{"reset_mask": finished}})')
        self._boards, results, finals = _step(self._play, self._mode, boards, actions)
        rows, rewards, terminations, truncations = self._out(results)
        infos = _infos(rows)
        if finals is not None and (not self._numpy or np.any(finals.filled)):
            infos |= self._final_infos(self._out(finals))
        return rows.observations, rewards, terminations, truncations, infos

    def action_masks(self) -> Any:
        """Returns bool[num_envs, num_actions], the legal actions on every board; all False on a finished one."""
        return self._out(_masks(self._play, self._started()))

    def _started(self) -> "Boards":
        if self._boards is None:
            raise gym.error.ResetNeeded("call reset() first")
        return self._boards

    def _out(self, tree: Any) -> Any:
        """Returns arrays as the caller gets them: on the device, or as new arrays of numpy that can be written to."""
        if not self._numpy:
            return tree
        return jax.tree.map(lambda x: x.astype(WIDER.get(x.dtype.type, x.dtype)), jax.device_get(tree))

    def _final_infos(self, finals: "Rows") -> Infos:
        """Returns the entries of `infos` about finished games.

        As numpy output, `final_obs` is an array of objects, None for the other boards, as in Gymnasium's SyncVectorEnv.
        """
        observations = finals.observations
        if self._numpy:
            observations = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(finals.filled):
                observations[i] = finals.observations[i]
        entries = {"final_obs": observations, "final_info": _infos(finals)}
        return _with_flags(entries, finals.filled)

    def _checked_actions(self, actions: Any) -> Any:
        """Returns integers [num_envs] that fit int32, on the device if they are there."""
        if not isinstance(actions, jax.Array):
            actions = np.asarray(actions)
        if actions.dtype.kind not in "iu":
            raise TypeError(f"actions must be integers [{self.num_envs}], not of dtype {actions.dtype}")
        if actions.shape != (self.num_envs,):
            raise ParameterError(f"actions must have the shape ({self.num_envs},), not {actions.shape}")
        return actions if isinstance(actions, jax.Array) else np.clip(actions, INT32.min, INT32.max).astype(np.int32)

    def _reset_mask(self, options: dict[str, Any] | None) -> np.ndarray | jax.Array | None:
        """Returns the mask of `reset`, None for all boards."""
        if not options:
            return None
        if options.keys() != {"reset_mask"}:
            raise ParameterError(f"reset takes the option 'reset_mask', not {', '.join(map(repr, options))}")
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray | jax.Array) or mask.dtype != np.bool_:
            raise TypeError(f"reset_mask must be an array of bool, not {mask!r}")
        if mask.shape != (self.num_envs,):
            raise ParameterError(f"reset_mask must have the shape ({self.num_envs},), not {mask.shape}")
        if self._numpy and not mask.any():
            raise ParameterError("reset_mask must be True for at least one board")
        return mask

    def _seeds(self, seed: int | Sequence[int | None] | None) -> tuple[np.ndarray, np.ndarray]:
        """Returns the words of the boards' keys, uint32[num_envs, 2], and bool[num_envs], True where a seed made them.

        The others are drawn.
        """
        if seed is None:
            return draw_words(self.np_random, self.num_envs), np.zeros(self.num_envs, np.bool_)
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            seed = range(int(seed), int(seed) + self.num_envs)
        if len(seed) != self.num_envs:
            raise ParameterError(f"seed must be one integer or {self.num_envs} of them, not {len(seed)}")
        generators = [self.np_random if each is None else seeding.np_random(each)[0] for each in seed]
        return np.stack([draw_words(generator) for generator in generators]), np.array([s is not None for s in seed])


def _infos(rows: "Rows") -> Infos:
    return _with_flags(rows.infos, rows.filled)


def _with_flags(entries: Infos, filled: Any) -> Infos:
    """Returns the entries, and for each of them `filled`, bool[num_envs], under its name with an underscore."""
    flags = {f"_{name}": filled if isinstance(filled, jax.Array) else filled.copy() for name in entries}
    return entries | flags


# -- all boards in one program -------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Boards:
    """A batch of games, each with its own random numbers."""

    episodes: Episode
    over: jax.Array  # bool[num_envs], the last step finished the game, which was not restarted since


class Rows(NamedTuple):
    """Observations, masks and flags of the seats; every array has one row per board."""

    observations: jax.Array  # int8[num_envs, *observation_shape]
    infos: Infos  # name: array [num_envs, ...], 0 in rows that are not filled
    filled: jax.Array  # bool[num_envs]


class Results(NamedTuple):
    """The result of a step."""

    rows: Rows
    rewards: jax.Array  # float32[num_envs]
    terminations: jax.Array  # bool[num_envs]
    truncations: jax.Array  # bool[num_envs]


@jax.jit
def _start(play: SeatPlay, words: jax.Array) -> tuple[Boards, Rows]:
    """Returns new games with the keys of uint32[num_envs, 2], and what the seats see."""
    episodes = jax.vmap(lambda each: reset_episode(play, key_of(each)))(words)
    everywhere = jnp.ones(words.shape[0], jnp.bool_)
    return Boards(episodes, ~everywhere), _rows(play, episodes, everywhere)


@jax.jit
def _restart(
    play: SeatPlay, boards: Boards, words: jax.Array, seeded: jax.Array, which: jax.Array
) -> tuple[Boards, Rows]:
    """Returns the boards with new games where `which`; `seeded` ones have the keys of `words`, others continue."""
    keys = _where(seeded, jax.vmap(key_of)(words), boards.episodes.key)
    episodes = _renewed(play, keys, which, boards.episodes)
    return Boards(episodes, boards.over & ~which), _rows(play, episodes, which)


@functools.partial(jax.jit, static_argnames="mode")
def _step(
    play: SeatPlay, mode: AutoresetMode, boards: Boards, actions: jax.Array
) -> tuple[Boards, Results, Rows | None]:
    """Returns the boards after a step, its results, and in SAME_STEP the last rows of the games that it finished."""
    episodes, rewards = jax.vmap(functools.partial(step_episode, play))(boards.episodes, actions)
    terminated, truncated = episodes.state.board.terminated, episodes.state.board.truncated
    if mode is AutoresetMode.NEXT_STEP:  # a new game that is over before the seat's turn ends with its first step
        terminated, truncated = terminated & ~boards.over, truncated & ~boards.over
        rewards = jnp.where(boards.over, 0.0, rewards)
        episodes = _renewed(play, boards.episodes.key, boards.over, episodes)
    over = terminated | truncated
    finals = None
    if mode is AutoresetMode.SAME_STEP:
        finals = _rows(play, episodes, over)
        episodes = _renewed(play, episodes.key, over, episodes)
    rows = _rows(play, episodes, jnp.ones_like(over))
    return Boards(episodes, over), Results(rows, rewards, terminated, truncated), finals


@jax.jit
def _masks(play: SeatPlay, boards: Boards) -> jax.Array:
    return jax.vmap(play.look)(boards.episodes.state).action_mask


def _rows(play: SeatPlay, episodes: Episode, filled: jax.Array) -> Rows:
    """Returns what the seats see; infos are those of the boards that `filled` names."""
    seat_infos = jax.vmap(play.look)(episodes.state)
    infos = {"action_mask": seat_infos.action_mask.astype(jnp.int8), "seat": seat_infos.seat}
    infos = _where(filled, infos, jax.tree.map(jnp.zeros_like, infos))
    return Rows(seat_infos.observation.astype(jnp.int8), infos, filled)


def _renewed(play: SeatPlay, keys: jax.Array, which: jax.Array, episodes: Episode) -> Episode:
    """Returns the episodes with new games, made of `keys`, where `which`. It costs nothing if that is nowhere."""
    new = functools.partial(reset_episode, play)
    return jax.lax.cond(which.any(), lambda: _where(which, jax.vmap(new)(keys), episodes), lambda: episodes)


def _where(which: jax.Array, new: Any, old: Any) -> Any:
    """Returns the rows of `new` where `which` and those of `old` elsewhere, for pytrees of arrays [num_envs, ...]."""
    return jax.vmap(lambda one, a, b: jax.tree.map(lambda x, y: jnp.where(one, x, y), a, b))(which, new, old)
