"""A program that test_sharding.py runs in a process of its own, because the number of devices is fixed when JAX starts.

    python run_on_four_devices.py LEARNER CONFIG FOLDER ITERATIONS

Its findings go to FOLDER: found.json, first.npz and last.npz with the leaves of the train states after the first and
the last iteration, and metrics.npz with the metrics of all iterations.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from train.agents import learner_type
from train.driver.learner import Learner, data_of
from train.ops import sharding

COLLECTIVE = re.compile(r" = (\S+|\(.*?\)) (all-\w+|collective-\w+|reduce-scatter|ragged-\S+?)(?:-start)?\(")
SHAPE = re.compile(r"(\w+?)(\d+)?\[([\d,]*)\]")


def main(learner: Learner, folder: Path, iterations: int) -> None:
    mesh = sharding.mesh_for(4, learner.batch_sizes)
    train_state = learner.load(jax.jit(learner.init)(jax.random.key(learner.config.seed)))
    train_state = sharding.shard(train_state, mesh, learner.partition_specs)
    placed = sharding.shardings(mesh, (learner.partition_specs, sharding.REPLICATED))
    with jax.set_mesh(mesh):
        data = sharding.shard(data_of(learner), mesh, sharding.REPLICATED)
        iterate = jax.jit(learner.iterate, out_shardings=placed).lower(train_state, *data).compile()
    rows: list[dict[str, np.ndarray]] = []
    for _ in range(iterations):
        train_state, metrics = iterate(train_state, *data)
        rows.append(jax.device_get(metrics))
        if len(rows) == 1:
            np.savez(folder / "first.npz", *leaves_of(train_state, mesh))
    opponents = getattr(train_state, "opponents", None)
    replay = getattr(train_state, "replay", None)
    others = getattr(train_state, "others", None)
    boards, stats = getattr(train_state, "boards", None), getattr(train_state, "episode_stats", None)
    parts = (boards, stats, opponents and opponents.games, replay, others)
    divided = jax.tree.leaves(parts)
    shards_of_leaf = [leaf.addressable_shards for leaf in divided]
    found = {
        "boards_of_devices": sorted({shard.data.shape[0] for shards in shards_of_leaf for shard in shards}),
        "devices_of_boards": sorted({len({shard.device for shard in shards}) for shards in shards_of_leaf}),
        "collectives": sorted({(name, numbers(shape)) for shape, name in COLLECTIVE.findall(iterate.as_text() or "")}),
    }
    (folder / "found.json").write_text(json.dumps(found))
    np.savez(folder / "last.npz", *leaves_of(train_state, mesh))
    by_name: Any = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    np.savez(folder / "metrics.npz", **by_name)


def leaves_of(train_state: Any, mesh: jax.sharding.Mesh) -> list[np.ndarray]:
    """The arrays of a divided train state, on the host."""
    whole = sharding.replicate(train_state, mesh)
    return jax.tree.leaves(jax.device_get(whole._replace(key=jax.random.key_data(whole.key))))


def numbers(shape: str) -> int:
    """The number of elements of an HLO shape or of a tuple of shapes, such as (f32[8,2], pred[])."""
    return sum(int(np.prod([int(n) for n in dims.split(",") if n])) for _, _, dims in SHAPE.findall(shape))


if __name__ == "__main__":
    of_name = learner_type(sys.argv[1])
    main(of_name(of_name.config_type(**json.loads(sys.argv[2]))), Path(sys.argv[3]), int(sys.argv[4]))
