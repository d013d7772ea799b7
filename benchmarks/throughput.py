"""Steps per second of random play: of one game by batch size, or of all games and of stars of all sizes.

    python -m benchmarks.throughput --env "chinese_checkers(size=2, num_players=6)"

A step is one ply of one board; finished boards restart, except in the second column. The columns:

    step           `env.step` alone, on recorded actions of random legal play
    no restart     the same without `auto_reset`, to see the cost of restarting
    random play    step, legal mask, observation written out, and a uniformly random legal action
    policy         the same work as random play, with the action sampled from the policy network
    ppo            whole iterations of train.ppo: collect, advantages, update

benchmarks/loops.py describes the loop and how its outputs are consumed.

    python -m benchmarks.throughput --devices 2 --batch-sizes 1024 8192

divides the boards between devices, each with its own loop that never waits for the others. On a CPU the devices are
virtual. One device per core is the way to use all cores: within one device, threads share single operations, which are
too short for that.

    python -m benchmarks.throughput sweep --pictures docs/pictures

measures random play of every game at 1 to 65,536 boards, and of the star game of size 2 to 8 with six seats, at 64
boards and at 1,024. Boards are kept between the timed calls. Linear cost shows as a flat line in the first picture
(steps per second by batch, beyond the small batches), and as a straight line in the second (microseconds per step by
cells, with the line of best fit). With `--one-core` it measures CPU time on one core: the cost of a step, whatever else
the machine does.
"""

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command, Timing
from benchmarks.loops import measure_random_play
from train import plot
from train.driver.commands import progress_over
from train.driver.machine import stamp
from train.driver.tables import table_of
from train.models.policy import Params
from train.ops.masked_categorical import sample_and_log_prob
from train.ppo import PPO, config_for

