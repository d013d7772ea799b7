"""The policy's convolutions beside `flax.linen.Conv`, inside a `jax.lax.scan` as in a training run.

    python -m benchmarks.convolutions

Milliseconds for two layers on a batch of boards, forward and with the gradient. Each step of the loop reads what the
step before it computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import flax.linen as nn
import jax
import jax.numpy as jnp

import jaxgames
from benchmarks import harness
from train.models.convolution import Convolution


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    env: str = "checkers"
    """The game whose observations are convolved."""
    boards: int = 1024
    channels: int = 16
    steps: int = 5
    """Steps of the loop in one timed call."""
    repeats: int = 3


class Net(nn.Module):
    """Two convolutions and a mean."""

    layer: Callable[[], nn.Module]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(2):
            x = nn.relu(self.layer()(x))
        return x.mean()


def main() -> None:
    """The command `python -m benchmarks.convolutions`."""
    harness.run_command("convolutions", harness.parse_arguments("convolutions", Arguments), measure_convolutions)


def measure_convolutions(arguments: Arguments) -> dict[str, Any]:
    """Measures both kinds of convolution."""
    if min(arguments.boards, arguments.channels, arguments.steps, arguments.repeats) < 1:
        raise ValueError("boards, channels, steps and repeats must be positive")
    shape = jaxgames.make(arguments.env).observation_shape
    if len(shape) != 3:
        raise ValueError(f"{arguments.env} observes {shape}: convolutions need height, width and planes")
    x = jax.random.bernoulli(jax.random.key(0), 0.3, (arguments.boards, *shape)).astype(jnp.float32)
    nets = {
        "matrix products": Net(lambda: Convolution(arguments.channels)),
        "flax.linen.Conv": Net(lambda: nn.Conv(arguments.channels, (3, 3))),
    }
    rows = {name: measure_net(net, net.init(jax.random.key(0), x), x, arguments) for name, net in nets.items()}
    table = [[name, f"{row['forward']:.2f}", f"{row['gradient']:.2f}"] for name, row in rows.items()]
    header = [f"{arguments.env}, {arguments.boards:,} boards", "forward, ms", "with gradient, ms"]
    harness.log(harness.markdown_table(header, table))
    return {"env": arguments.env, "boards": arguments.boards, "milliseconds": rows, **harness.stamp()}


def measure_net(net: Net, params: Any, x: jax.Array, arguments: Arguments) -> dict[str, float]:
    """Milliseconds per step of the loop, forward and with the gradient."""

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
        timing = harness.time_program(loop, (params,), arguments.steps, arguments.repeats)
        return round(1000 / timing.steps_per_second, 2)

    return {"forward": milliseconds(forward), "gradient": milliseconds(gradient)}


if __name__ == "__main__":
    main()
