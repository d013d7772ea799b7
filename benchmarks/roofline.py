"""What binds random play and PPO on one device: speed by batch size beside what its memory could carry.

    python -m benchmarks.roofline

For every game, batch after batch to 2^20 boards: steps per second, compile time, the memory of the whole program as the
compiler plans it, and

    least     bytes that a step has to move: the board read and written, mask and observation written
    xla       bytes that the compiled step moves by XLA's own count, fused loops counted once
    of roof   least * steps per second over the bandwidth of a copy measured in the same run: 1 is the roofline

Meant for an accelerator, and runs on whatever JAX finds. A batch that does not fit into memory says so.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import jaxgames
from benchmarks.contestant import LEAST
from benchmarks.throughput import (
    GAMES,
    Figure,
    Playing,
    at_random,
    keep,
    measured,
    play_loop,
    ppo,
    random_play,
    say,
    where,
)

COLUMNS = {"random play": random_play, "ppo": ppo}


@dataclass(frozen=True)
class Arguments:
    games: tuple[str, ...] = GAMES
    """Games with their parameters."""
    batch_sizes: tuple[int, ...] = tuple(4**i for i in range(5, 11))
    """From 1,024 to 2^20 boards."""
    columns: tuple[str, ...] = tuple(COLUMNS)
    """What to measure: random play, ppo or both."""
    steps: int = 20_000_000
    """Steps over all boards that one timed call of random play makes, about; at least LEAST of each board."""
    repeats: int = 5
    copied_bytes: int = 1 << 30
    """Size of the array whose copy measures the memory's bandwidth."""
    output: Path | None = None
    """A file for the JSON, written line by line; it is printed in any case."""


def main() -> None:
    """The command `python -m benchmarks.roofline`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.roofline", description="Speed beside memory bandwidth.")
    result = measured("roofline", measure, arguments)
    print(json.dumps(result))


def measure(arguments: Arguments) -> dict[str, Any]:
    """Prints the table as it grows and returns all figures."""
    if min(*arguments.batch_sizes, arguments.steps, arguments.repeats, arguments.copied_bytes // 4) < 1:
        raise ValueError("batch sizes, steps, repeats and copied bytes must be positive")
    unknown = set(arguments.columns) - COLUMNS.keys()
    if unknown:
        raise ValueError(f"columns must be among {', '.join(COLUMNS)}, not {', '.join(unknown)}")
    envs = [jaxgames.make(game) for game in arguments.games]
    roof = bandwidth(arguments.copied_bytes, arguments.repeats)
    say(f"{jax.devices()[0].device_kind}: a copy moves {roof / 1e9:,.0f} GB/s")
    say("| game | what | boards | steps/s (spread) | compiled in | memory | least | xla | of roof |")
    say("|---|---|---|---|---|---|---|---|---|")
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"bytes_per_second": roof, "rows": rows, **where()}
    for env in envs:
        least = least_bytes(env)
        for column in arguments.columns:
            for batch in arguments.batch_sizes:
                length = max(LEAST, min(1000, arguments.steps // batch))
                row: dict[str, Any] = {"game": str(env), "column": column, "boards": batch, "least_bytes": least}
                try:
                    figure = COLUMNS[column](env, batch, length, arguments.repeats)
                except jax.errors.JaxRuntimeError as error:
                    if "RESOURCE_EXHAUSTED" not in str(error):
                        raise
                    say(f"| `{env.id}` | {column} | {batch:,} | out of memory | | | | | |")
                    rows.append(row | {"out_of_memory": True})
                    keep(result, arguments.output)
                    break  # a larger batch will not fit either
                row |= figure._asdict()
                if column == "random play":
                    row["xla_bytes"] = counted_bytes(env, batch)
                    row["of_roof"] = figure.steps_per_second * least / roof
                say(_line(env, row, figure))
                rows.append(row)
                keep(result, arguments.output)  # what is measured stays, should the rest fail
    return result


def _line(env: jaxgames.Env[Any], row: dict[str, Any], figure: Figure) -> str:
    """A row of the table."""
    play = "xla_bytes" in row
    cells = (
        f"`{env.id}`",
        row["column"],
        f"{row['boards']:,}",
        f"{figure.steps_per_second:,.0f} ({figure.spread:.0%})",
        f"{figure.compile_seconds:.1f} s",
        f"{figure.memory_bytes / 1e6:,.1f} MB",
        f"{row['least_bytes']:,}" if play else "",
        f"{row['xla_bytes']:,.0f}" if play else "",
        f"{row['of_roof']:.3f}" if play else "",
    )
    return "| " + " | ".join(cells) + " |"


def bandwidth(size: int, repeats: int) -> float:
    """Bytes per second, read and written, of a program that adds 1 to an array of `size` bytes."""
    add = jax.jit(lambda x: x + 1)
    x = jax.block_until_ready(add(jnp.zeros(size // 4, jnp.float32)))
    seconds: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(add(x))
        seconds.append(time.perf_counter() - begin)
    return 2 * x.nbytes / float(np.median(seconds))


def least_bytes(env: jaxgames.Env[Any]) -> int:
    """Bytes that a step of one board has to move."""
    return 2 * env.state_bytes + env.num_actions + int(np.prod(env.observation_shape))


def counted_bytes(env: jaxgames.Env[Any], batch: int) -> float:
    """Bytes that a step of one board moves in the compiled loop of random play, as XLA counts them."""
    playing = Playing(env)
    boards = jax.eval_shape(jax.vmap(playing.init), jax.eval_shape(lambda: jax.random.split(jax.random.key(0), batch)))
    key = jax.eval_shape(lambda: jax.random.key(0))
    once = jax.jit(play_loop(playing, batch, 1, at_random)).lower(key, boards, None).compile()
    cost: Any = once.cost_analysis()
    return cost["bytes accessed"] / batch


if __name__ == "__main__":
    main()