# -- by batch size ----------------------------------------------------------------------------------------


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
    """Returns the speed of column `policy`, with the network of the game's recipe."""
    policy = PPO(config_for(str(env))).policy

    def choose(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        logits, _ = policy.apply(params, observation, seat)
        return sample_and_log_prob(key, logits, mask)[0], 0.0

    return loops.measure_play(env, batch, length, repeats, choose, policy.init(jax.random.key(0)), devices)


def measure_ppo(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, devices: int = 1) -> Timing:
    """Returns the speed of column `ppo`, on one device.

    It is the game's recipe with `batch` boards, and rollouts shortened or lengthened to keep the steps per iteration.
    """
    assert devices == 1
    config = config_for(str(env))
    length = max(8, config.steps_per_iteration // batch)
    learner = PPO(dataclasses.replace(config, num_envs=batch, rollout_length=length))
    return harness.time_iterations(learner, jax.jit(learner.init)(jax.random.key(0)), batch * length, repeats)


def min_bytes(env: jaxgames.Env[Any]) -> int:
    """Bytes that a step of random play has to move: the board read and written, mask and observation written."""
    return 2 * env.state_bytes + env.num_actions + math.prod(env.observation_shape)


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
    env = jaxgames.make(arguments.env)
    harness.check_positive(arguments, "batch_sizes", "repeats", "steps")
    harness.check_among("columns", arguments.columns, COLUMNS)
    if arguments.devices > 1 and "ppo" in arguments.columns:
        raise ValueError("ppo is measured on one device: name the other columns, or leave devices at 1")
    harness.provide_devices(arguments.devices)
    uneven = [batch for batch in arguments.batch_sizes if batch % arguments.devices]
    if uneven:
        raise ValueError(f"batch sizes must be multiples of devices = {arguments.devices}, not {uneven[0]}")
    harness.log(f"{env}: {env.state_bytes} bytes per board")
    rows: list[dict[str, Any]] = [{"boards": batch} for batch in arguments.batch_sizes]
    for row, column in progress_over(itertools.product(rows, arguments.columns), "cells"):
        length = loops.steps_per_call(arguments.steps, row["boards"])
        row[column] = COLUMNS[column](env, row["boards"], length, arguments.repeats, arguments.devices)._asdict()
    speeds = {column: f"{{{column}[steps_per_second]:,.0f}} ({{{column}[spread]:.0%}})" for column in arguments.columns}
    harness.log(table_of(rows, {"boards": "{boards:,}"} | speeds))
    stamped = {"devices_used": arguments.devices, **stamp()}
    return {"env": str(env), "bytes_per_board": env.state_bytes, "rows": rows, **stamped}


# -- sweep: all games by batch size, the star by its size ----------------------------------------------------

STAR = "chinese_checkers(size={}, num_players=6, max_rounds=200)"
GAMES = {
    "checkers": "checkers",
    "dots_and_boxes": "dots_and_boxes",
    "chinese_checkers, N = 2": STAR.format(2),
    "chinese_checkers, N = 4": STAR.format(4),
    "chinese_checkers_diamond": "chinese_checkers_diamond",
    "minichess": "minichess",
    "minichess, king_capture": "minichess(rules=king_capture)",
}


@dataclass(frozen=True)
class SweepArguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = tuple(GAMES)
    """Lines of the picture by batch, by their names there."""
    batch_sizes: tuple[int, ...] = tuple(4**i for i in range(9))
    """From 1 to 65,536 boards."""
    sizes: tuple[int, ...] = tuple(range(2, 9))
    """Sizes N of the star."""
    boards: tuple[int, ...] = (64, 1024)
    """Batch sizes at which the sizes are measured, one line of the picture each."""
    devices: int = 1
    """Devices that the boards are divided between; batch sizes that are not multiples of it are left out."""
    one_core: bool = False
    """Measure CPU time on one core instead of wall-clock time on all cores."""
    steps: int = 100_000
    """Approximate steps over all boards in one timed call; each board makes at least 32."""
    repeats: int = 3
    pictures: Path | None = None
    """A folder for throughput_by_batch.svg and step_by_cells.svg."""


def measure_sweep(arguments: SweepArguments) -> dict[str, Any]:
    harness.check_among("games", arguments.games, GAMES)
    harness.check_positive(arguments, "batch_sizes", "boards", "steps", "repeats")
    if not (arguments.games and arguments.batch_sizes and arguments.boards):
        raise ValueError("games, batch sizes and boards must each name at least one")
    if len(set(arguments.sizes)) < 2 or not set(arguments.sizes) <= set(range(1, 9)):
        raise ValueError(f"sizes must be two or more different ones from 1 to 8, not {arguments.sizes}")
    if arguments.one_core and arguments.devices != 1:
        raise ValueError("one core is one device: leave out --one-core or --devices")
    if arguments.one_core:
        harness.keep_to_one_core()
    harness.provide_devices(arguments.devices)
    batches = [batch for batch in arguments.batch_sizes if batch % arguments.devices == 0]
    if not batches or any(boards % arguments.devices for boards in arguments.boards):
        raise ValueError(f"boards and some of the batch sizes must be multiples of devices = {arguments.devices}")
    pairs = list(itertools.product(arguments.boards, arguments.sizes))
    points = list(itertools.product(arguments.games, batches))

    def measure(env: str, batch: int) -> dict[str, Any]:
        length = loops.steps_per_call(arguments.steps, batch)
        play = loops.rollout(jaxgames.auto_reset(jaxgames.make(env)), batch, length, arguments.devices)
        clock = time.process_time if arguments.one_core else time.perf_counter
        median, spread = harness.median_and_spread([steps_per_second(play, clock) for _ in range(arguments.repeats)])
        return {"boards": batch, "steps_per_second": round(median), "microseconds": 1e6 / median, "spread": spread}

    by_size = [
        {"size": size, "cells": star_cells(size)} | measure(STAR.format(size), boards)
        for boards, size in progress_over(pairs, "stars")
    ]
    by_batch = [{"game": name} | measure(GAMES[name], batch) for name, batch in progress_over(points, "batches")]
    fits = [fit(boards, [row for row in by_size if row["boards"] == boards]) for boards in arguments.boards]
    settings = {"devices_used": arguments.devices, "one_core": arguments.one_core}
    result = {"by_size": by_size, "fits": fits, "by_batch": by_batch, **settings, **stamp()}
    if arguments.pictures is not None:
        harness.save(arguments, result)
        plot.write(draw_by_batch(by_batch), arguments.pictures / "throughput_by_batch.svg")
        plot.write(draw_by_cells(by_size, fits), arguments.pictures / "step_by_cells.svg")
    return result


def star_cells(size: int) -> int:
    """Cells of a star: a hexagon of 3N(N + 1) + 1 cells and six triangles of N(N + 1) / 2."""
    return 6 * size * (size + 1) + 1


def fit(boards: int, rows: list[dict[str, Any]]) -> dict[str, float]:
    slope, start = np.polyfit([row["cells"] for row in rows], [row["microseconds"] for row in rows], 1)
    return {"boards": boards, "microseconds_per_cell": float(slope), "microseconds_at_zero": float(start)}


def steps_per_second(play: Callable[[], int], clock: Callable[[], float]) -> float:
    start = clock()
    return play() / (clock() - start)


def draw_by_batch(rows: list[dict[str, Any]]) -> Figure:
    """Steps per second by boards, one line per game, both axes logarithmic."""
    picture, (axes,) = plot.new_picture(8, 4.2)
    for number, game in enumerate(dict.fromkeys(row["game"] for row in rows)):
        line = [row for row in rows if row["game"] == game]
        boards, speeds = [row["boards"] for row in line], [row["steps_per_second"] for row in line]
        axes.plot(boards, speeds, color=f"C{number}", marker="o", markersize=3.5, label=game)
    axes.set(title="Random play by batch", xlabel="boards played at once", ylabel="steps per second")
    axes.set_xscale("log", base=4)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    picture.legend(loc="outside right center", fontsize=8, frameon=False)
    return picture


def draw_by_cells(rows: list[dict[str, Any]], fits: list[dict[str, float]]) -> Figure:
    """Microseconds per step of the star game by the cells of its star, and the lines of best fit."""
    picture, (axes,) = plot.new_picture(8, 4.2)
    for number, line in enumerate(fits):
        points = [row for row in rows if row["boards"] == line["boards"]]
        cells, color = np.array([row["cells"] for row in points]), f"C{number}"
        label = f"{line['boards']:,} boards: {1000 * line['microseconds_per_cell']:.1f} ns per cell"
        fitted = line["microseconds_at_zero"] + line["microseconds_per_cell"] * cells
        axes.plot(cells, fitted, color=color, linewidth=1, alpha=0.5)
        axes.plot(cells, [row["microseconds"] for row in points], "o", color=color, markersize=5, label=label)
    for row in rows[-len(rows) // len(fits) :]:
        place = (row["cells"], row["microseconds"])
        axes.annotate(f"N = {row['size']}", place, xytext=(-6, 6), textcoords="offset points", ha="right", fontsize=8)
    axes.set(title="Chinese Checkers, six seats: time per step by size of the star", xlim=(0, 460), ylim=(0, None))
    axes.set(xlabel="cells of the star", ylabel="microseconds per step")
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return picture


COMMANDS = (
    Command("throughput", Arguments, measure_throughput),
    Command("throughput sweep", SweepArguments, measure_sweep),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
