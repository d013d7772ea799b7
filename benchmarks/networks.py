"""The cost of networks: whole iterations, and the ways to share parameters between seats.

    python -m benchmarks.networks
    python -m benchmarks.networks --games minichess --networks mlp "resnet(blocks=3, channels=64)"

measures microseconds per step of whole iterations of `train.ppo`, for each network. An iteration collects steps and
passes over them once. A network that cannot play a game is left out.

    python -m benchmarks.networks sharing

measures two ways to run every row of a batch through its own seat's parameters, in microseconds per row, forward and
with the gradient. The policies are the independent ones of six seats with train.ppo's default network, on Chinese
Checkers of size 2.

    tiles   train.models.policy.apply_by_seat: rows in tiles of one seat each, one batched product over the tiles;
            with few rows, every network on every row
    all     every seat's network on every row; then the right output is picked
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import jaxgames
from benchmarks import harness
from benchmarks.harness import Command
from jaxgames import ParameterError
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of
from train.models.policy import Params, Policy, apply_by_seat, split_statistics
from train.ppo import PPO, TrainState, config_for

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
    rows: list[dict[str, Any]] = []
    for game, network in progress_over(itertools.product(arguments.games, arguments.networks), "networks"):
        row = measure_network(game, network, arguments)
        if row is not None:
            first = next((each["microseconds"] for each in rows if each["game"] == game), row["microseconds"])
            rows.append(row | {"relative": round(row["microseconds"] / first, 2)})
    harness.log(table_of(rows, TABLE))
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

    def iterate(key: jax.Array, state: TrainState) -> Any:
        return learner.iterate(state._replace(key=key))

    timing = harness.time_program(iterate, (train_state,), config.steps_per_iteration, arguments.repeats)
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


WAYS = {"tiles": apply_by_seat, "all": apply_all}


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
    lines: list[dict[str, Any]] = []
    for size in progress_over(arguments.rows, "batch sizes"):
        rows = jax.random.bernoulli(jax.random.key(1), 0.1, (size, *env.observation_shape))
        seat = jax.random.randint(jax.random.key(2), (size,), 0, env.num_players)
        lines.append({"rows": size})
        for (direction, function), way in itertools.product(functions.items(), WAYS):
            program = functools.partial(function, way=way, rows=rows, seat=seat)
            timing = harness.time_program(program, (params,), size, arguments.repeats)
            lines[-1][f"{way}, {direction}"] = round(timing.microseconds, 3)
    harness.log(table_of(lines, {"rows": "{rows:,}"} | {name: f"{{{name}:.2f}}" for name in [*lines[0]][1:]}))
    return {"microseconds_per_row": lines, **stamp()}


COMMANDS = (
    Command("networks", Arguments, measure_networks),
    Command("networks sharing", SharingArguments, measure_sharing),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
