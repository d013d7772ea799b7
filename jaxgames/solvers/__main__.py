"""Solves a game, and prints the table of its values.

    python -m jaxgames.solvers "chinese_checkers_diamond(size=4, pieces=3)" --output 43.npz
    python -m jaxgames.solvers 43.npz --check 1000000

The last line on standard output is JSON. It has the game, the value of its start for seat 0, the counts, the bytes of
the table, the seconds and the file. With --check it also has the numbers of checked and of wrong positions.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from jaxgames._named import IMPORT, IMPORT_HELP, import_modules
from jaxgames.registry import make
from jaxgames.solvers.exact.solution import load, solve
from jaxgames.solvers.exact.verify import count_errors

SUFFIX = ".unfinished"  # of the file that keeps the progress, beside the output


def main(arguments: list[str] | None = None) -> None:
    """The command `python -m jaxgames.solvers`."""
    parser = argparse.ArgumentParser(prog="python -m jaxgames.solvers", description="Solve a game exactly.")
    parser.add_argument("game", help="the game, as jaxgames.make takes it, or a file that --output has written")
    parser.add_argument("--output", type=Path, help="a file for the solution; it is replaced if it exists")
    parser.add_argument(
        "--check",
        type=int,
        default=0,
        metavar="N",
        help="derive the values of N random positions again from their moves, by the rules of the game",
    )
    parser.add_argument(IMPORT, metavar="MODULE", help=IMPORT_HELP)
    given, _ = import_modules("jaxgames.solvers", sys.argv[1:] if arguments is None else arguments)
    try:
        result = run(parser.parse_args(given))
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"jaxgames.solvers: {error}")
    print(json.dumps(result))


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Prints the report, and returns the result that the command prints as JSON. Raises ValueError if it cannot."""
    if arguments.check < 0:
        raise ValueError(f"--check must be 0 or the number of positions, not {arguments.check}")
    output: Path | None = arguments.output
    begin = time.perf_counter()
    if Path(arguments.game).is_file():
        solution = load(arguments.game)
    else:
        env = make(arguments.game)
        solution = solve(env, unfinished=None if output is None else output.with_name(output.name + SUFFIX))
    seconds = time.perf_counter() - begin
    print(solution.report())
    result = solution.facts() | {"bytes": solution.num_bytes, "seconds": round(seconds, 1)}
    if output is not None:
        solution.save(output)
        result["output"] = str(output)
    if arguments.check:
        result |= {"checked": arguments.check, "errors": count_errors(solution, arguments.check)}
        print(f"{result['errors']} of {arguments.check:,} random positions do not follow from their moves")
    return result


if __name__ == "__main__":
    main()
