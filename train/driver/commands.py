"""Shared by the commands: settings of games, games with progress, results as text and JSON, the machine of a result."""

import datetime
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import jax
import tyro

import jaxgames
from jaxgames import Env, arena
from jaxgames._named import IMPORT_LINE, command_line
from jaxgames._progress import Progress
from jaxgames.agents import Agent
from train.bounds import between, check_values
from train.driver import compilation

MAX_GAMES = 10_000_000
MAX_OPENINGS = 1_000_000
MAX_SEED = 2**32 - 1
Seed = Annotated[int, between(0, MAX_SEED)]
OPENINGS_KEY = 1  # is folded into the key of the seed

ArgumentsT = TypeVar("ArgumentsT")
ItemT = TypeVar("ItemT")


def progress_over(items: Iterable[ItemT], unit: str, title: str = "") -> Generator[ItemT]:
    """Yields the items with the progress over them; `unit` is what they are, in the plural."""
    listed = list(items)
    with Progress(len(listed), unit, title) as bar:
        for item in listed:
            yield item
            bar.update()


@dataclass(frozen=True, kw_only=True)
class GameArguments:
    """The settings of every command that plays games between agents."""

    env: str | None = None
    """The game, as `jaxgames.make` takes it. If not given, the game of the first run."""
    games: Annotated[int, between(1, MAX_GAMES)] = 1000
    """Games to play; with several opponents, against each of them."""
    openings: Annotated[int | None, between(0, MAX_OPENINGS)] = None
    """Length of the list of random openings with which the games begin, in turn. If not given, or 0: all games begin
    at the start."""
    opening_plies: Annotated[int, between(0, arena.MAX_PLIES)] = 4
    """The largest number of random plies in an opening."""
    opening_list: str | None = None
    """Openings of a fixed list instead of random plies: a file with the moves of one opening per line, or ballots,
    the three-move ballots of checkers. With --openings N, N of them are drawn; else all are played in their order."""
    output: Path | None = None
    """A file for the games, one line of JSON per game. It is replaced if it exists."""
    temperature: float | None = None
    """For runs without a temperature in brackets. 1 samples from the policy, 0 plays greedily. If not given, it is each
    run's own setting. Agents that all play greedily repeat the games of the same seats and opening: add --openings."""
    seed: Seed = 0
    """Seed of the games; the same seed gives the same games."""

    def check(self) -> None:
        """Raises ValueError for a number that the commands refuse."""
        check_values(vars(self), type(self))

    def openings_for(self, env: Env[Any], games_each: int) -> arena.Openings | None:
        """Returns an opening for every game, each one for `games_each` games in a row; None without openings.

        Where seats alternate, as many games as the game has seats give each agent every opening on all of its seats.
        """
        key = jax.random.fold_in(jax.random.key(self.seed), OPENINGS_KEY)
        if self.opening_list is not None:
            book = arena.load_openings(env, self.opening_list)
            book = book.drawn(key, self.openings) if self.openings else book
        elif not self.openings:
            return None
        else:
            book = arena.random_openings(env, key, self.openings, self.opening_plies)
        return book.for_games(self.games, games_each)


def game_file(path: Path | None) -> AbstractContextManager[arena.GameFile | None]:
    """Returns a file for games, to be used in `with`; None there if there is no path."""
    return nullcontext() if path is None else arena.GameFile(path)


def play_games(
    env: Env[Any],
    agents: Sequence[Agent],
    names: Sequence[str],
    agent_of_seat: jax.Array,
    key: jax.Array,
    openings: arena.Openings | None,
    file: arena.GameFile | None,
) -> arena.Games:
    """Returns the games of `arena.play`, with their progress; writes them to `file`, if there is one."""
    num_games = len(agent_of_seat)
    writes_last = file is not None and all(agent.on_device for agent in agents)  # otherwise after every game
    with (
        Progress(num_games, "games", " - ".join(names)) as bar,
        Progress(num_games, "games", "writing", shown=writes_last) as writing,
    ):
        recorder = None
        if file is not None:
            recorder = file.recorder(env, names, agent_of_seat, openings, on_written=writing.update)
        return arena.play(
            env, agents, agent_of_seat, key, openings=openings, on_finished=bar.update, on_recorded=recorder
        )


def text_of_rate(rate: float, interval: Sequence[float]) -> str:
    """Returns a rate with its interval as in tables, such as "0.913 (0.881-0.936)"."""
    low, high = interval
    return f"{rate:.3f} ({low:.3f}-{high:.3f})"


def text_of_score(score: float, games: int) -> str:
    """Returns a score, in which a draw is half a point, with Wilson's interval: too wide where games are drawn."""
    return text_of_rate(score, arena.wilson(score * games, games))


def format_interval(interval: Sequence[float]) -> str:
    """Returns an interval of a rate in percent, such as "79-89 %"; a narrow one has decimals, such as "98.9-99.2 %"."""
    low, high = interval
    digits = 0 if high - low >= 0.01 else 1 if high - low >= 0.001 else 2
    return f"{100 * low:.{digits}f}-{100 * high:.{digits}f} %"


def run_command(
    program: str,
    arguments: type[ArgumentsT],
    compute: Callable[[ArgumentsT], Any],
    text: Callable[[Any], str] | None = None,
) -> None:
    """The command `python -m PROGRAM`: prints the result of `compute` for the arguments.

    It is printed as `text` returns it, for people, and then as one line of JSON. The help begins with the first line of
    the module of `arguments`. Errors end the program as in `print_result`.
    """
    description = (sys.modules[arguments.__module__].__doc__ or "").partition("\n")[0]
    with command_line(program, sys.argv[1:]) as given:
        description = f"{description}\n{IMPORT_LINE}"
        parsed = tyro.cli(arguments, prog=f"python -m {program}", description=description, args=given)
        compilation.keep_programs()
        print_result(program, lambda: compute(parsed), text)


def print_result(program: str, compute: Callable[[], Any], text: Callable[[Any], str] | None = None) -> Any:
    """Prints the result of `compute` as its `text`, if there is such a function, and as one line of JSON. Returns it.

    The program ends with the message of a ValueError or OSError, and with status 130 at Ctrl-C.
    """
    try:
        result = compute()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"{program}: {error}")
    if text is not None:
        print(text(result))
    print(json.dumps(result))
    return result


# -- the machine of a measurement --------------------------------------------------------------------------------------


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
