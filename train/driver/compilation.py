"""The program of an iteration, and compiled programs that JAX keeps on disk for the next start.

Commands call `keep_programs`, functions of the library do not. The programs are in `.jax_cache` of the checkout, in a
folder for each kind of processor, because XLA compiles for the instructions that a processor has. JAX's own variables
come first: JAX_COMPILATION_CACHE_DIR names another folder, JAX_ENABLE_COMPILATION_CACHE=false switches it off.
"""

import functools
import os
import platform
import zlib
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from train.driver.learner import Learner
from train.ops import sharding

CONFIG: Any = jax.config  # its values have no types


@functools.lru_cache(maxsize=1)  # traced once: for the check of memory, and to be compiled
def iteration_on(learner: Learner, mesh: Mesh) -> Any:
    """Returns `learner.iterate` under jit, for train states on the mesh. It reuses the memory of its argument."""
    out = sharding.shardings(mesh, (learner.partition_specs, sharding.REPLICATED))
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
