"""Steps per second of games: the step alone, random play, and play with a network, by batch size.

    python -m benchmarks.envs --games checkers minichess --batch-sizes 1024 --columns step "random play"

A step is one ply of one board; finished boards restart, except in the second column. The columns:

    step           `env.step` alone, on recorded actions of random legal play
    no restart     the same without `auto_reset`, to see the cost of restarting
    random play    step, legal mask, observation written out, and a uniformly random legal action
    policy         the same work as random play, with the action sampled from the network of the game's recipe

benchmarks/loops.py describes the loop and how its outputs are consumed. `benchmarks.training` has whole iterations.

    python -m benchmarks.envs --devices 2 --batch-sizes 1024 8192

divides the boards between devices, each with its own loop that never waits for the others. On a CPU the devices are
virtual. One device per core is the way to use all cores: within one device, threads share single operations, which are
too short for that.

    python -m benchmarks.envs --one-core --columns "random play" --batch-sizes 1 16 256 4096 65536 --picture envs.svg

measures on one core, and draws the steps per second of random play by batch. Linear cost shows as a flat line, beyond
the small batches.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command, Timing
from train import plot
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of
from train.models.policy import Params
from train.ops.masked_categorical import sample_and_log_prob
from train.ppo import PPO, config_for


def measure_step(
    env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1, *, restart: bool = True
) -> Timing:
    """Returns the speed of column `step`; without `restart`, of column `no restart`."""
    actions = recorded_actions(env, batch, length)
    playing = jaxgames.auto_reset(env) if restart else env
    share = batch // devices

    def replay(key: jax.Array, actions: jax.Array) -> Any:
        def body(carry: tuple[Any, jax.Array], step: tuple[jax.Array, jax.Array]) -> Any:
            boards, paid = carry
            boards = jax.vmap(playing.step)(boards, step[1], jax.random.split(step[0], share))
            return (boards, paid + boards.rewards.sum()), None

        init_key, key = jax.random.split(key)
        start = (jax.vmap(playing.init)(jax.random.split(init_key, share)), jnp.float32(0))
        return jax.lax.scan(body, start, (jax.random.split(key, length), actions))[0]

    program, arguments = loops.over_devices(replay, (actions,), (PartitionSpec(None, "boards"),), devices)
    return harness.time_program(program, arguments, batch * length, repeats)


def recorded_actions(env: jaxgames.Env[Any], batch: int, length: int) -> jax.Array:
    """Actions of random legal play with restarts, int32[length, batch]; without chance they can be replayed legally."""
    playing = jaxgames.auto_reset(env)

    @jax.jit
    def record(key: jax.Array) -> jax.Array:
        def body(boards: Any, key: jax.Array) -> Any:
            action_key, step_key = jax.random.split(key)
            action = jax.vmap(playing.random_legal_action)(boards, jax.random.split(action_key, batch))
            return jax.vmap(playing.step)(boards, action, jax.random.split(step_key, batch)), action

        init_key, key = jax.random.split(key)
        boards = jax.vmap(playing.init)(jax.random.split(init_key, batch))
        return jax.lax.scan(body, boards, jax.random.split(key, length))[1]

    return record(jax.random.key(0))


def measure_policy_play(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1) -> Timing:
    """Returns the speed of column `policy`."""
    policy = PPO(config_for(str(env))).policy

    def choose(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        logits, _ = policy.apply(params, observation, seat)
        return sample_and_log_prob(key, logits, mask)[0], 0.0

    return loops.measure_play(env, batch, length, repeats, choose, policy.init(jax.random.key(0)), devices)


def min_bytes(env: jaxgames.Env[Any]) -> int:
    """Bytes that a step of random play has to move: the board read and written, mask and observation written."""
    return 2 * env.state_bytes + env.num_actions + math.prod(env.observation_shape)


COLUMNS: dict[str, Callable[[jaxgames.Env[Any], int, int, int, int], Timing]] = {
    "step": measure_step,
    "no restart": functools.partial(measure_step, restart=False),
    "random play": lambda env, batch, length, repeats, devices: loops.measure_play(
        env, batch, length, repeats, devices=devices
    ),
    "policy": measure_policy_play,
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = loops.GAMES
    """The games, with their parameters."""
    batch_sizes: tuple[int, ...] = (1, 64, 1024, 16384)
    """Numbers of boards played at once, one row of the table each."""
    columns: tuple[str, ...] = tuple(COLUMNS)
    """Columns to measure."""
    steps: int = 200_000
    """Approximate steps over all boards in one timed call; each board makes at least 32."""
    repeats: int = 5
    devices: int = 1
    """Devices that the boards are divided between; on a CPU at most one per core."""
    one_core: bool = False
    """Keep to one core."""
    picture: Path | None = None
    """A file for the curves of random play, such as envs.svg."""


def measure_envs(arguments: Arguments) -> dict[str, Any]:
    envs = {game: jaxgames.make(game) for game in arguments.games}
    harness.check_positive(arguments, "batch_sizes", "repeats", "steps")
    harness.check_among("columns", arguments.columns, COLUMNS)
    if arguments.picture is not None and "random play" not in arguments.columns:
        raise ValueError("picture needs the column random play: add it to columns, or leave picture out")
    if arguments.one_core:
        harness.keep_to_one_core()
    harness.provide_devices(arguments.devices)
    uneven = [batch for batch in arguments.batch_sizes if batch % arguments.devices]
    if uneven:
        raise ValueError(f"batch sizes must be multiples of devices = {arguments.devices}, not {uneven[0]}")
    rows: list[dict[str, Any]] = [
        {"game": game, "bytes_per_board": env.state_bytes, "boards": batch}
        for (game, env), batch in itertools.product(envs.items(), arguments.batch_sizes)
    ]
    result = {"rows": rows, "devices_used": arguments.devices, "one_core": arguments.one_core, **stamp()}
    for row, column in progress_over(itertools.product(rows, arguments.columns), "cells"):
        length = loops.steps_per_call(arguments.steps, row["boards"])
        timing = COLUMNS[column](envs[row["game"]], row["boards"], length, arguments.repeats, arguments.devices)
        row[column] = timing._asdict()
        harness.save(arguments, result)
    speeds = {column: f"{{{column}[steps_per_second]:,.0f}} ({{{column}[spread]:.0%}})" for column in arguments.columns}
    columns = {"game": "`{game}`", "bytes per board": "{bytes_per_board}", "boards": "{boards:,}"}
    harness.log(table_of(rows, columns | speeds))
    return result


def draw_by_batch(arguments: Arguments, result: dict[str, Any]) -> Figure:
    """Steps per second of random play by boards, one line per game, both axes logarithmic."""
    picture, (axes,) = plot.new_picture(8, 4.2)
    for number, game in enumerate(arguments.games):
        line = [row for row in result["rows"] if row["game"] == game]
        speeds = [row["random play"]["steps_per_second"] for row in line]
        axes.plot([row["boards"] for row in line], speeds, f"C{number}o-", markersize=3.5, label=game)
    axes.set(title="Random play by batch", xlabel="boards played at once", ylabel="steps per second", yscale="log")
    axes.set_xscale("log", base=4)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    picture.legend(loc="outside right center", fontsize=8, frameon=False)
    return picture


COMMANDS = (Command("envs", Arguments, measure_envs, draw=draw_by_batch),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
