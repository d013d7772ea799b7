"""Three ways to run every row of a batch through its own seat's parameters.

    python -m benchmarks.parameter_sharing

    tiles      train.models.policy.apply_by_seat: rows in tiles of one seat each, one batched product over the tiles;
               with few rows, every network on every row
    all        every seat's network on every row; then the right output is picked
    gathered   every row with a copy of its seat's parameters

Microseconds per row, forward and with the gradient, for the independent policies of six seats with train.ppo's default
network on Chinese Checkers of size 2.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import jaxgames
from benchmarks import harness
from train.models.policy import Params, Policy, apply_by_seat

Apply = Callable[..., Any]


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    rows: tuple[int, ...] = (20, 128, 512, 4096)
    """Batch sizes, one row of the table each."""
    repeats: int = 20


def apply_all(apply: Apply, params: Params, rows: jax.Array, seat: jax.Array) -> Any:
    """`apply_by_seat` by every seat's network on every row."""
    outputs = jax.vmap(apply, in_axes=(0, None))(params, rows)
    return jax.tree.map(lambda leaf: leaf[seat, jnp.arange(rows.shape[0])], outputs)


def apply_gathered(apply: Apply, params: Params, rows: jax.Array, seat: jax.Array) -> Any:
    """`apply_by_seat` with a copy of the parameters for every row."""
    copies = jax.tree.map(lambda leaf: leaf[seat], params)
    return jax.tree.map(lambda leaf: leaf[:, 0], jax.vmap(apply)(copies, rows[:, None]))


WAYS = {"tiles": apply_by_seat, "all": apply_all, "gathered": apply_gathered}


def main() -> None:
    """The command `python -m benchmarks.parameter_sharing`."""
    harness.run_command(
        "parameter_sharing", harness.parse_arguments("parameter_sharing", Arguments), measure_parameter_sharing
    )


def measure_parameter_sharing(arguments: Arguments) -> dict[str, Any]:
    """Measures every way at every batch size."""
    if min(*arguments.rows, arguments.repeats) < 1:
        raise ValueError("rows and repeats must be positive")
    env = jaxgames.make("chinese_checkers(size=2, num_players=6)")
    policy = Policy.of(env, "shared")
    params = jax.vmap(policy.init)(jax.random.split(jax.random.key(0), env.num_players))

    def apply(params: Params, rows: jax.Array) -> Any:
        return policy.apply(params, rows, jnp.zeros(rows.shape[0], jnp.int32))

    columns = [f"{way}, {direction}" for direction in ("forward", "gradient") for way in WAYS]
    progress = harness.Progress(len(arguments.rows))
    found: list[dict[str, Any]] = []
    for size in arguments.rows:
        rows = jax.random.bernoulli(jax.random.key(1), 0.1, (size, *env.observation_shape))
        seat = jax.random.randint(jax.random.key(2), (size,), 0, env.num_players)
        line: dict[str, Any] = {"rows": size}
        for column in columns:
            name, _, direction = column.partition(", ")
            loss = functools.partial(sum_of_squares, way=functools.partial(WAYS[name], apply), rows=rows, seat=seat)
            function = jax.grad(loss) if direction == "gradient" else loss
            line[column] = measure_microseconds(function, params, size, arguments.repeats)
        found.append(line)
        progress.finish(f"{size:,} rows")
    table = [[f"{line['rows']:,}", *(f"{line[column]:.2f}" for column in columns)] for line in found]
    harness.log(harness.markdown_table(["rows", *columns], table))
    return {"microseconds_per_row": found, **harness.stamp()}


def sum_of_squares(params: Params, way: Callable[..., Any], rows: jax.Array, seat: jax.Array) -> jax.Array:
    """A loss whose gradient passes through all outputs."""
    logits, values = way(params, rows, seat)
    return jnp.square(logits).sum() + jnp.square(values).sum()


def measure_microseconds(function: Callable[[Params], Any], params: Params, rows: int, repeats: int) -> float:
    """Microseconds per row of one call."""
    timing = harness.time_program(lambda key, params: function(params), (params,), rows, repeats)
    return round(1e6 / timing.steps_per_second, 3)


if __name__ == "__main__":
    main()
