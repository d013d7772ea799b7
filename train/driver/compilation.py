"""The program of an iteration: compiled once, refused if the memory is too small for it, and kept on disk.

Commands call `keep_programs`, functions of the library do not. The programs are in `.jax_cache` of the checkout, in a
folder for each kind of processor, because XLA compiles for the instructions that a processor has. JAX's own variables
come first: JAX_COMPILATION_CACHE_DIR names another folder, JAX_ENABLE_COMPILATION_CACHE=false switches it off.
"""

import os
import platform
import warnings
import zlib
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from train.driver.learner import Config, Learner, log
from train.ops.sharding import REPLICATED, shardings

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # bytes, or "max"
CONFIG: Any = jax.config  # its values have no types
PROGRAMS: dict[tuple[Learner, Mesh], Any] = {}  # compiled before there is a folder; a run removes its own at its end


def compiled_iteration(learner: Learner, mesh: Mesh) -> Any:
    """Returns `learner.iterate`, compiled once for train states on the mesh. It reuses the memory of its argument.

    Raises ValueError if it needs more memory than there is.
    """
    if (learner, mesh) in PROGRAMS:
        return PROGRAMS[learner, mesh]
    log("compiling (usually 10 to 60 s when the program is new) ...")
    of_state, of_others = shardings(mesh, (learner.partition_specs, REPLICATED))
    init = jax.jit(learner.init, out_shardings=of_state)
    place = jax.jit(lambda data: data, out_shardings=of_others)
    arguments = jax.eval_shape(init, jax.eval_shape(jax.random.key, 0)), *jax.eval_shape(place, learner.load_data())
    iterate = jax.jit(learner.iterate, donate_argnums=0, out_shardings=(of_state, of_others))
    try:
        with warnings.catch_warnings(action="ignore"), jax.set_mesh(mesh):  # of indices too large for 32 bits
            program = iterate.lower(*arguments).compile()
    except OverflowError:
        advice = largest_settings(learner.config)
        raise ValueError(f"a run with these settings has arrays that 32 bits cannot index: reduce {advice}") from None
    if (needed := memory_needed(program, mesh)) > (available := memory_of(jax.devices()[0])):
        raise ValueError(
            f"a run with these settings needs {needed / 1e9:,.1f} GB of memory; there are {available / 1e9:,.1f} GB: "
            f"reduce {largest_settings(learner.config)}"
        )
    PROGRAMS[learner, mesh] = program
    return program


def memory_needed(program: Any, mesh: Mesh) -> int:
    """Returns the bytes of memory that a compiled program needs on a device, on a CPU on all of them.

    It is 0 where the platform does not say it.
    """
    if (sizes := program.memory_analysis()) is None:
        return 0
    needed = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
    of_device = needed - sizes.alias_size_in_bytes  # an argument whose memory the output takes
    return of_device * (mesh.size if jax.default_backend() == "cpu" else 1)


def largest_settings(config: Config) -> str:
    """Returns the two largest settings that can be sizes of arrays, with their values."""
    sizes = [
        (size, name)
        for name, value in vars(config).items()
        for size in (value if isinstance(value, tuple) else (value,))
        if type(size) is int and name not in ("total_steps", "seed")
    ]
    return " or ".join(f"{name} = {size:,}" for size, name in sorted({*sizes}, reverse=True)[:2])


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
