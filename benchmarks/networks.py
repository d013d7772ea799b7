"""The cost of each network: microseconds per step of whole iterations of `train.ppo`.

    python -m benchmarks.networks
    python -m benchmarks.networks --games minichess --networks mlp "resnet(blocks=3, channels=64)"

An iteration collects steps and passes over them once. A network that cannot play a game is left out.
"""

from dataclasses import dataclass
from typing import Any

import jax

from benchmarks import harness
from jaxgames import ParameterError
from train.models.policy import split_statistics
from train.ppo import PPO, config_for


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


def main() -> None:
    """The command `python -m benchmarks.networks`."""
    harness.run_command("networks", harness.parse_arguments("networks", Arguments), measure_networks)


def measure_networks(arguments: Arguments) -> dict[str, Any]:
    """Returns the rows of every network on every game, and logs them as a table."""
    if min(arguments.boards, arguments.rollout_length, arguments.repeats) < 1:
        raise ValueError("boards, rollout_length and repeats must be positive")
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
    header = ["game", "network", "weights", "microseconds per step", "relative"]
    table = [
        [row["game"], row["network"], f"{row['weights']:,}", f"{row['microseconds']:.1f}", str(row["relative"])]
        for row in rows
    ]
    harness.log(harness.markdown_table(header, table))
    return {"networks": rows, **harness.stamp()}


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
    microseconds = round(1e6 / timing.steps_per_second, 2)
    return {"game": game, "network": network, "weights": weights, "microseconds": microseconds}


if __name__ == "__main__":
    main()
