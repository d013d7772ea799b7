"""Steps per second of one game by batch size.

    python -m benchmarks.throughput --env "chinese_checkers(size=2, num_players=6)"

The columns, each with restarts of finished boards, a step being one submove of one board:

    step           `env.step` alone, on recorded actions of random legal play
    no restart     the same without `auto_reset`, to see what restarting costs
    random play    step, legal mask, observation written out, and a uniformly random legal action
    policy         random play's work, with the action drawn from the policy network
    ppo            whole iterations of train.ppo: collect, advantages, update

Every step has random keys of its own. Observation and mask are written out whole and carried to the next step, which
begins by reading an element of each at a place that depends on the action, so that nothing is optimised away. Each
figure is the median of repeats of one compiled program after a warm-up, with the spread beside it.

    python -m benchmarks.throughput --devices 2 --batch-sizes 1024 8192

spreads the boards over devices, each with a loop of its own that never waits for the others. On a CPU devices are
virtual, and one a core is the way to use all cores: within one device the threads share out single operations, which
are too short for that.
"""

import contextlib
import dataclasses
import functools
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jax.sharding import PartitionSpec

import jaxgames
from benchmarks.contestant import LEAST
from train.models.policy import Params
from train.ops.masked_categorical import sample_and_log_prob
from train.ppo import PPO, config_for

ROWS, COPIED = PartitionSpec("boards"), PartitionSpec()  # divided along the first axis, or the same on every device
GAMES = (
    "checkers",
    "chinese_checkers(size=2)",
    "chinese_checkers(size=4)",
    "chinese_checkers_diamond",
    "dots_and_boxes",
    "minichess",
    "minichess(rules=king_capture)",
)  # every game, for the benchmarks that measure them all
COLUMNS = ("step", "no restart", "random play", "policy", "ppo")


@dataclass(frozen=True)
class Arguments:
    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters."""
    batch_sizes: tuple[int, ...] = (1, 64, 1024, 16384)
    """Boards played at once, a line of the table each."""
    columns: tuple[str, ...] = COLUMNS
    """Which columns to measure."""
    steps: int = 200_000
    """Steps over all boards that one timed call makes, about; at least LEAST of each board."""
    repeats: int = 5
    devices: int = 1
    """How many devices the boards are spread over; on a CPU at most one a core."""
    output: Path | None = None
    """A file for the JSON, which is printed in any case."""


class Figure(NamedTuple):
    """One cell of the table."""

    steps_per_second: float  # median of the repeats
    spread: float  # (fastest - slowest) / median
    compile_seconds: float
    memory_bytes: int  # of the program: what it is given, what it returns, and what it needs meanwhile


def main() -> None:
    """The command `python -m benchmarks.throughput`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.throughput", description="Measure steps per second.")
    result = measured("throughput", measure, arguments)
    keep(result, arguments.output)
    print(json.dumps(result))


