"""Accelerators that programs are compiled for without having one: described to XLA, which then needs no driver.

    python -m pip install -e ".[train,search,aot]"      # in an environment of its own: `make compiled` makes one

A target's packages are installed or refused in words. Nothing runs on a described device: the optimised program is what
there is to look at, with its text and its memory.
"""

import importlib.util
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jax.experimental import topologies

from benchmarks import harness
from train.driver.machine import stamp

MAX_GROWTH = 0.1  # of a stored figure, before --check fails
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
    """An accelerator."""

    package: str  # compiles for it
    module: str  # of the package


TARGETS = {
    "h200": Target("jax-cuda12-plugin", "jax_plugins.xla_cuda12"),
    "v5e": Target("libtpu", "libtpu"),
    "v6e": Target("libtpu", "libtpu"),
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


def versions() -> dict[str, Any]:
    """The stamp of a result: the versions of the compilers decide the figures, the machine only the seconds."""
    return stamp() | {each.package: harness.package_version(each.package) for each in TARGETS.values()}


def compiler(target: str) -> str:
    """The package that compiles for a target, with its version."""
    return f"{TARGETS[target].package} {harness.package_version(TARGETS[target].package)}"


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


# -- stored rows, by the names of their key ---------------------------------------------------------------


def by_key(rows: Iterable[dict[str, Any]], key: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[name] for name in key): row for row in rows}


def differences(stored: Mapping[str, Any], result: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The names of settings and versions that differ."""
    return [name for name in names if stored.get(name) != result[name]]


def merged(
    file: Path, stored: Mapping[str, Any], result: dict[str, Any], key: Sequence[str], decisive: Sequence[str]
) -> dict[str, Any]:
    """Returns the result with those rows of `stored` too that are not among its own, sorted by key.

    Raises ValueError if rows would stay and a setting or version of `decisive` differs.
    """
    kept, new = by_key(stored.get("rows", ()), key), by_key(result["rows"], key)
    if kept.keys() - new.keys() and (different := differences(stored, result, decisive)):
        raise ValueError(f"{file} has rows of other {', '.join(different)}: write all rows, or another --file")
    rows = kept | new
    return result | {"rows": [rows[each] for each in sorted(rows)]}


def read_for(arguments: Any, key: Sequence[str], wanted: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    """Returns the stored result that the arguments `write` or `check` need; empty if there is none to keep.

    Raises ValueError if both are set, or if a row of `wanted` is missing that `check` compares with.
    """
    if arguments.write and arguments.check:
        raise ValueError("write renews the rows that check compares with: type one of them")
    needed = arguments.check or (arguments.write and arguments.file.exists())
    stored = read_stored(arguments.file) if needed else {}
    missing = [each for each in wanted if arguments.check and each not in by_key(stored["rows"], key)]
    if missing:
        raise ValueError(f"{arguments.file} has no row of {', '.join(map(str, missing[0]))}: renew it with --write")
    return stored


def grown(
    stored: Iterable[dict[str, Any]], rows: Iterable[dict[str, Any]], key: Sequence[str], figures: Mapping[str, str]
) -> list[str]:
    """Returns one text per figure that is more than a tenth above its stored one; `figures` are names and words."""
    before = by_key(stored, key)
    return [
        f"{', '.join(map(str, each))}: {row[name]:,.0f} {word}, stored {before[each][name] or 0:,.0f}"
        for each, row in by_key(rows, key).items()
        for name, word in figures.items()
        if (row[name] or 0) > (1 + MAX_GROWTH) * (before[each][name] or 0)
    ]


def growth_failure(result: dict[str, Any]) -> str | None:
    grown = result["grown"]
    return f"grew by more than {MAX_GROWTH:.0%}:\n  " + "\n  ".join(grown) if grown else None
