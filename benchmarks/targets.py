"""Accelerators that programs are compiled for without having one: described to XLA, which then needs no driver.

    python -m pip install -e ".[train,search,aot]"      # in an environment of its own: `make compiled` makes one

A target's packages are installed or refused in words. Nothing runs on a described device: the optimised program is what
there is to look at, with its text and its memory.
"""

import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from jax.experimental import topologies

from benchmarks import harness

STORED = Path(__file__).with_name("compiled.json")  # what `benchmarks.compiled --write` stores
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"  # has tables of what is compiled
INSTALL = 'python -m pip install -e ".[train,search,aot]"'
H200 = """
gpu_device_info {
  cuda_compute_capability { major: 9 minor: 0 }
  core_count: 132
  fpus_per_core: 128
  clock_rate_ghz: 1.98
  threads_per_warp: 32
  threads_per_block_limit: 1024
  threads_per_core_limit: 2048
  registers_per_block_limit: 65536
  registers_per_core_limit: 65536
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: 232448
  shared_memory_per_core: 233472
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  l2_cache_size: 52428800
  memory_bandwidth: 4800000000000
  device_memory_size: 150000000000
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 patch: 0 }
device_description_str: "NVIDIA H200"
"""


class Target(NamedTuple):
    """An accelerator, by its maker's figures."""

    package: str  # compiles for it
    module: str  # of the package
    bandwidth: float  # of its memory, bytes per second
    operations: float  # of its vector units, 32 bits each, per second: units * clock
    kernel_microseconds: float  # assumed: from the start of a kernel to the start of the next, if it has no work


TARGETS = {
    "h200": Target("jax-cuda12-plugin", "jax_plugins.xla_cuda12", 4.8e12, 132 * 128 * 1.98e9, 2.0),
    "v5e": Target("libtpu", "libtpu", 0.819e12, 8 * 128 * 4 * 1.5e9, 0.5),
    "v6e": Target("libtpu", "libtpu", 1.64e12, 8 * 128 * 4 * 1.75e9, 0.5),
}


def check_targets(names: tuple[str, ...]) -> None:
    """Raises ValueError if a target is unknown, or if there is none."""
    harness.check_among("target", names, TARGETS)
    if not names:
        raise ValueError(f"target must name at least one of {', '.join(TARGETS)}")


def check_packages(names: tuple[str, ...]) -> None:
    """Raises ValueError, which says what to type, if the package that compiles for a target is missing."""
    for name in names:
        target = TARGETS[name]
        try:
            found = importlib.util.find_spec(target.module)
        except ModuleNotFoundError:  # jax_plugins itself
            found = None
        if found is None:
            raise ValueError(f"the target {name} needs the package {target.package}: type {INSTALL}")


def described_devices(target: str, chips: str = "") -> Any:
    """Returns the devices of a target as JAX describes them: one, or a TPU's slice of `chips`, such as "8x8"."""
    if target == "h200":
        described = topologies.get_topology_desc(
            platform="cuda", topology_name="", topology="1x1x1", target_config=H200
        )
        return described.devices
    described = topologies.get_topology_desc(platform="tpu", topology_name=f"{target}:{chips or '2x2'}")
    return described.devices if chips else described.devices[:1]


def timed(compile_program: Callable[[], Any]) -> tuple[Any, float]:
    """Returns the program that a function traces and compiles, and the seconds that it took."""
    start = time.perf_counter()
    compiled = compile_program()
    return compiled, time.perf_counter() - start


def read_stored(file: Path) -> dict[str, Any]:
    """The stored result of `benchmarks.compiled`; raises ValueError or OSError if there is none."""
    stored = json.loads(file.read_text())
    if not stored.get("rows"):
        raise ValueError(f"{file} holds no rows: name another --file, or remove it and renew it with --write")
    return stored
