"""The end of a command: its result as JSON on standard output, or its error in one line."""

import json
import sys
from collections.abc import Callable
from typing import Any


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
