"""The cost of networks: whole iterations, the ways to share parameters between seats, and the convolutions.

    python -m benchmarks.networks
    python -m benchmarks.networks --games minichess --networks mlp "resnet(blocks=3, channels=64)"

measures microseconds per step of whole iterations of `train.ppo`, for each network. An iteration collects steps and
passes over them once. A network that cannot play a game is left out.

    python -m benchmarks.networks sharing

measures three ways to run every row of a batch through its own seat's parameters, in microseconds per row, forward and
with the gradient. The policies are the independent ones of six seats with train.ppo's default network, on Chinese
Checkers of size 2.

    tiles      train.models.policy.apply_by_seat: rows in tiles of one seat each, one batched product over the tiles;
               with few rows, every network on every row
    all        every seat's network on every row; then the right output is picked
    gathered   every row with a copy of its seat's parameters

    python -m benchmarks.networks convolutions

measures the policy's convolutions beside `flax.linen.Conv`, in milliseconds for two layers on a batch of boards,
forward and with the gradient. They run inside a `jax.lax.scan` as in a training run, each step of which reads what the
step before it computed.
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import flax.linen as nn
import jax
import jax.numpy as jnp

import jaxgames
from benchmarks import harness
from benchmarks.harness import Command
from jaxgames import ParameterError
from train.driver.machine import stamp
from train.models.convolution import Convolution
from train.models.policy import Params, Policy, apply_by_seat, split_statistics
from train.ppo import PPO, config_for

# -- whole iterations -------------------------------------------------------------------------------------

TABLE = {
    "game": "{game}",
    "network": "{network}",
    "weights": "{weights:,}",
    "microseconds per step": "{microseconds:.1f}",
    "relative": "{relative}",
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = (
        "chinese_checkers_diamond(size=4, pieces=3)",
        "minichess",
        "dots_and_boxes(rows=3, cols=3, reward=boxes)",
    )
    """The games, with their parameters."""
    networks: tuple[str, ...] = (
        "mlp",
        "conv",
        "resnet(blocks=1, channels=32)",
        "resnet",
        "alpha_mini(channels=32, hidden_sizes=[64, 64])",
        "alpha_mini",
        "graph(width=32)",
        "graph",
    )
    """The networks, with their parameters. Costs are compared with the first one."""
    boards: int = 32
    """Boards played at once."""
    rollout_length: int = 8
    """Steps of each board in an iteration."""
    repeats: int = 3
    """Measurements of each network; their median is reported."""


def measure_networks(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "boards", "rollout_length", "repeats")
    progress = harness.Progress(len(arguments.games) * len(arguments.networks))
    rows: list[dict[str, Any]] = []
    for game in arguments.games:
        first = None
        for network in arguments.networks:
            row = measure_network(game, network, arguments)
            progress.finish(f"{game}, {network}")
            if row is not None:
                first = first or row["microseconds"]
                rows.append(row | {"relative": round(row["microseconds"] / first, 2)})
    harness.log(harness.table(TABLE, rows))
    return {"rows": rows, **stamp()}


def measure_network(game: str, network: str, arguments: Arguments) -> dict[str, Any] | None:
    """Returns the row of a network; None if it cannot play the game."""
    config = config_for(
        game,
        network=network,
        num_envs=arguments.boards,
        rollout_length=arguments.rollout_length,
        update_epochs=1,
        num_minibatches=2,
    )
    try:
        learner = PPO(config)
    except ParameterError as error:
        harness.log(str(error))
        return None
    train_state = jax.jit(learner.init)(jax.random.key(0))
    timing = harness.time_iterations(learner, train_state, config.steps_per_iteration, arguments.repeats)
    weights = sum(leaf.size for leaf in jax.tree.leaves(split_statistics(train_state.params)[0]))
    return {"game": game, "network": network, "weights": weights, "microseconds": round(timing.microseconds, 2)}


# -- sharing: parameters of seats -------------------------------------------------------------------------


@dataclass(frozen=True)
class SharingArguments(harness.BenchmarkArguments):
    rows: tuple[int, ...] = (20, 128, 512, 4096)
    """Batch sizes, one row of the table each."""
    repeats: int = 20


def apply_all(apply: Callable[..., Any], params: Params, rows: jax.Array, seat: jax.Array) -> Any:
    """`apply_by_seat` by every seat's network on every row."""
    outputs = jax.vmap(apply, in_axes=(0, None))(params, rows)
    return jax.tree.map(lambda leaf: leaf[seat, jnp.arange(rows.shape[0])], outputs)


def apply_gathered(apply: Callable[..., Any], params: Params, rows: jax.Array, seat: jax.Array) -> Any:
    """`apply_by_seat` with a copy of the parameters for every row."""
    copies = jax.tree.map(lambda leaf: leaf[seat], params)
    return jax.tree.map(lambda leaf: leaf[:, 0], jax.vmap(apply)(copies, rows[:, None]))


