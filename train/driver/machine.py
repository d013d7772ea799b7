"""The machine and the versions of a measurement."""

import datetime
import os
import platform
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
