"""The bytes that PPO on many devices would hold and move, computed from the shapes of its arrays.

    python -m benchmarks.footprint --devices 64

Nothing is trained, compiled or sent. One row per game, with the network and the epochs of its recipe:

    parameters      numbers in the networks; every device has a copy of them and of Adam's two averages
    board           bytes of one board between two steps, with the statistics of its game
    step            bytes of one step of a rollout: observation, mask, action, rewards, the next board, ...
    held            bytes per device: its copy, its share of the boards, its share of the steps of an iteration
    summed          bytes of the gradients of an iteration: parameters * 4 * num_minibatches * update_epochs
    moved           bytes that a ring all-reduce of them sends from each device: 2 (n - 1) / n * summed
    all-reduces     ALL_REDUCES_PER_MINIBATCH * num_minibatches * update_epochs, one after the other
    seconds         moved / bandwidth + all-reduces * 2 (n - 1) * latency, per iteration

`held` is a lower bound: a program needs memory for activations and temporary arrays too. Bandwidth and latency are
assumptions, given as arguments. Collectives that send small arrays along a tree wait for fewer hops than a ring.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import PartitionSpec

from benchmarks import harness, random_play
from train.driver.memory import num_bytes
from train.ops import sharding
from train.ppo import PPO, Config, config_for

ALL_REDUCES_PER_MINIBATCH = 3  # mean and variance of the advantages, then the gradient with the mean losses
HEADER = ("game", "parameters", "board", "step", "held", "summed", "moved", "all-reduces", "seconds", "ns per step")


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = random_play.GAMES
    """Games with their parameters."""
    devices: int = 64
    """Devices of the run, over all processes."""
    boards: int = 1024
    """Boards of each device."""
    rollout_length: int = 64
    """Steps of each board in an iteration."""
    bandwidth: float = 25.0
    """Assumed GB/s that each device sends to the next one; 25 is a network of 200 Gbit/s per device."""
    latency: float = 5.0
    """Assumed microseconds from a device to the next one."""


def main() -> None:
    """The command `python -m benchmarks.footprint`."""
    harness.run_command("footprint", harness.parse_arguments("footprint", Arguments), compute_footprints)


def compute_footprints(arguments: Arguments) -> dict[str, Any]:
    """Returns the rows of all games, and logs them as a table."""
    for name in ("devices", "boards", "rollout_length", "bandwidth", "latency"):
        if not getattr(arguments, name) > 0:
            raise ValueError(f"{name} must be positive, not {getattr(arguments, name)}")
    rows: list[dict[str, Any]] = []
    for game in arguments.games:
        config = config_for(
            game, num_envs=arguments.boards * arguments.devices, rollout_length=arguments.rollout_length
        )
        rows.append(footprint(config, arguments.devices, arguments.bandwidth * 1e9, arguments.latency * 1e-6))
    harness.log(
        f"{arguments.devices} devices, {arguments.boards:,} boards on each, rollouts of {arguments.rollout_length} "
        f"steps; assumed {arguments.bandwidth:g} GB/s and {arguments.latency:g} us from a device to the next"
    )
    harness.log(harness.markdown_table(HEADER, map(cells, rows)))
    return dataclasses.asdict(arguments) | {"rows": rows}


def footprint(config: Config, devices: int, bandwidth: float, latency: float) -> dict[str, Any]:
    """Returns a row of the table as numbers.

    Args:
      config: settings of the whole run; its boards and minibatches must divide over the devices.
      devices: over all processes.
      bandwidth: bytes per second from a device to the next.
      latency: seconds from a device to the next.

    Raises:
      ValueError: the devices do not divide the boards or the minibatches.
    """
    learner = PPO(config)
    sharding.check_divisible(learner.batch_sizes, devices)
    train_state, steps = jax.eval_shape(learner.largest_arrays, jax.eval_shape(lambda: jax.random.key(0)))
    replicated, divided = bytes_by_partition(learner.partition_specs, train_state)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(train_state.params))
    rollout = bytes_of(steps)
    gradient_steps = config.num_minibatches * config.update_epochs
    summed = bytes_of(train_state.params) * gradient_steps
    hops = 2 * (devices - 1)
    moved = summed * hops / devices
    all_reduces = ALL_REDUCES_PER_MINIBATCH * gradient_steps
    seconds = moved / bandwidth + all_reduces * hops * latency
    return {
        "game": config.env,
        "parameters": parameters,
        "bytes_per_board": divided // config.num_envs,
        "bytes_per_step": rollout // config.steps_per_iteration,
        "steps_per_iteration": config.steps_per_iteration,
        "held_bytes": replicated + (divided + rollout) // devices,
        "summed_bytes": summed,
        "moved_bytes": round(moved),
        "all_reduces": all_reduces,
        "seconds": seconds,
        "seconds_per_step": seconds / config.steps_per_iteration,
    }


def bytes_by_partition(specs: Any, train_state: Any) -> tuple[int, int]:
    """Returns the bytes of the replicated and of the divided arrays; `specs` is a prefix of the train state."""
    counts = {sharding.REPLICATED: 0, sharding.SHARDED: 0}

    def count(spec: PartitionSpec, part: Any) -> None:
        counts[spec] += bytes_of(part)

    jax.tree.map(count, specs, train_state, is_leaf=lambda leaf: isinstance(leaf, PartitionSpec))
    return counts[sharding.REPLICATED], counts[sharding.SHARDED]


def bytes_of(tree: Any) -> int:
    """Returns the bytes of all arrays of a pytree."""
    return sum(map(num_bytes, jax.tree.leaves(tree)))


def cells(row: dict[str, Any]) -> list[str]:
    """Returns a row of the table as text."""
    return [
        f"`{row['game']}`",
        f"{row['parameters']:,}",
        f"{row['bytes_per_board']:,} B",
        f"{row['bytes_per_step']:,} B",
        f"{row['held_bytes'] / 1e6:,.0f} MB",
        f"{row['summed_bytes'] / 1e6:,.1f} MB",
        f"{row['moved_bytes'] / 1e6:,.1f} MB",
        f"{row['all_reduces']:,}",
        f"{row['seconds']:.3f}",
        f"{row['seconds_per_step'] * 1e9:.1f}",
    ]


if __name__ == "__main__":
    main()