WAYS = {"tiles": apply_by_seat, "all": apply_all, "gathered": apply_gathered}


def measure_sharing(arguments: SharingArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "rows", "repeats")
    env = jaxgames.make("chinese_checkers(size=2, num_players=6)")
    policy = Policy.of(env, "shared")
    params = jax.vmap(policy.init)(jax.random.split(jax.random.key(0), env.num_players))

    def apply(params: Params, rows: jax.Array) -> Any:
        return policy.apply(params, rows, jnp.zeros(rows.shape[0], jnp.int32))

    def loss(key: jax.Array, params: Params, way: str, rows: jax.Array, seat: jax.Array) -> jax.Array:
        """Its gradient passes through all outputs."""
        logits, values = WAYS[way](apply, params, rows, seat)
        return jnp.square(logits).sum() + jnp.square(values).sum()

    functions = {"forward": loss, "gradient": jax.grad(loss, argnums=1)}

    progress = harness.Progress(len(arguments.rows))
    lines: list[dict[str, Any]] = []
    for size in arguments.rows:
        rows = jax.random.bernoulli(jax.random.key(1), 0.1, (size, *env.observation_shape))
        seat = jax.random.randint(jax.random.key(2), (size,), 0, env.num_players)
        lines.append({"rows": size})
        for (direction, function), way in itertools.product(functions.items(), WAYS):
            program = functools.partial(function, way=way, rows=rows, seat=seat)
            timing = harness.time_program(program, (params,), size, arguments.repeats)
            lines[-1][f"{way}, {direction}"] = round(timing.microseconds, 3)
        progress.finish(f"{size:,} rows")
    harness.log(harness.table({"rows": "{rows:,}"} | {name: f"{{{name}:.2f}}" for name in [*lines[0]][1:]}, lines))
    return {"microseconds_per_row": lines, **stamp()}


# -- convolutions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConvolutionArguments(harness.BenchmarkArguments):
    env: str = "checkers"
    """The game whose observations are convolved."""
    boards: int = 1024
    channels: int = 16
    steps: int = 5
    """Steps of the loop in one timed call."""
    repeats: int = 3


class TwoLayers(nn.Module):
    """Two convolutions and a mean."""

    layer: Callable[[], nn.Module]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(2):
            x = nn.relu(self.layer()(x))
        return x.mean()


def measure_convolutions(arguments: ConvolutionArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "boards", "channels", "steps", "repeats")
    shape = jaxgames.make(arguments.env).observation_shape
    if len(shape) != 3:
        raise ValueError(f"{arguments.env} observes {shape}: convolutions need height, width and planes")
    x = jax.random.bernoulli(jax.random.key(0), 0.3, (arguments.boards, *shape)).astype(jnp.float32)
    nets = {
        "matrix products": TwoLayers(lambda: Convolution(arguments.channels)),
        "flax.linen.Conv": TwoLayers(lambda: nn.Conv(arguments.channels, (3, 3))),
    }
    rows = {name: measure_layers(net, x, arguments) for name, net in nets.items()}
    first = f"{arguments.env}, {arguments.boards:,} boards"
    columns = {first: "{name}", "forward, ms": "{forward:.2f}", "with gradient, ms": "{gradient:.2f}"}
    harness.log(harness.table(columns, ({"name": name, **row} for name, row in rows.items())))
    return {"env": arguments.env, "boards": arguments.boards, "milliseconds": rows, **stamp()}


def measure_layers(net: TwoLayers, x: jax.Array, arguments: ConvolutionArguments) -> dict[str, float]:
    """Milliseconds per step of the loop, forward and with the gradient."""
    params = jax.jit(net.init)(jax.random.key(0), x)

    def forward(key: jax.Array, params: Any) -> Any:
        def body(total: jax.Array, _: None) -> tuple[jax.Array, None]:
            return total + cast(jax.Array, net.apply(params, x + 1e-9 * total)), None

        return jax.lax.scan(body, jnp.float32(0), length=arguments.steps)

    def gradient(key: jax.Array, params: Any) -> Any:
        def body(params: Any, _: None) -> tuple[Any, None]:
            descent = jax.grad(net.apply)(params, x)
            return jax.tree.map(lambda old, change: old - 1e-3 * change, params, descent), None

        return jax.lax.scan(body, params, length=arguments.steps)

    def milliseconds(loop: Callable[..., Any]) -> float:
        timing = harness.time_program(loop, (params,), arguments.steps, arguments.repeats)
        return round(timing.microseconds / 1000, 2)

    return {"forward": milliseconds(forward), "gradient": milliseconds(gradient)}


COMMANDS = (
    Command("networks", Arguments, measure_networks),
    Command("networks sharing", SharingArguments, measure_sharing),
    Command("networks convolutions", ConvolutionArguments, measure_convolutions),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
