"""The steps per second that many accelerators could make of random play, on paper, from benchmarks/compiled.json.

    python -m benchmarks.compiled footprint            # 8 H200 and 256 chips of a TPU v5e

Nothing is compiled or run. Random play sends nothing between devices, so n devices make n times the steps of one. Three
limits hold for one device with `boards` boards, of which the lowest is its speed:

    by kernels       boards / (kernels of a step * microseconds per kernel)
    by bytes         bandwidth of the memory / bytes of a step of one board
    by operations    operations of the vector units per second / operations of a step of one board

Assumptions: a kernel starts the given time after the one before it, if it has no work; memory and vector units reach
their makers' figures, in full; an operation takes one lane one cycle; products of matrices, which have units of their
own, take no time. So a figure is a bound, and `benchmarks/hlo.py` names what its bytes are.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.targets import STORED, TARGETS, read_stored

TABLE = {
    "devices": "{devices} x {target}",
    "game": "`{game}`",
    "by kernels": "{by_kernels:,.0f} M",
    "by bytes": "{by_bytes:,.0f} M",
    "by operations": "{by_operations:,.0f} M",
    "steps/s": "{millions:,.0f} M",
    "limited by": "{limit}",
}


@dataclass(frozen=True)
class FootprintArguments(harness.BenchmarkArguments):
    h200: int = 8
    """Devices of that kind; 0 leaves them out."""
    v5e: int = 256
    """Chips."""
    v6e: int = 0
    """Chips."""
    boards: int = 65536
    """Boards of each device."""
    gpu_microseconds: float = TARGETS["h200"].kernel_microseconds
    """Assumed time from the start of a kernel to the start of the next one on a GPU. 2 to 4 where the host starts each
    kernel, about 1 where a recorded graph does."""
    tpu_microseconds: float = TARGETS["v5e"].kernel_microseconds
    """The same on a TPU, whose operations belong to one program."""
    file: Path = STORED
    """The file of stored rows."""


def compute_footprint(arguments: FootprintArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "boards", "gpu_microseconds", "tpu_microseconds")
    counts = {name: getattr(arguments, name) for name in TARGETS if getattr(arguments, name)}
    if min(counts.values(), default=0) < 1:
        raise ValueError(
            f"the numbers of devices must be positive, or 0 for none, and not all 0: {counts or 'all are 0'}"
        )
    stored = read_stored(arguments.file)
    rows = footprint(stored, counts, arguments)
    used = ", ".join(
        f"{name}: {TARGETS[name].bandwidth / 1e9:,.0f} GB/s, {TARGETS[name].operations / 1e12:.1f} T operations/s"
        for name in counts
    )
    harness.log(
        f"{arguments.boards:,} boards on each device; assumed {arguments.gpu_microseconds:g} us per kernel of a GPU, "
        f"{arguments.tpu_microseconds:g} us of a TPU; {used}"
    )
    harness.log(harness.table(TABLE, rows))
    settings = dataclasses.asdict(dataclasses.replace(arguments, output=None)) | {"file": str(arguments.file)}
    return settings | {"rows": rows, "date": stored.get("date"), "jax": stored.get("jax")}


def footprint(stored: dict[str, Any], counts: dict[str, int], arguments: FootprintArguments) -> list[dict[str, Any]]:
    """Returns the limits of every stored game on `counts[target]` devices of each target."""
    return [
        limits(row, stored["operations"].get(target, {}).get(row["game"]), devices, arguments)
        for target, devices in counts.items()
        for row in stored["rows"]
        if row["target"] == target and row["part"] == "random play"
    ]


def page_table(stored: dict[str, Any]) -> str:
    """Returns the table of the docs in Markdown, with the numbers of devices that the command has as its defaults."""
    arguments = FootprintArguments()
    return harness.table(TABLE, footprint(stored, {"h200": arguments.h200, "v5e": arguments.v5e}, arguments))


def limits(
    row: dict[str, Any], operations: float | None, devices: int, arguments: FootprintArguments
) -> dict[str, Any]:
    """Returns the limits of `devices` devices, in millions of steps per second, for a stored row of random play."""
    target = TARGETS[row["target"]]
    microseconds = arguments.gpu_microseconds if row["target"] == "h200" else arguments.tpu_microseconds
    found = {
        "kernels": devices * arguments.boards / (row["kernels"] * microseconds),
        "bytes": devices * target.bandwidth / row["bytes_per_board"] / 1e6,
    }
    if operations is not None:
        found["operations"] = devices * target.operations / operations / 1e6
    limit = min(found, key=lambda name: found[name])
    return {
        "target": row["target"],
        "devices": devices,
        "game": row["game"],
        **{f"by_{name}": speed for name, speed in found.items()},
        "millions": found[limit],
        "limit": limit,
    }
