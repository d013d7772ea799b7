"""Many devices: boards and what comes of them are divided over a mesh, the parameters are a copy on each device.

    mesh                    1-D, its one axis is "boards"; `with jax.set_mesh(mesh)` where `Learner.iterate` is compiled
    boards, tally, steps    divided by boards
    parameters, optimizer   copied; the devices' parts of a gradient are added up

The program is that of one device, and the compiler divides it by the shardings of what it is given. Rows that are
sorted or gathered it would bring together on every device; `on_each_device` says where each can do with its own.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from train.ppo import Config, Runner

COPIED = PartitionSpec()
DIVIDED = PartitionSpec("boards")  # by the leading axis
BY_BOARD = PartitionSpec(None, "boards")  # [rollout_length, num_boards]


def mesh_for(config: "Config", devices: int) -> Mesh:
    """The first `devices` devices of every process, all for 0; raises ValueError where a run cannot be so divided."""
    of_process = [jax.local_devices(process) for process in range(jax.process_count())]  # as many of each
    if devices > len(of_process[0]):
        raise ValueError(f"devices must be at most {len(of_process[0])}, the devices that JAX sees, not {devices}")
    chosen = [device for own in of_process for device in own[: devices or None]]
    check(config, len(chosen))
    return Mesh(np.array(chosen), ("boards",))


def check(config: "Config", devices: int) -> None:
    """Raises ValueError unless the run can be divided over so many devices."""
    for name, count in (("num_boards", config.num_boards), ("the steps of a minibatch", config.minibatch_size)):
        if count % devices:
            raise ValueError(f"{name} must be a multiple of the run's {devices} devices, not {count}")


def shardings(mesh: Mesh, like: type["Runner"]) -> "Runner":
    """Of each part of a runner."""
    copied, divided = NamedSharding(mesh, COPIED), NamedSharding(mesh, DIVIDED)
    parts: Any = {name: divided if name in ("boards", "tally") else copied for name in like._fields}
    return like(**parts)


def spread(runner: "Runner", mesh: Mesh) -> "Runner":
    """Process 0's runner, which lies on one device there, over the devices of the mesh."""
    plain = multihost_utils.broadcast_one_to_all(jax.device_get(_without_key(runner)))
    with jax.set_mesh(mesh):
        return jax.jit(_with_key, out_shardings=shardings(mesh, type(runner)))(plain)


def gathered(runner: "Runner") -> "Runner":
    """The whole runner on the first device of each process."""
    whole = jax.jit(_without_key, out_shardings=NamedSharding(runner.key.sharding.mesh, COPIED))(runner)  # pyright: ignore[reportAttributeAccessIssue]  # spread's
    return _with_key(here(whole))


def here(copied: Any) -> Any:
    """The first device's copy of what every device has."""
    return jax.tree.map(lambda leaf: leaf.addressable_data(0), copied)


def _with_key(plain: "Runner") -> "Runner":
    return plain._replace(key=jax.random.wrap_key_data(plain.key))


def _without_key(runner: "Runner") -> "Runner":
    return runner._replace(key=jax.random.key_data(runner.key))


def on_each_device(function: Callable[..., Any], *parts: PartitionSpec, out: PartitionSpec) -> Callable[..., Any]:
    """`function`, applied by every device of the mesh to its own part of each argument; without a mesh, itself.

    Args:
      function: what it makes of some rows does not depend on the others.
      *parts: how each argument lies: COPIED, DIVIDED or BY_BOARD.
      out: how what it returns lies.
    """
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.size < 2 or mesh.are_all_axes_manual:  # no mesh, one device, or on one device's part already
        return function
    return jax.shard_map(function, in_specs=parts, out_specs=out, check_vma=False)
