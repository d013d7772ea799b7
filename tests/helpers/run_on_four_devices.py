"""A program that tests run in a process of its own, because the number of devices is fixed when JAX starts.

    python run_on_four_devices.py LEARNER CONFIG FOLDER ITERATIONS

It writes to FOLDER: found.json; last.npz with the leaves of the train state after the last iteration; and metrics.npz
with the metrics of all iterations.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from train.agents import learner_type
from train.driver.learner import Learner
from train.ops import sharding

COLLECTIVE = re.compile(r" = (\S+|\(.*?\)) (all-\w+|collective-\w+|reduce-scatter|ragged-\S+?)(?:-start)?\(")
SHAPE = re.compile(r"(\w+?)(\d+)?\[([\d,]*)\]")
WHOLE = {"params", "learning", "opt_state", "key", "iteration", "reference_params"}  # each device has a copy


def first_train_state(learner: Any) -> Any:
    """The train state before the first iteration; of a learner that searches, with random parameters.

    The first logits of a network are nearly equal. Then rounding would decide which action a search tries.
    """
    train_state = learner.load(jax.jit(learner.init)(jax.random.key(learner.config.seed)))
    if not hasattr(learner.config, "simulations"):
        return train_state
    rng = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: leaf + rng.normal(size=leaf.shape).astype(leaf.dtype), train_state.params)
    return learner.with_params(train_state, params)


def main(learner: Learner, folder: Path, iterations: int) -> None:
    mesh = sharding.mesh_for(4, learner.batch_sizes)
    train_state = sharding.shard(first_train_state(learner), mesh, learner.partition_specs)
    placed = sharding.shardings(mesh, (learner.partition_specs, sharding.REPLICATED))
    with jax.set_mesh(mesh):
        data = sharding.shard(learner.load_data(), mesh, sharding.REPLICATED)
        iterate = jax.jit(learner.iterate, out_shardings=placed).lower(train_state, *data).compile()
    rows: list[dict[str, np.ndarray]] = []
    for _ in range(iterations):
        train_state, metrics = iterate(train_state, *data)
        rows.append(jax.device_get(metrics))
    divided = [getattr(train_state, name) for name in train_state._fields if name not in {*WHOLE, "opponents"}]
    if hasattr(train_state, "opponents"):
        divided.append(train_state.opponents.games)
    shards_of_leaf = [leaf.addressable_shards for leaf in jax.tree.leaves(divided)]
    found = {
        "boards_of_devices": sorted({shard.data.shape[0] for shards in shards_of_leaf for shard in shards}),
        "devices_of_boards": sorted({len({shard.device for shard in shards}) for shards in shards_of_leaf}),
        "collectives": sorted({(name, numbers(shape)) for shape, name in COLLECTIVE.findall(iterate.as_text() or "")}),
    }
    (folder / "found.json").write_text(json.dumps(found))
    np.savez(folder / "last.npz", *jax.tree.leaves(jax.device_get(sharding.keys_to_data(train_state))))
    by_name: Any = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    np.savez(folder / "metrics.npz", **by_name)


def numbers(shape: str) -> int:
    """The number of elements of an HLO shape or of a tuple of shapes, such as (f32[8,2], pred[])."""
    return sum(int(np.prod([int(n) for n in dims.split(",") if n])) for _, _, dims in SHAPE.findall(shape))


if __name__ == "__main__":
    of_name = learner_type(sys.argv[1])
    main(of_name(of_name.config_type(**json.loads(sys.argv[2]))), Path(sys.argv[3]), int(sys.argv[4]))
