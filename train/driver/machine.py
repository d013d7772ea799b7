"""The machine and the versions of a measurement."""

import datetime
import os
import platform
import resource
import subprocess
from pathlib import Path
from typing import Any

import jax

import jaxgames


def stamp() -> dict[str, Any]:
    """The versions, the hardware and the date of a measurement.

    Different processors may share a name such as "AMD EPYC", so the family and the model follow it.
    """
    try:
        lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
        core = {name.strip(): value.strip() for name, _, value in lines}
        processor = f"{core['model name']} (family {core['cpu family']}, model {core['model']})"
    except (OSError, KeyError):
        processor = platform.processor()
    return {
        "date": datetime.date.today().isoformat(),
        "jaxgames": jaxgames.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "devices": [device.device_kind for device in jax.devices()],
        "processor": processor,
        "cores": os.cpu_count(),
    }


def commit() -> str | None:
    """Returns the commit of the repository that this file is in; None for an installed package."""
    git = ["git", "rev-parse", "HEAD"]
    try:
        result = subprocess.run(git, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()


def children_cpu_seconds() -> float:
    """Returns the user and system seconds of all processes that this one started and that have ended."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
