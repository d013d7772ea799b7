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
from benchmarks import harness, random_play
from benchmarks.throughput import measure_ppo

COLUMNS = {"random play": random_play.measure_random_play, "ppo": measure_ppo}
HEADER = ("game", "what", "boards", "steps/s (spread)", "compiled in", "memory", "min bytes", "xla bytes", "of roof")


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = random_play.GAMES
    """Games with their parameters."""
    batch_sizes: tuple[int, ...] = tuple(4**i for i in range(5, 11))
    """From 1,024 to 2^20 boards, in increasing order."""
    columns: tuple[str, ...] = tuple(COLUMNS)
    """The columns to measure: random play, ppo or both."""
    steps: int = 20_000_000
    """Approximate steps over all boards in one timed call of random play; each board makes at least 32."""
    repeats: int = 5
    copied_bytes: int = 1 << 30
    """Size of the array whose copy measures the memory's bandwidth."""


def main() -> None:
    """The command `python -m benchmarks.roofline`."""
    harness.run_command("roofline", harness.parse_arguments("roofline", Arguments), measure_roofline)


def measure_roofline(arguments: Arguments) -> dict[str, Any]:
    """Measures all games; the JSON is written after every row, so that a later failure loses nothing."""
    if min(*arguments.batch_sizes, arguments.steps, arguments.repeats, arguments.copied_bytes // 4) < 1:
        raise ValueError("batch sizes, steps, repeats and copied bytes must be positive")
    unknown = set(arguments.columns) - COLUMNS.keys()
    if unknown:
        raise ValueError(f"columns must be among {', '.join(COLUMNS)}, not {', '.join(unknown)}")
    envs = [jaxgames.make(game) for game in arguments.games]
    roof = bandwidth(arguments.copied_bytes, arguments.repeats)
    harness.log(f"{jax.devices()[0].device_kind}: a copy moves {roof / 1e9:,.0f} GB/s")
    progress = harness.Progress(len(envs) * len(arguments.columns) * len(arguments.batch_sizes))
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"bytes_per_second": roof, "rows": rows, **harness.stamp()}
    for env in envs:
        for column in arguments.columns:
            for number, batch in enumerate(arguments.batch_sizes, start=1):
                rows.append(measure_row(env, column, batch, arguments, roof))
                harness.write_json("roofline", arguments, result)
                out_of_memory = "out_of_memory" in rows[-1]  # larger batches will not fit either
                progress.total -= len(arguments.batch_sizes) - number if out_of_memory else 0
                progress.finish(", ".join(cell for cell in cells(rows[-1]) if cell))
                if out_of_memory:
                    break
    harness.log(harness.markdown_table(HEADER, map(cells, rows)))
    return result


def measure_row(env: jaxgames.Env[Any], column: str, batch: int, arguments: Arguments, roof: float) -> dict[str, Any]:
    """One row of the table; `out_of_memory` where the batch does not fit."""
    row: dict[str, Any] = {"game": str(env), "column": column, "boards": batch, "min_bytes": min_bytes(env)}
    try:
        timing = COLUMNS[column](env, batch, random_play.steps_per_call(arguments.steps, batch), arguments.repeats)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return row | {"out_of_memory": True}
    row |= timing._asdict()
    if column == "random play":
        row["xla_bytes"] = counted_bytes(env, batch)
        row["of_roof"] = timing.steps_per_second * row["min_bytes"] / roof
    return row


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table as text."""
    shown = [f"`{row['game']}`", row["column"], f"{row['boards']:,}"]
    if "out_of_memory" in row:
        shown.append("out of memory")
    else:
        shown += [f"{row['steps_per_second']:,.0f} ({row['spread']:.0%})", f"{row['compile_seconds']:.1f} s"]
        shown.append(f"{row['memory_bytes'] / 1e6:,.1f} MB")
        if "xla_bytes" in row:
            shown += [f"{row['min_bytes']:,}", f"{row['xla_bytes']:,.0f}", f"{row['of_roof']:.3f}"]
    return shown + [""] * (len(HEADER) - len(shown))


def bandwidth(size: int, repeats: int) -> float:
    """Bytes per second, read and written, of a program that adds 1 to an array of `size` bytes."""
    add = jax.jit(lambda x: x + 1)
    x = jax.block_until_ready(add(jnp.zeros(size // 4, jnp.float32)))
    seconds: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(add(x))
        seconds.append(time.perf_counter() - start)
    return 2 * x.nbytes / float(np.median(seconds))


def min_bytes(env: jaxgames.Env[Any]) -> int:
    """Bytes that a step of one board has to move."""
    return 2 * env.state_bytes + env.num_actions + int(np.prod(env.observation_shape))


def counted_bytes(env: jaxgames.Env[Any], batch: int) -> float:
    """Bytes that a step of one board moves in the compiled loop of random play, as XLA counts them."""
    playing = random_play.Playing(env)
    boards = jax.eval_shape(jax.vmap(playing.init), jax.eval_shape(lambda: jax.random.split(jax.random.key(0), batch)))
    key = jax.eval_shape(lambda: jax.random.key(0))
    once = jax.jit(random_play.play_loop(playing, batch, 1, random_play.at_random)).lower(key, boards, None).compile()
    cost: Any = once.cost_analysis()
    return cost["bytes accessed"] / batch


if __name__ == "__main__":
    main()
