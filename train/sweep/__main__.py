"""The command `python -m train.sweep`."""

import sys
from collections.abc import Sequence
from typing import Any

from jaxgames._named import command_line
from train.driver import compilation
from train.driver.commands import print_result
from train.ops import sharding
from train.sweep.arguments import parse
from train.sweep.runs import run_sweep, sweep_of


def main() -> None:
    """The command `python -m train.sweep`."""
    with command_line("train.sweep", sys.argv[1:]) as given:
        result = print_result("train.sweep", lambda: run(given))
    sys.exit(0 if result["finished"] else 130)


def run(given: Sequence[str]) -> dict[str, Any]:
    """Trains the sweep of a command line. Returns its result."""
    arguments = parse(given)
    compilation.keep_programs()
    sharding.provide_cores(arguments.settings.devices)
    sweep = sweep_of(arguments.learner, arguments.values, arguments.seeds, arguments.seed)
    return run_sweep(sweep, arguments.settings, arguments.cells_at_once)


if __name__ == "__main__":
    main()
