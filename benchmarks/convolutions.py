"""The policy's convolutions beside `flax.linen.Conv`, inside a `jax.lax.scan` as a training run has them.

    python -m benchmarks.convolutions

Two layers on a batch of boards, forward and with the gradient. What the loop computes is read by its next step; every
figure is the median of repeats of one compiled program after a warm-up.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import flax.linen as nn
import jax
import jax.numpy as jnp
import tyro

import jaxgames
from benchmarks.throughput import say, timed, where
from train.models.networks import Convolution


@dataclass(frozen=True)
class Arguments:
    env: str = "checkers"
    """The game whose observations are convolved."""
    boards: int = 1024
    channels: int = 16
    steps: int = 5
    """Of the loop that one timed call makes."""
    repeats: int = 3


class Net(nn.Module):
    """Two convolutions and a sum."""

    layer: Callable[[], nn.Module]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(2):
            x = nn.relu(self.layer()(x))
        return x.mean()


def main() -> None:
    """The command `python -m benchmarks.convolutions`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.convolutions", description=__doc__)
    shape = jaxgames.make(arguments.env).observation_shape
    x = jax.random.bernoulli(jax.random.key(0), 0.3, (arguments.boards, *shape)).astype(jnp.float32)
    nets = {
        "matrix products": Net(lambda: Convolution(arguments.channels)),
        "flax.linen.Conv": Net(lambda: nn.Conv(arguments.channels, (3, 3))),
    }
    rows: dict[str, dict[str, float]] = {}
    say(f"{arguments.env}, {arguments.boards} boards: milliseconds forward, and with the gradient")
    for name, net in nets.items():
        rows[name] = measure(net, net.init(jax.random.key(0), x), x, arguments)
        say(f"{name:>20}" + "".join(f"{value:>12.2f}" for value in rows[name].values()))
    print(json.dumps({"env": arguments.env, "boards": arguments.boards, "milliseconds": rows, **where()}))


def measure(net: Net, params: Any, x: jax.Array, arguments: Arguments) -> dict[str, float]:
    """Milliseconds of one step of each loop."""

    def forward(key: jax.Array, params: Any) -> Any:
        def body(total: jax.Array, _: None) -> tuple[jax.Array, None]:
            return total + cast(jax.Array, net.apply(params, x + 1e-9 * total)), None

        return jax.lax.scan(body, jnp.float32(0), length=arguments.steps)

    def gradient(key: jax.Array, params: Any) -> Any:
        def body(params: Any, _: None) -> tuple[Any, None]:
            descent = jax.grad(net.apply)(params, x)
            return jax.tree.map(lambda old, change: old - 1e-3 * change, params, descent), None

        return jax.lax.scan(body, params, length=arguments.steps)

    def milliseconds(loop: Any) -> float:
        return round(1000 / timed(loop, (params,), arguments.steps, arguments.repeats).steps_per_second, 2)

    return {"forward": milliseconds(forward), "gradient": milliseconds(gradient)}


if __name__ == "__main__":
    main()
