"""The options of `python -m jaxgames.play` and `python -m train.play`, and what both do with them."""

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames._named import IMPORT, IMPORT_HELP, import_modules
from jaxgames.env import Env
from jaxgames.play.agent_calls import Make
from jaxgames.play.opponents import default_seats
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.terminal import Terminal, read_game


def add_options(parser: argparse.ArgumentParser, seats: str) -> None:
    """Adds the options to a parser; `seats` is the help of --seats."""
    parser.add_argument("--seats", help=seats)
    parser.add_argument("--seed", type=int, default=0, help="of the agents' choices (default: 0)")
    parser.add_argument("--terminal", action="store_true", help="play in the terminal; without it a page opens")
    parser.add_argument("--position", metavar="TEXT", help="start from a position, as the game writes it (terminal)")
    parser.add_argument("--load", type=Path, metavar="FILE", help="continue a saved game (terminal)")
    parser.add_argument("--port", type=int, default=0, help="of the page (default: any free one)")
    parser.add_argument(IMPORT, metavar="MODULE", help=IMPORT_HELP)
    parser.add_argument("--no-browser", action="store_true", help="only print the address of the page")


def play(env: Env[Any], seats: list[str], options: argparse.Namespace, make: Make) -> None:
    """Plays in the terminal, or serves the page until Ctrl-C.

    Raises ValueError for wrong options, ImportError if the page lacks a package.
    """
    if len(seats) != env.num_players:
        example = ",".join(default_seats(env))
        raise ParameterError(f"{env} has {env.num_players} seats: expected --seats {example}, not {','.join(seats)}")
    make = functools.cache(make)
    for text in dict.fromkeys(seats):
        if text != HUMAN:
            make(text, env)  # a wrong text ends the program before the game begins
    if options.terminal:
        Terminal(_session(env, seats, options), make=make).run()
        return
    if options.position is not None or options.load is not None:
        raise ParameterError("--position and --load need --terminal; the page has buttons for them")
    from jaxgames.play.web.server import serve

    serve(env, seats, seed=options.seed, make=make, port=options.port, open_browser=not options.no_browser)


def _session(env: Env[Any], seats: list[str], options: argparse.Namespace) -> Session:
    """Returns the session with which the terminal begins."""
    if options.load is None:
        state = None if options.position is None else env.from_string(options.position)
        return Session(env, seats, seed=options.seed, state=state)
    if options.position is not None:
        raise ParameterError("--position and --load exclude each other: a saved game has its own start")
    session = read_game(options.load)
    if session.env != env:
        raise ParameterError(f"{options.load} is a game of {session.env}, not of {env}")
    return session.with_seats(seats)


def run_command(
    program: str,
    parser: argparse.ArgumentParser,
    arguments: list[str] | None,
    run: Callable[[argparse.Namespace], None],
) -> None:
    """Runs a program with its arguments; it ends with the message of an expected error, and with status 130 at Ctrl-C.

    Args:
      arguments: None for those of the command line.
    """
    try:
        given, _ = import_modules(program, sys.argv[1:] if arguments is None else arguments)
        run(parser.parse_args(given))
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"{program}: {error}")
