"""Shared by the commands on finished runs: the check of their arguments, and their result as JSON or an error."""

import json
import sys
from collections.abc import Callable
from typing import Any

MAX_GAMES = 10_000_000
MAX_SEED = 2**32 - 1


def check_games(games: int, seed: int) -> None:
    """Raises ValueError for a number of games or a seed that a command refuses."""
    if not 1 <= games <= MAX_GAMES:
        raise ValueError(f"games must be from 1 to {MAX_GAMES}, not {games}")
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed must be from 0 to {MAX_SEED}, not {seed}")


def print_result(program: str, compute: Callable[[], Any]) -> None:
    """Prints the result of `compute` as one line of JSON.

    The program ends with the message of a ValueError or OSError, and with status 130 at Ctrl-C.
    """
    try:
        result = compute()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"{program}: {error}")
    print(json.dumps(result))
