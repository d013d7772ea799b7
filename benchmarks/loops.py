"""The loop of uniformly random legal play that the benchmarks time, for games of this project and of others.

    program = play_loop(jaxgames.auto_reset(env), batch, length)
    boards, outputs, checksum = program(key, boards, None)      # `length` steps of `batch` boards

A step of the loop writes out the legal mask and the observation of every board, chooses an action, and steps the board;
finished boards restart. Each step has its own random keys. The mask and the observation are carried to the next step,
which first reads one element of each at a place that depends on the action, so that nothing is optimised away.

`PgxGame` makes games of Pgx ready for the loop.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

import jaxgames
from benchmarks import harness
from benchmarks.harness import Timing

GAMES = (
    "checkers",
    "chinese_checkers(size=2)",
    "chinese_checkers(size=4)",
    "chinese_checkers_diamond",
    "dots_and_boxes",
    "minichess",
    "minichess(rules=king_capture)",
)  # every game, for the benchmarks that measure them all
MIN_STEPS_PER_CALL = 32  # of each board: a call starts with newly allocated memory, whose cost must not count
SHARDED, REPLICATED = PartitionSpec("boards"), PartitionSpec()  # divided by the leading axis, or copied to every device
# (params, key, observation, mask, seat) -> (actions int32[batch], a number for the checksum); see `play_loop`.
Choose = Callable[[Any, jax.Array, jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array | float]]


def steps_per_call(total_steps: int, batch: int) -> int:
    """Steps of each board in one timed call that makes about `total_steps` over all boards."""
    return max(MIN_STEPS_PER_CALL, min(1000, total_steps // batch))


# -- environments ------------------------------------------------------------------------------------------


class PgxGame:
    """A game of Pgx behind the functions of `jaxgames.Env`; with `restarts`, its finished boards restart."""

    id, version, needs_key, zero_sum, reward_range = "pgx", 1, False, True, (-1.0, 1.0)

    def __init__(self, game: Any, restarts: bool = False) -> None:
        from pgx.experimental import auto_reset

        self.init, self.num_players, self.num_actions = game.init, game.num_players, game.num_actions
        self.observation_shape = game.observation_shape
        self._next = auto_reset(game.step, game.init) if restarts else game.step

    def step(self, state: Any, action: Any, key: Any = None) -> Any:
        return self._next(state, action, key)

    def observe(self, state: Any, player: Any = None) -> jax.Array:
        return state.observation  # written by the step

    def legal_action_mask(self, state: Any) -> jax.Array:
        return state.legal_action_mask

    def random_legal_action(self, state: Any, key: jax.Array) -> jax.Array:
        return jaxgames.random_action(key, state.legal_action_mask)


def pgx_env(game: str) -> tuple[Any, Any]:
    """Returns a game of Pgx, without restarts and with Pgx's own. Raises ImportError if Pgx is not installed."""
    import pgx

    made: Any = pgx.make(game)  # pyright: ignore[reportArgumentType]  # any name, not only Pgx's literals
    return PgxGame(made), PgxGame(made, restarts=True)


# -- loops -------------------------------------------------------------------------------------------------


def play_loop(playing: Any, batch: int, length: int, choose: Choose | None = None) -> Callable[..., Any]:
    """Returns `program(key, boards, params)`, which makes `length` steps of `batch` boards.

    The program returns the boards, the last observation and mask, and a checksum of all that was read. `playing`
    restarts finished boards: it is an env of `jaxgames.auto_reset`, or an object with the same functions. Without
    `choose`, actions are drawn by `random_legal_action`. The number that `choose` returns beside the actions goes into
    the checksum, so that other outputs of a policy are computed as well.
    """

    def program(key: jax.Array, boards: Any, params: Any) -> Any:
        def look(boards: Any) -> tuple[jax.Array, jax.Array]:
            return jax.vmap(playing.observe)(boards), jax.vmap(playing.legal_action_mask)(boards)

        def body(carry: Any, key: jax.Array) -> Any:
            boards, outputs, action, checksum = carry
            read = sum((probe(array, action) for array in outputs), start=jnp.float32(0))
            boards = wait_for_read(read, boards)
            action_key, step_key = jax.random.split(key)
            observation, mask = look(boards)
            if choose is None:
                action, extra = jax.vmap(playing.random_legal_action)(boards, jax.random.split(action_key, batch)), 0.0
            else:
                action, extra = choose(params, action_key, observation, mask, boards.current_player)
            checksum += read + boards.rewards.sum() + extra
            boards = jax.vmap(playing.step)(boards, action, jax.random.split(step_key, batch))
            return (boards, (observation, mask), action, checksum), None

        blank = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), jax.eval_shape(look, boards))
        start = (boards, blank, jnp.zeros(batch, jnp.int32), jnp.float32(0))
        boards, outputs, _, checksum = jax.lax.scan(body, start, jax.random.split(key, length))[0]
        return boards, outputs, checksum

    return program


