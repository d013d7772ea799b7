"""Training on many devices: boards are divided over a mesh, and parameters are replicated on each device.

    mesh                            1-D; its one axis is "boards"
    boards and their statistics     SHARDED by their leading axis
    steps of a rollout              SHARDED_BY_BOARD, their second axis
    parameters, optimizer state     REPLICATED; gradients are summed over the devices

The program is the one for a single device; the compiler divides it by the shardings of its arguments, inside
`with jax.set_mesh(mesh)`. Without a hint, the compiler would gather rows that are sorted or indexed on
every device. `on_each_device` keeps such work local.
"""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

REPLICATED = PartitionSpec()
SHARDED = PartitionSpec("boards")  # by the leading axis
SHARDED_BY_BOARD = PartitionSpec(None, "boards")  # [rollout_length, num_envs, ...]

Tree = TypeVar("Tree")


def provide_cores(devices: int) -> None:
    """Makes cores of a CPU devices of JAX: `devices` of them, or all for 0. Call it before JAX starts.

    Later it only says that there are fewer devices. Other platforms keep their devices.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = min(devices or cores, cores)
    try:
        jax.config.update("jax_num_cpu_devices", wanted)
    except RuntimeError:  # JAX has started
        if jax.default_backend() == "cpu" and (count := jax.device_count()) < wanted:
            print(f"JAX has already started with {count} of {wanted} cores, so no others are used", file=sys.stderr)


def mesh_for(devices: int, divisible: Mapping[str, int]) -> Mesh:
    """Returns the mesh of the first `devices` devices; of all devices for 0.

    Raises ValueError if there are fewer, or if they do not divide one of the counts `divisible`, which have names.
    """
    if devices > (available := jax.device_count()):
        raise ValueError(f"devices must be at most {available}, the devices that JAX sees, not {devices}")
    check_divisible(divisible, devices or available)
    return Mesh(np.array(jax.devices()[: devices or None]), ("boards",), axis_types=(AxisType.Auto,))


def check_divisible(divisible: Mapping[str, int], devices: int) -> None:
    """Raises ValueError unless every count is a multiple of the number of devices."""
    for name, count in divisible.items():
        if count % devices:
            raise ValueError(f"{name} must be a multiple of the run's {devices} devices, not {count}")


def shardings(mesh: Mesh, specs: Tree) -> Tree:
    """Returns `specs`, a pytree of PartitionSpec, as shardings on the mesh."""
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)


def shard(tree: Tree, mesh: Mesh, specs: Any) -> Tree:
    """Returns a copy of the pytree, divided over the mesh by `specs`, a prefix of PartitionSpecs."""
    return jax.device_put(tree, shardings(mesh, specs), may_alias=False)  # an iteration takes the memory of its state


def is_key(leaf: Any) -> bool:
    """Returns whether a leaf is an array of PRNG keys."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def keys_to_data(tree: Tree) -> Tree:
    """Returns the pytree with its PRNG keys as uint32 words, which can be transferred to the host."""
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if is_key(leaf) else leaf, tree)


def data_to_keys(plain: Any, like: Tree) -> Tree:
    """Returns the pytree of which `keys_to_data` made `plain`; `like` has its dtypes."""
    return jax.tree.map(lambda leaf, like: jax.random.wrap_key_data(leaf) if is_key(like) else leaf, plain, like)


def on_each_device(function: Callable[..., Any], *parts: PartitionSpec, out: PartitionSpec) -> Callable[..., Any]:
    """Returns `function` such that every device of the mesh applies it to its own part of each argument.

    `parts` and `out` are the partitions of the arguments and of the result. The result for some rows must not depend on
    other rows. Without a mesh it returns `function` itself.
    """
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.size < 2 or mesh.are_all_axes_manual:  # no mesh, one device, or inside of `on_each_device`
        return function
    return jax.shard_map(function, in_specs=parts, out_specs=out, check_vma=False)
