"""Steps per second of one game, by batch size.

    python -m benchmarks.throughput --env "chinese_checkers(size=2, num_players=6)"

A step is one submove of one board; finished boards restart, except in the second column. The columns:

    step           `env.step` alone, on recorded actions of random legal play
    no restart     the same without `auto_reset`, to see the cost of restarting
    random play    step, legal mask, observation written out, and a uniformly random legal action
    policy         the same work as random play, with the action sampled from the policy network
    ppo            whole iterations of train.ppo: collect, advantages, update

benchmarks/random_play.py describes the loop and how its outputs are consumed.

    python -m benchmarks.throughput --devices 2 --batch-sizes 1024 8192

divides the boards between devices, each with its own loop that never waits for the others. On a CPU the devices are
virtual. One device per core is the way to use all cores: within one device, threads share single operations, which are
too short for that.
"""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

import jaxgames
from benchmarks import harness, random_play
from benchmarks.harness import Timing
from benchmarks.random_play import measure_random_play
from train.models.policy import Params
from train.ops.masked_categorical import sample_and_log_prob
from train.ppo import PPO, config_for


def main() -> None:
    """The command `python -m benchmarks.throughput`."""
    harness.run_command("throughput", harness.parse_arguments("throughput", Arguments), measure_throughput)


def measure_step(
    env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1, *, restart: bool = True
) -> Timing:
    """Returns the speed of column `step`; without `restart`, of column `no restart`."""
    actions = random_play.recorded_actions(env, batch, length)
    playing = random_play.Playing(env) if restart else env
    share = batch // devices

    def replay(key: jax.Array, actions: jax.Array) -> Any:
        def body(carry: tuple[Any, jax.Array], step: tuple[jax.Array, jax.Array]) -> Any:
            boards, paid = carry
            boards = jax.vmap(playing.step)(boards, step[1], jax.random.split(step[0], share))
            return (boards, paid + boards.rewards.sum()), None

        init_key, key = jax.random.split(key)
        start = (jax.vmap(playing.init)(jax.random.split(init_key, share)), jnp.float32(0))
        return jax.lax.scan(body, start, (jax.random.split(key, length), actions))[0]

    program, arguments = random_play.over_devices(replay, (actions,), (PartitionSpec(None, "boards"),), devices)
    return harness.time_program(program, arguments, batch * length, repeats)


def measure_policy_play(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1) -> Timing:
    """Returns the speed of column `policy`, with the network of the game's recipe."""
    policy = PPO(config_for(str(env))).policy

    def choose(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        logits, _ = policy.apply(params, observation, seat)
        return sample_and_log_prob(key, logits, mask)[0], 0.0

    return random_play.measure_play(env, batch, length, repeats, choose, policy.init(jax.random.key(0)), devices)


def measure_ppo(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1) -> Timing:
    """Returns the speed of column `ppo`, on one device.

    It is the game's recipe with `batch` boards, and rollouts shortened or lengthened to keep the steps per iteration.
    """
    assert devices == 1
    config = config_for(str(env))
    length = max(8, config.steps_per_iteration // batch)
    learner = PPO(dataclasses.replace(config, num_envs=batch, rollout_length=length))
    return harness.time_iterations(learner, jax.jit(learner.init)(jax.random.key(0)), batch * length, repeats)


COLUMNS: dict[str, Callable[[jaxgames.Env[Any], int, int, int, int], Timing]] = {
    "step": measure_step,
    "no restart": functools.partial(measure_step, restart=False),
    "random play": measure_random_play,
    "policy": measure_policy_play,
    "ppo": measure_ppo,
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters."""
    batch_sizes: tuple[int, ...] = (1, 64, 1024, 16384)
    """Numbers of boards played at once, one row of the table each."""
    columns: tuple[str, ...] = tuple(COLUMNS)
    """Columns to measure."""
    steps: int = 200_000
    """Approximate steps over all boards in one timed call; each board makes at least 32."""
    repeats: int = 5
    devices: int = 1
    """Devices that the boards are divided between; on a CPU at most one per core."""


def measure_throughput(arguments: Arguments) -> dict[str, Any]:
    """Measures every column at every batch size."""
    env = jaxgames.make(arguments.env)
    if min(*arguments.batch_sizes, arguments.repeats, arguments.steps) < 1:
        raise ValueError("batch sizes, repeats and steps must be positive")
    unknown = set(arguments.columns) - COLUMNS.keys()
    if unknown:
        raise ValueError(f"columns must be among {', '.join(COLUMNS)}, not {', '.join(unknown)}")
    if arguments.devices > 1 and "ppo" in arguments.columns:
        raise ValueError("ppo is measured on one device: name the other columns, or leave devices at 1")
    harness.provide_devices(arguments.devices)
    uneven = [batch for batch in arguments.batch_sizes if batch % arguments.devices]
    if uneven:
        raise ValueError(f"batch sizes must be multiples of devices = {arguments.devices}, not {uneven[0]}")
    harness.log(f"{env}: {env.state_bytes} bytes per board")
    progress = harness.Progress(len(arguments.batch_sizes) * len(arguments.columns), "cell")
    rows: list[dict[str, Any]] = []
    table: list[list[str]] = []
    for batch in arguments.batch_sizes:
        length = random_play.steps_per_call(arguments.steps, batch)
        timings: dict[str, Timing] = {}
        for column in arguments.columns:
            timings[column] = COLUMNS[column](env, batch, length, arguments.repeats, arguments.devices)
            compiled = f"compiled in {timings[column].compile_seconds:.1f} s"
            progress.finish(f"{batch:,} boards, {column}: {timings[column].speed} steps/s, {compiled}")
        rows.append({"boards": batch, **{column: timing._asdict() for column, timing in timings.items()}})
        table.append([f"{batch:,}", *(timing.speed for timing in timings.values())])
    harness.log(harness.markdown_table(["boards", *arguments.columns], table))
    stamped = {"devices_used": arguments.devices, **harness.stamp()}
    return {"env": str(env), "bytes_per_board": env.state_bytes, "rows": rows, **stamped}


if __name__ == "__main__":
    main()
