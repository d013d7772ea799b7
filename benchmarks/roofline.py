"""The limits of random play and PPO on one device: speed by batch size, beside what the memory could carry.

    python -m benchmarks.roofline

For every game, at batch sizes up to 2^20 boards: steps per second, compile time, the memory of the whole program as the
compiler plans it, and

    min bytes  bytes that a step has to move: the board read and written, mask and observation written
    xla bytes  bytes that the compiled step moves by XLA's own count, fused loops counted once
    of roof    min bytes * steps per second / bandwidth of a copy in the same run; 1 is the roofline

It is meant for an accelerator, and runs on any device. Where a batch does not fit into memory, its row says so.
"""

import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from benchmarks.throughput import measure_ppo, min_bytes
from train.driver.machine import stamp

PASSES = 16  # over the copied array in one call, so that the start of the call does not count
COLUMNS = {"random play": loops.measure_random_play, "ppo": measure_ppo}
TABLE = {
    "game": "`{game}`",
    "what": "{column}",
    "boards": "{boards:,}",
    "steps/s (spread)": harness.SPEED,
    "compiled in": "{compile_seconds:.1f} s",
    "memory": "{memory_bytes:,} B",
    "min bytes": "{min_bytes:,}",
    "xla bytes": "{xla_bytes:,.0f}",
    "of roof": "{of_roof:.3f}",
    "out of memory": "{out_of_memory}",
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = loops.GAMES
    """Games with their parameters."""
    batch_sizes: tuple[int, ...] = tuple(4**i for i in range(5, 11))
    """From 1,024 to 2^20 boards, in increasing order."""
    columns: tuple[str, ...] = tuple(COLUMNS)
    """The columns to measure: random play, ppo or both."""
    steps: int = 20_000_000
    """Approximate steps over all boards in one timed call of random play; each board makes at least 32."""
    repeats: int = 5
    copied_bytes: int = 1 << 28
    """Size of the array whose copy measures the memory's bandwidth."""


def measure_roofline(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "batch_sizes", "steps", "repeats")
    harness.check_among("columns", arguments.columns, COLUMNS)
    if arguments.copied_bytes < 4:
        raise ValueError(f"copied_bytes must be at least 4, not {arguments.copied_bytes}")
    envs = [jaxgames.make(game) for game in arguments.games]
    roof = bandwidth(arguments.copied_bytes, arguments.repeats)
    harness.log(f"{jax.devices()[0].device_kind}: a copy moves {roof / 1e9:,.0f} GB/s")
    progress = harness.Progress(len(envs) * len(arguments.columns) * len(arguments.batch_sizes))
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"bytes_per_second": roof, "rows": rows, **stamp()}
    for env in envs:
        for column in arguments.columns:
            for number, batch in enumerate(arguments.batch_sizes, start=1):
                rows.append(measure_row(env, column, batch, arguments, roof))
                harness.save(arguments, result)
                out_of_memory = "out_of_memory" in rows[-1]  # larger batches will not fit either
                progress.total -= len(arguments.batch_sizes) - number if out_of_memory else 0
                progress.finish(", ".join(filter(None, harness.format_row(TABLE, rows[-1]))))
                if out_of_memory:
                    break
    harness.log(harness.table(TABLE, rows))
    return result


def measure_row(env: jaxgames.Env[Any], column: str, batch: int, arguments: Arguments, roof: float) -> dict[str, Any]:
    """One row of the table; `out_of_memory` where the batch does not fit."""
    row: dict[str, Any] = {"game": str(env), "column": column, "boards": batch, "min_bytes": min_bytes(env)}
    try:
        timing = COLUMNS[column](env, batch, loops.steps_per_call(arguments.steps, batch), arguments.repeats)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return row | {"out_of_memory": True}
    row |= timing._asdict()
    if column == "random play":
        row["xla_bytes"] = counted_bytes(env, batch)
        row["of_roof"] = timing.steps_per_second * row["min_bytes"] / roof
    return row


def bandwidth(size: int, repeats: int) -> float:
    """Bytes per second, read and written, of a program that adds 1 to an array of `size` bytes, PASSES times."""
    add = jax.jit(lambda x: jax.lax.fori_loop(0, PASSES, lambda _, x: x + 1, x))
    x = jax.block_until_ready(add(jnp.zeros(size // 4, jnp.float32)))
    seconds: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(add(x))
        seconds.append(time.perf_counter() - start)
    return 2 * PASSES * x.nbytes / float(np.median(seconds))


def counted_bytes(env: jaxgames.Env[Any], batch: int) -> float:
    """Bytes that a step of one board moves in the compiled loop of random play, as XLA counts them."""
    playing = loops.Playing(env)
    boards = jax.eval_shape(jax.vmap(playing.init), jax.eval_shape(lambda: jax.random.split(jax.random.key(0), batch)))
    key = jax.eval_shape(lambda: jax.random.key(0))
    once = jax.jit(loops.play_loop(playing, batch, 1, loops.at_random)).lower(key, boards, None).compile()
    cost: Any = once.cost_analysis()
    return cost["bytes accessed"] / batch


COMMANDS = (Command("roofline", Arguments, measure_roofline),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
