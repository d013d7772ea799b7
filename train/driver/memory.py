"""Refuses settings whose arrays are too large for the memory. It reads only shapes, before anything is compiled."""

import dataclasses
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params
from jax.sharding import Mesh

from train.driver.compilation import iteration_on
from train.driver.learner import Config, Learner, data_of
from train.ops.sharding import REPLICATED, is_key, shardings

MAX_ITERATIONS = 2**31 - 1  # a train state counts them with 32 bits
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # bytes, or "max"


def check_memory(learner: Learner, mesh: Mesh, counts: Mapping[str, int] | None = None) -> None:
    """Raises ValueError when the arrays that an iteration surely holds are larger than the memory of the devices.

    These are the train state, the data, and what the largest loop writes out, such as the steps of a rollout. Raises it
    also for more iterations than a train state can count.

    Args:
      mesh: the devices of the run, of all processes.
      counts: other numbers that can be reduced, by their names in the message.
    """
    if (iterations := learner.config.num_iterations) > MAX_ITERATIONS:
        raise ValueError(f"a run has at most {MAX_ITERATIONS:,} iterations, not {iterations:,}: reduce total_steps")
    init, key = on_mesh(learner.init, mesh, learner.partition_specs), jax.eval_shape(lambda: jax.random.key(0))
    data = jax.eval_shape(on_mesh(lambda data: data, mesh, REPLICATED), data_of(learner))
    arguments = jax.eval_shape(init, key), *data
    _check_arrays(learner.config, jax.tree.leaves(arguments), mesh.size, counts or {})
    try:
        with warnings.catch_warnings(action="ignore"), jax.set_mesh(mesh):  # of indices too large for 32 bits
            program = iteration_on(learner, mesh).trace(*arguments).jaxpr
    except OverflowError:
        largest = settings_in_shape(learner.config, None)[0]
        raise ValueError(f"a run with these settings has arrays that 32 bits cannot index: reduce {largest}") from None
    written = max(written_by_loops(program), key=lambda arrays: sum(map(num_bytes, arrays)), default=[])
    _check_arrays(learner.config, [*jax.tree.leaves(arguments), *written], mesh.size, counts or {})


def on_mesh(function: Callable[..., Any], mesh: Mesh, specs: Any) -> Any:
    """Returns the function under jit, with its result divided over the mesh by PartitionSpecs."""
    return jax.jit(function, out_shardings=shardings(mesh, specs))


def _check_arrays(config: Config, arrays: Sequence[Any], num_devices: int, counts: Mapping[str, int]) -> None:
    device = jax.local_devices()[0]
    # The CPU devices of a process share one memory; of other devices each has its own.
    units = jax.process_count() if device.platform == "cpu" else num_devices
    needed, available = sum(map(num_bytes, arrays)), units * memory_of(device)
    if needed > available:
        largest = max(arrays, key=num_bytes)
        shape = f"{largest.dtype}[{', '.join(f'{size:,}' for size in largest.shape)}]"
        named = [f"{name} = {count:,}" for name, count in counts.items() if count > 1]
        named += settings_in_shape(config, largest.shape)
        raise ValueError(
            f"a run with these settings needs at least {gigabytes(needed)} of memory; "
            f"there are {gigabytes(available)}. Its largest array is {shape}: "
            f"reduce {' or '.join(named) or 'the settings that this comes from'}"
        )


def written_by_loops(jaxpr: Any, devices: int = 1) -> Iterator[list[Any]]:
    """Yields for each loop of a traced program the arrays that it writes, which have a row per step of the loop.

    A loop in a part that is traced for one device writes them on all of its `devices`.
    """
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            yield [variable.aval for variable in equation.outvars[equation.params["num_carry"] :]] * devices
        of_inner = equation.params["mesh"].size if equation.primitive.name == "shard_map" else devices
        for inner in jaxprs_in_params(equation.params):
            yield from written_by_loops(inner, of_inner)


def settings_in_shape(config: Config, shape: tuple[int, ...] | None) -> list[str]:
    """Returns the settings whose values are dimensions of an array, the largest first; of any array for None."""
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    dimensions = [
        (size, name)
        for name, value in values.items()
        for size in (value if isinstance(value, tuple) else (value,))
        if type(size) is int and size > 1 and (shape is None or size in shape)
        if name not in ("total_steps", "seed")  # which are no dimensions
    ]
    return list(dict.fromkeys(f"{name} = {size:,}" for size, name in sorted(dimensions, reverse=True)))


def num_bytes(array: Any) -> int:
    """Returns the bytes of an array; a PRNG key counts as 8."""
    return math.prod(array.shape) * (8 if is_key(array) else array.dtype.itemsize)


def memory_of(device: Any) -> int:
    """Returns the bytes of memory of a device; for a CPU, of the machine or the container."""
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"]
    if not hasattr(os, "sysconf"):
        return 1 << 62  # unknown
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = CGROUP_LIMIT.read_text().strip() if CGROUP_LIMIT.exists() else "max"
    return min(physical, int(limit)) if limit.isdecimal() else physical


def gigabytes(count: int) -> str:
    """A number of bytes as an error writes it, such as "1.5 GB"."""
    return f"{count / 1e9:,.1f} GB"
