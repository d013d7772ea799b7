"""One board at a time on the host, for loops in Python: adapters to other libraries, terminals and servers.

    game = host(env)
    state, info = game.init()
    while not info.over:
        state, info = game.step(state, np.flatnonzero(info.mask)[0])

For many boards use the env itself with `jax.vmap`. With one board, most of the time is spent on starting programs and
on copying results. So `init`, `step` and `look` each run one compiled program and copy one array to the host. States
stay on the device. `observe` runs a program of its own.

On a CPU, JAX runs programs in another thread. Passing a program to it takes longer than a step of one board. If you
play only one board at a time, switch this off before JAX starts:

    jax.config.update("jax_cpu_enable_async_dispatch", False)
"""

import functools
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from jaxgames._checks import check_int, check_process, host_int32
from jaxgames.env import Env, State

S = TypeVar("S", bound=State)
Device = Any  # `jax.Device`, which type checkers do not accept as a type


class BoardInfo(NamedTuple):
    """The public values of one board on the host. The arrays are read-only."""

    player: int  # the seat to move
    mask: np.ndarray  # bool[num_actions], legal actions of the mover; all False on a finished board
    rewards: np.ndarray  # float32[num_players], paid to each seat by the last step
    winners: np.ndarray  # bool[num_players], the seats that have won by the rules
    terminated: bool
    truncated: bool

    @property
    def over(self) -> bool:
        """True if the game is finished: terminated or truncated."""
        return self.terminated or self.truncated


class Host(Generic[S]):
    """The functions of an env for one board, compiled once; made by `host`.

    States are immutable pytrees, so callers may keep old ones and step them again. A state may come from elsewhere, for
    example from `env.from_string`.

    Attributes:
      env: the game, or a wrapped one.
      device: the device on which the programs run and the states stay.
    """

    def __init__(self, env: Env[S], device: Device) -> None:
        self.env: Env[S] = env
        self.device: Device = device
        place = SingleDeviceSharding(device)
        compiled = functools.partial(jax.jit, in_shardings=place, out_shardings=place)
        self._init = compiled(lambda key: self._packed(env.init(key)))
        self._step = compiled(lambda state, action, key: self._packed(env.step(state, action, key)))
        self._look = compiled(lambda state: self._packed(state)[1])
        self._observe = compiled(env.observe)

    def init(self, key: jax.Array | None = None) -> tuple[S, BoardInfo]:
        """Returns a board at the start. Raises ValueError for a game of chance (`env.needs_key`) without a key."""
        check_process()
        state, packed = self._init(key)
        return state, self._unpacked(packed)

    def step(self, state: S, action: Any, key: jax.Array | None = None) -> tuple[S, BoardInfo]:
        """Returns the board after the mover plays `action`, one integer of Python, numpy or JAX.

        An illegal action ends the game, also one that is out of range, as `env.step` says. Only a game of chance needs
        `key`, a PRNG key.
        """
        state, packed = self._step(state, host_int32("action", action), key)
        return state, self._unpacked(packed)

    def look(self, state: S) -> BoardInfo:
        """Returns the public values of any board."""
        return self._unpacked(self._look(state))

    def observe(self, state: S, seat: Any = None) -> np.ndarray:
        """Returns bool[*observation_shape], the board as a seat sees it, read-only; as the mover if `seat` is None."""
        if seat is None:
            return np.asarray(self._observe(state))
        number = host_int32("seat", seat)
        check_int("seat", int(number), 0, self.env.num_players - 1)
        return np.asarray(self._observe(state, number))

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what pickle stores: the env and the device. The copy is the shared `Host` of its process."""
        return _host_on, (self.env, self.device.platform, self.device.id)

    def _packed(self, state: S) -> tuple[S, jax.Array]:
        """Returns the state and its public values as uint8[5 * num_players + num_actions + 6]: one array to copy.

        The parts are, in this order: the rewards and the mover, four bytes per number; then one byte per bool:
        terminated, truncated, the winners, the mask.
        """
        numbers = [state.rewards.astype(jnp.float32), state.current_player.astype(jnp.int32)[None]]
        bools = [state.terminated[None], state.truncated[None], self.env.winners(state)]
        mask = self.env.legal_action_mask(state)
        parts = [jax.lax.bitcast_convert_type(part, jnp.uint8).reshape(-1) for part in numbers]
        return state, jnp.concatenate([*parts, *(part.astype(jnp.uint8) for part in (*bools, mask))])

    def _unpacked(self, packed: jax.Array) -> BoardInfo:
        """Returns the public values from the array of `_packed`."""
        content: np.ndarray = jax.device_get(packed)
        seats = self.env.num_players
        flags = content[4 * seats + 4 :].view(np.bool_)
        return BoardInfo(
            player=int(content[4 * seats : 4 * seats + 4].view(np.int32)[0]),
            mask=flags[seats + 2 :],
            rewards=content[: 4 * seats].view(np.float32),
            winners=flags[2 : seats + 2],
            terminated=bool(flags[0]),
            truncated=bool(flags[1]),
        )


def host(env: Env[S], device: Device | None = None) -> Host[S]:
    """Returns the functions of an env for one board on the host.

    They are made and compiled once per env and device, and shared by all callers. The last 64 are kept.

    Args:
      env: a game; equal envs have the same functions.
      device: where the programs run. None: the first CPU device, where one step takes the shortest time.

    Raises RuntimeError if `device` is None and JAX has no CPU device.
    """
    if device is None:
        try:
            device = jax.devices("cpu")[0]
        except RuntimeError as error:
            message = "JAX has no CPU device: add it, JAX_PLATFORMS=cuda,cpu, or pass device=jax.devices()[0]"
            raise RuntimeError(message) from error
    return _host(env, device)


@functools.lru_cache(maxsize=64)  # one has compiled programs of several MB
def _host(env: Env[Any], device: Device) -> Host[Any]:
    """Returns the `Host` of an env and a device: the same one for the 64 pairs that were asked for last."""
    return Host(env, device)


def _host_on(env: Env[Any], platform: str, id: int) -> Host[Any]:
    """Returns the `Host` on the device of a platform with this id. Raises RuntimeError if JAX has no such device."""
    found = [device for device in jax.devices(platform) if device.id == id]
    if not found:
        raise RuntimeError(f"JAX has no device {id} of {platform!r} here: make the Host with host(env) instead")
    return host(env, found[0])


def legal_moves(env: Env[Any], state: Any) -> dict[int, str]:
    """Returns the texts of all legal moves by their actions, as `env.action_to_string` writes them."""
    actions: list[int] = np.flatnonzero(_legal_action_mask(env, state)).tolist()
    return {action: env.action_to_string(state, action) for action in actions}


@functools.partial(jax.jit, static_argnums=0)
def _legal_action_mask(env: Env[Any], state: Any) -> jax.Array:
    """Returns `env.legal_action_mask(state)` as one compiled program."""
    return env.legal_action_mask(state)