def measure(arguments: Arguments) -> dict[str, Any]:
    """Prints the table as it grows and returns all figures."""
    env = jaxgames.make(arguments.env)
    if min(*arguments.batch_sizes, arguments.repeats, arguments.steps) < 1:
        raise ValueError("batch sizes, repeats and steps must be positive")
    unknown = set(arguments.columns) - set(COLUMNS)
    if unknown:
        raise ValueError(f"columns must be among {', '.join(COLUMNS)}, not {', '.join(unknown)}")
    if arguments.devices > 1 and "ppo" in arguments.columns:
        raise ValueError("ppo is measured on one device: name the other columns, or leave devices at 1")
    provide(arguments.devices)
    uneven = [batch for batch in arguments.batch_sizes if batch % arguments.devices]
    if uneven:
        raise ValueError(f"batch sizes must be multiples of devices = {arguments.devices}, not {uneven[0]}")
    say(f"{env}: {env.state_bytes} bytes a board; median steps per second (spread), compile time")
    say("   boards " + "".join(f"{column:>32}" for column in arguments.columns))
    rows: list[dict[str, Any]] = []
    for batch in arguments.batch_sizes:
        length = max(LEAST, min(1000, arguments.steps // batch))
        print(f"{batch:>9,} ", end="", file=sys.stderr, flush=True)
        row: dict[str, Any] = {"boards": batch}
        for column in arguments.columns:
            figure = MEASURES[column](env, batch, length, arguments.repeats, arguments.devices)
            row[column] = figure._asdict()
            cell = f"{figure.steps_per_second:,.0f} ({figure.spread:.0%}) {figure.compile_seconds:.1f} s"
            print(f"{cell:>32}", end="", file=sys.stderr, flush=True)
        say("")
        rows.append(row)
    spread_over = {"devices_used": arguments.devices}
    return {"env": str(env), "bytes_per_board": env.state_bytes, "rows": rows, **spread_over, **where()}


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def provide(devices: int) -> None:
    """Makes sure that JAX has so many devices, virtual ones on a CPU if it has not started, or raises ValueError."""
    if devices < 1:
        raise ValueError(f"devices must be positive, not {devices}")
    if devices > 1:
        with contextlib.suppress(RuntimeError):  # JAX has started: there is what there is
            jax.config.update("jax_num_cpu_devices", min(devices, cores()))
    if devices > jax.device_count():
        raise ValueError(f"devices must be at most {jax.device_count()}, the devices that there are, not {devices}")


def over_devices(
    program: Callable[..., Any], arguments: tuple[Any, ...], divided: tuple[PartitionSpec, ...], devices: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`program(key, *arguments)` on each of the devices, with a key and a share of the boards of its own.

    `divided` says along which axis of each argument the boards lie. The devices' outputs come one behind the other.
    """
    if devices == 1:
        return program, arguments
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("boards",))

    def share(key: jax.Array, *arguments: Any) -> Any:
        own = jax.random.fold_in(key, jax.lax.axis_index("boards"))
        return jax.tree.map(jnp.atleast_1d, program(own, *arguments))

    everywhere = jax.shard_map(share, mesh=mesh, in_specs=(COPIED, *divided), out_specs=ROWS, check_vma=False)
    shards = tuple(jax.sharding.NamedSharding(mesh, spec) for spec in divided)
    return everywhere, tuple(jax.device_put(part, shard) for part, shard in zip(arguments, shards, strict=True))


def timed(program: Callable[..., Any], arguments: tuple[Any, ...], steps: int, repeats: int) -> Figure:
    """Compiles `program(key, *arguments)`, warms it up and times it with a new key a repeat."""
    keys = jax.random.split(jax.random.key(1), repeats + 1)
    begin = time.perf_counter()
    compiled = jax.jit(program).lower(keys[0], *arguments).compile()
    compile_seconds = time.perf_counter() - begin
    jax.block_until_ready(compiled(keys[0], *arguments))
    speeds: list[float] = []
    for key in keys[1:]:
        begin = time.perf_counter()
        jax.block_until_ready(compiled(key, *arguments))
        speeds.append(steps / (time.perf_counter() - begin))
    median = float(np.median(speeds))
    memory: Any = compiled.memory_analysis()
    memory_bytes = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return Figure(median, (max(speeds) - min(speeds)) / median, compile_seconds, memory_bytes)


class Playing:
    """A game whose boards begin anew where they end. The ended ones are not kept: nothing here reads them."""

    def __init__(self, env: jaxgames.Env[Any]) -> None:
        self._env = jaxgames.auto_reset(env)
        self.observe, self.legal_action_mask = self._env.observe, self._env.legal_action_mask

    def init(self, key: jax.Array) -> Any:
        return dataclasses.replace(self._env.init(key), final=None)

    def step(self, state: Any, action: jax.Array, key: jax.Array) -> Any:
        return dataclasses.replace(self._env.step(state, action, key), final=None)


def step_alone(
    env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1, *, restart: bool = True
) -> Figure:
    """`step`, or `no restart`."""
    actions = recorded_actions(env, batch, length)
    playing = Playing(env) if restart else env
    own = batch // devices

    def replay(key: jax.Array, actions: jax.Array) -> Any:
        def body(carry: tuple[Any, jax.Array], step: tuple[jax.Array, jax.Array]) -> Any:
            boards, paid = carry
            boards = jax.vmap(playing.step)(boards, step[1], jax.random.split(step[0], own))
            return (boards, paid + boards.rewards.sum()), None

        init_key, key = jax.random.split(key)
        begin = (jax.vmap(playing.init)(jax.random.split(init_key, own)), jnp.float32(0))
        return jax.lax.scan(body, begin, (jax.random.split(key, length), actions))[0]

    return timed(*over_devices(replay, (actions,), (PartitionSpec(None, "boards"),), devices), batch * length, repeats)


def recorded_actions(env: jaxgames.Env[Any], batch: int, length: int) -> jax.Array:
    """int32[length, batch], random legal play with restarts, from the start; games without chance replay it legally."""
    playing = Playing(env)

    @jax.jit
    def record(key: jax.Array) -> jax.Array:
        def body(boards: Any, key: jax.Array) -> Any:
            action_key, step_key = jax.random.split(key)
            mask = jax.vmap(playing.legal_action_mask)(boards)
            action = jax.vmap(jaxgames.random_action)(jax.random.split(action_key, batch), mask)
            return jax.vmap(playing.step)(boards, action, jax.random.split(step_key, batch)), action

        init_key, key = jax.random.split(key)
        boards = jax.vmap(playing.init)(jax.random.split(init_key, batch))
        return jax.lax.scan(body, boards, jax.random.split(key, length))[1]

    return record(jax.random.key(0))


def random_play(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1) -> Figure:
    """`random play`."""
    return play(env, batch, length, repeats, at_random, None, devices)


def policy_play(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1) -> Figure:
    """`policy`, with the network of the game's recipe."""
    policy = PPO(config_for(str(env))).policy

    def choose(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        logits, _ = policy.apply(params, observation, seat)
        return sample_and_log_prob(key, logits, mask)[0], 0.0

    return play(env, batch, length, repeats, choose, policy.init(jax.random.key(0)), devices)


def play(
    env: jaxgames.Env[Any],
    batch: int,
    length: int,
    repeats: int,
    choose: Callable[..., Any],
    params: Params,
    devices: int = 1,
) -> Figure:
    """`play_loop` from the start, timed."""
    playing = Playing(env)
    boards = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), batch))
    loop = play_loop(playing, batch // devices, length, choose)
    return timed(*over_devices(loop, (boards, params), (ROWS, COPIED), devices), batch * length, repeats)


def at_random(params: None, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
    """int32[batch], uniformly random legal actions, and nothing else to be read."""
    return jax.vmap(jaxgames.random_action)(jax.random.split(key, len(mask)), mask), 0.0


def play_loop(playing: Any, batch: int, length: int, choose: Callable[..., Any]) -> Callable[..., Any]:
    """`program(key, boards, params)`: `length` steps of `batch` boards; returns the boards and what was written out.

    `playing` restarts finished boards: `Playing`, or anything with the same functions.
    `choose(params, key, observation, mask, seat)` gives the actions, and a number that is read too.
    """

    def program(key: jax.Array, boards: Any, params: Params) -> Any:
        def look(boards: Any) -> tuple[jax.Array, jax.Array]:
            return jax.vmap(playing.observe)(boards), jax.vmap(playing.legal_action_mask)(boards)

        def body(carry: Any, key: jax.Array) -> Any:
            boards, written, action, checksum = carry
            read = sum((element(array, action) for array in written), start=jnp.float32(0))
            boards = after(read, boards)
            action_key, step_key = jax.random.split(key)
            observation, mask = look(boards)
            action, told = choose(params, action_key, observation, mask, boards.current_player)
            checksum += read + boards.rewards.sum() + told
            boards = jax.vmap(playing.step)(boards, action, jax.random.split(step_key, batch))
            return (boards, (observation, mask), action, checksum), None

        nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), jax.eval_shape(look, boards))
        begin = (boards, nothing, jnp.zeros(batch, jnp.int32), jnp.float32(0))
        boards, written, _, checksum = jax.lax.scan(body, begin, jax.random.split(key, length))[0]
        return boards, written, checksum

    return program


def after(read: jax.Array, boards: Any) -> Any:
    """The boards as they are, but known to the compiler only when `read`, a sum of finite numbers, is: what was written
    out is read before it is written over, and no copy of it is kept for that."""
    never = jnp.isnan(read)
    return jax.tree.map(
        lambda x: x if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else jnp.where(never, jnp.zeros_like(x), x), boards
    )


def element(array: jax.Array, place: jax.Array) -> jax.Array:
    """float32[], the sum of one element a board: who reads an array at a computed place has it written out whole."""
    flat = array.reshape(len(array), -1)
    return flat[jnp.arange(len(flat)), place % flat.shape[1]].sum(dtype=jnp.float32)


def ppo(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1) -> Figure:
    """`ppo`, with the game's recipe but for the number of boards and the length of a rollout; on one device."""
    assert devices == 1
    config = config_for(str(env))
    length = max(8, config.steps_per_iteration // batch)
    learner = PPO(dataclasses.replace(config, num_envs=batch, rollout_length=length))
    train_state = jax.jit(learner.init)(jax.random.key(0))
    return timed(
        lambda key, train_state: learner.iterate(train_state._replace(key=key)), (train_state,), batch * length, repeats
    )


MEASURES: dict[str, Callable[[jaxgames.Env[Any], int, int, int, int], Figure]] = {
    "step": step_alone,
    "no restart": functools.partial(step_alone, restart=False),
    "random play": random_play,
    "policy": policy_play,
    "ppo": ppo,
}


def where() -> dict[str, Any]:
    """The versions and the hardware that the figures belong to."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor()
    return {
        "jaxgames": jaxgames.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "devices": [device.device_kind for device in jax.devices()],
        "processor": processor,
        "cores": os.cpu_count(),
    }


def measured(program: str, measure: Callable[[Any], dict[str, Any]], arguments: Any) -> dict[str, Any]:
    """`measure(arguments)`; where it raises ValueError the program ends with that message."""
    try:
        return measure(arguments)
    except ValueError as error:
        sys.exit(f"benchmarks.{program}: {error}")


def keep(result: dict[str, Any], output: Path | None) -> None:
    """Writes the JSON of a benchmark to a file, if one is asked for."""
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=2) + "\n")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