def probe(array: jax.Array, place: jax.Array) -> jax.Array:
    """The sum of one element per board of an array [batch, ...], float32[].

    It is at `place`, int32[batch], in the flattened row, modulo its length. Because the place is computed, the compiler
    has to write out the whole array.
    """
    flat = array.reshape(len(array), -1)
    return flat[jnp.arange(len(flat)), place % flat.shape[1]].sum(dtype=jnp.float32)


def wait_for_read(read: jax.Array, boards: Any) -> Any:
    """Returns the boards unchanged, but makes them depend on `read`, a sum of finite numbers.

    Otherwise the compiler may write the next mask and observation before it reads the last ones, and would then copy
    the last ones.
    """
    read_is_nan = jnp.isnan(read)  # always False, but the compiler does not know it
    return jax.tree.map(
        lambda x: x if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else jnp.where(read_is_nan, jnp.zeros_like(x), x),
        boards,
    )


def over_devices(
    program: Callable[..., Any], arguments: tuple[Any, ...], specs: tuple[PartitionSpec, ...], devices: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns a program that runs `program(key, *arguments)` on every device, and its arguments, placed on the devices.

    Each device has its own key and its own share of the boards, and never waits for the others. `specs` tell how each
    argument is divided. The outputs of the devices are concatenated. For one device nothing changes.
    """
    if devices == 1:
        return program, arguments
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("boards",), axis_types=(jax.sharding.AxisType.Auto,))

    def share(key: jax.Array, *arguments: Any) -> Any:
        key = jax.random.fold_in(key, jax.lax.axis_index("boards"))
        return jax.tree.map(jnp.atleast_1d, program(key, *arguments))

    everywhere = jax.shard_map(share, mesh=mesh, in_specs=(REPLICATED, *specs), out_specs=SHARDED, check_vma=False)
    shards = tuple(jax.sharding.NamedSharding(mesh, spec) for spec in specs)
    return everywhere, tuple(jax.device_put(part, shard) for part, shard in zip(arguments, shards, strict=True))


def rollout(playing: Any, batch: int, length: int, devices: int = 1) -> Callable[[], int]:
    """Returns a function that plays `batch` boards for `length` random steps each and returns the number of steps.

    Every call continues where the last one stopped, so that positions come from whole games.
    """
    boards = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), batch))
    loop = play_loop(playing, batch // devices, length)
    program, (boards, no_params) = over_devices(loop, (boards, None), (SHARDED, REPLICATED), devices)
    key = jax.random.key(1)
    # The next call takes the boards as this one returns them, so both have one sharding. It must be named: JAX alone
    # would not divide a leaf without elements.
    sharding = jax.tree.leaves(boards)[0].sharding if devices > 1 else None
    compiled = jax.jit(program, out_shardings=sharding).lower(key, boards, no_params).compile()

    def play() -> int:
        nonlocal key, boards
        key, subkey = jax.random.split(key)
        boards, *_ = jax.block_until_ready(compiled(subkey, boards, no_params))
        return batch * length

    play()
    return play


def measure_play(
    env: jaxgames.Env[Any],
    batch: int,
    length: int,
    repeats: int,
    choose: Choose | None = None,
    params: Any = None,
    devices: int = 1,
) -> Timing:
    """Returns the speed of `play_loop`, from the start of the game."""
    playing = jaxgames.auto_reset(env)
    boards = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), batch))
    loop = play_loop(playing, batch // devices, length, choose)
    program, arguments = over_devices(loop, (boards, params), (SHARDED, REPLICATED), devices)
    return harness.time_program(program, arguments, batch * length, repeats)
