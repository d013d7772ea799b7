"""The program of an iteration: traced once, refused if the memory is too small for it, compiled, and kept on disk.

Commands call `keep_programs`, functions of the library do not. The programs are in `.jax_cache` of the checkout, in a
folder for each kind of processor, because XLA compiles for the instructions that a processor has. JAX's own variables
come first: JAX_COMPILATION_CACHE_DIR names another folder, JAX_ENABLE_COMPILATION_CACHE=false switches it off.
"""

import functools
import math
import os
import platform
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params
from jax.sharding import Mesh

from train.driver.learner import Config, Learner
from train.ops.sharding import REPLICATED, is_key, shardings

MAX_ITERATIONS = 2**31 - 1  # a train state counts them with 32 bits
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # bytes, or "max"
CONFIG: Any = jax.config  # its values have no types


@functools.lru_cache(maxsize=1)  # traced once: for the check of memory, and to be compiled
def iteration_on(learner: Learner, mesh: Mesh) -> Any:
    """Returns `learner.iterate` under jit, for train states on the mesh. It reuses the memory of its argument."""
    out = shardings(mesh, (learner.partition_specs, REPLICATED))
    return jax.jit(learner.iterate, donate_argnums=0, out_shardings=out)


def keep_programs(checkout: Path = Path(__file__).parents[2]) -> None:
    """Lets JAX read and write compiled programs in the checkout, unless it has a folder for them already."""
    if CONFIG.jax_compilation_cache_dir is not None or not CONFIG.jax_enable_compilation_cache:
        return
    folder = checkout / ".jax_cache" / processor()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a checkout that others share: every start compiles
        return
    if os.access(folder, os.W_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))


def processor() -> str:
    """Returns a name for processors of this kind: of the machine, and a checksum of its model and instructions."""
    cpuinfo = Path("/proc/cpuinfo")
    facts = {platform.processor()}
    if cpuinfo.exists():  # Linux
        wanted = ("model name", "flags", "CPU part", "Features")
        facts |= {line for line in cpuinfo.read_text(errors="replace").splitlines() if line.startswith(wanted)}
    return f"{platform.machine()}-{zlib.crc32('|'.join(sorted(facts)).encode()):08x}"


# -- memory ----------------------------------------------------------------------------------------------------------


def check_memory(learner: Learner, mesh: Mesh) -> None:
    """Raises ValueError when the arrays that an iteration surely holds are larger than the memory of the devices.

    `mesh` has the devices of the run, of all processes. A run with too many iterations is refused, too.
    """
    if (iterations := learner.config.num_iterations) > MAX_ITERATIONS:
        raise ValueError(f"a run has at most {MAX_ITERATIONS:,} iterations, not {iterations:,}: reduce total_steps")
    arrays, device = arrays_of(learner, mesh), jax.local_devices()[0]
    # The CPU devices of a process share one memory; of other devices each has its own.
    units = jax.process_count() if device.platform == "cpu" else mesh.size
    needed, available = sum(map(num_bytes, arrays)), units * memory_of(device)
    if needed > available:
        largest = max(arrays, key=num_bytes)
        named = settings_in_shape(learner.config, largest.shape) or ["the settings that this comes from"]
        raise ValueError(
            f"a run with these settings needs at least {needed / 1e9:,.1f} GB of memory; there are "
            f"{available / 1e9:,.1f} GB. Its largest array is {largest.dtype}{[*largest.shape]}: "
            f"reduce {' or '.join(named)}"
        )


def arrays_of(learner: Learner, mesh: Mesh) -> list[Any]:
    """Returns the shapes of the train state, the data, and what the largest loop of an iteration writes out.

    Raises ValueError for arrays that 32 bits cannot index.
    """
    init = jax.jit(learner.init, out_shardings=shardings(mesh, learner.partition_specs))
    place = jax.jit(lambda data: data, out_shardings=shardings(mesh, REPLICATED))
    arguments = jax.eval_shape(init, jax.eval_shape(jax.random.key, 0)), *jax.eval_shape(place, learner.load_data())
    try:
        with warnings.catch_warnings(action="ignore"), jax.set_mesh(mesh):  # of indices too large for 32 bits
            program = iteration_on(learner, mesh).trace(*arguments).jaxpr
    except OverflowError:
        largest = settings_in_shape(learner.config, None)[0]
        raise ValueError(f"a run with these settings has arrays that 32 bits cannot index: reduce {largest}") from None
    written = max(written_by_loops(program), key=lambda arrays: sum(map(num_bytes, arrays)), default=[])
    return [*jax.tree.leaves(arguments), *written]


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
    dimensions = [
        (size, name)
        for name, value in vars(config).items()
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
