"""Three ways of running every row of a batch through its own seat's parameters.

    python -m benchmarks.sharing

    chosen      train.models.policy.apply_by_seat: rows in tiles of one seat, one batched product; few rows: all
    all         every seat's network on every row, then the right one is picked
    gathered    every row with a copy of its seat's parameters

Microseconds a row, forward and with the gradient, median of repeats: the independent policies of six seats with
train.ppo's network on Chinese Checkers of size 2.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import jaxgames
from benchmarks.throughput import say, where
from train.models.policy import Params, Policy, apply_by_seat
from train.ppo import Config

Apply = Callable[..., Any]


@dataclass(frozen=True)
class Arguments:
    rows: tuple[int, ...] = (20, 128, 512, 4096)
    """Batch sizes, a line of the table each."""
    repeats: int = 20


def all_networks(apply: Apply, params: Params, rows: jax.Array, seat: jax.Array) -> Any:
    outputs = jax.vmap(apply, in_axes=(0, None))(params, rows)
    return jax.tree.map(lambda leaf: leaf[seat, jnp.arange(rows.shape[0])], outputs)


def gathered(apply: Apply, params: Params, rows: jax.Array, seat: jax.Array) -> Any:
    own = jax.tree.map(lambda leaf: leaf[seat], params)
    return jax.tree.map(lambda leaf: leaf[:, 0], jax.vmap(apply)(own, rows[:, None]))


WAYS = {"chosen": apply_by_seat, "all": all_networks, "gathered": gathered}


def main() -> None:
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.sharing", description=__doc__)
    env = jaxgames.make("chinese_checkers(size=2, num_players=6)")
    one = Policy.of(env, "shared", Config().hidden_sizes)
    params = jax.vmap(one.init)(jax.random.split(jax.random.key(0), env.num_players))

    def apply(params: Params, rows: jax.Array) -> Any:
        return one.apply(params, rows, jnp.zeros(rows.shape[0], jnp.int32))

    result: list[dict[str, Any]] = []
    say("     rows " + "".join(f"{way + ' ' + what:>20}" for what in ("forward", "gradient") for way in WAYS))
    for size in arguments.rows:
        rows = jax.random.bernoulli(jax.random.key(1), 0.1, (size, *env.observation_shape))
        seat = jax.random.randint(jax.random.key(2), (size,), 0, env.num_players)
        line: dict[str, Any] = {"rows": size}
        for what in ("forward", "gradient"):
            for name, way in WAYS.items():

                def loss(params: Params, way: Any = way, rows: jax.Array = rows, seat: jax.Array = seat) -> jax.Array:
                    logits, values = way(apply, params, rows, seat)
                    return jnp.square(logits).sum() + jnp.square(values).sum()

                line[f"{name} {what}"] = microseconds(
                    jax.grad(loss) if what == "gradient" else loss, params, size, arguments.repeats
                )
        result.append(line)
        say(f"{size:>9,} " + "".join(f"{value:>20.2f}" for name, value in line.items() if name != "rows"))
    print(json.dumps({"microseconds_a_row": result, **where()}))


def microseconds(function: Callable[[Params], Any], params: Params, rows: int, repeats: int) -> float:
    compiled = jax.jit(function).lower(params).compile()
    jax.block_until_ready(compiled(params))
    spent: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(params))
        spent.append(time.perf_counter() - begin)
    return round(float(np.median(spent)) / rows * 1e6, 3)


if __name__ == "__main__":
    main()
