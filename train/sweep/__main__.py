"""The command `python -m train.sweep`."""

import json
import sys
from collections.abc import Sequence
from typing import NoReturn

from jaxgames._named import command_line
from train.driver import compilation
from train.ops import sharding
from train.sweep.arguments import parse
from train.sweep.runs import run_sweep, sweep_of


def main() -> None:
    """The command `python -m train.sweep`."""
    with command_line("train.sweep", sys.argv[1:]) as given:
        run(given)


def run(given: Sequence[str]) -> NoReturn:
    """Trains the sweep of a command line, and ends the program, with the message of an expected error."""
    try:
        arguments = parse(given)
        compilation.keep_programs()
        sharding.provide_cores(arguments.settings.devices)
        sweep = sweep_of(arguments.learner, arguments.values, arguments.seeds, arguments.seed)
        result = run_sweep(sweep, arguments.settings, arguments.cells_at_once)
    except KeyboardInterrupt:  # before the first iteration, or a second time
        print("train.sweep: interrupted", file=sys.stderr)
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"train.sweep: {error}")
    print(json.dumps(result))
    sys.exit(0 if result["finished"] else 130)


if __name__ == "__main__":
    main()
