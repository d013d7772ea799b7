"""Functions that all benchmarks share: they time programs, name the machine, print tables and write results as JSON.

A file of this folder holds one command or several. A command is a dataclass of arguments and a function that measures:

    harness.run(
        Command("peers", Arguments, measure_peers),                      # python -m benchmarks.peers
        Command("peers adapters", AdaptersArguments, measure_adapters),  # python -m benchmarks.peers adapters
    )

Progress and tables go to standard error, the result to standard output as one line of JSON.
"""

import contextlib
import dataclasses
import importlib.metadata
import json
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import tyro
from matplotlib.figure import Figure

from train import plot

SPEED = "{steps_per_second:,.0f} ({spread:.0%})"  # the cell of a table: a median with its spread


def check_positive(arguments: object, *names: str) -> None:
    """Raises ValueError unless the arguments with these names, numbers or tuples, are above 0."""
    for name in names:
        value = getattr(arguments, name)
        if not all(number > 0 for number in (value if isinstance(value, tuple) else (value,))):
            raise ValueError(f"{name} must be positive, not {value}")


# -- time -------------------------------------------------------------------------------------------------


class Timing(NamedTuple):
    """The result of timing one program."""

    steps_per_second: float  # median of the repeats
    spread: float  # (fastest - slowest) / median
    compile_seconds: float
    memory_bytes: int  # of the program: arguments, outputs and temporary arrays

    @property
    def microseconds(self) -> float:
        return 1e6 / self.steps_per_second  # of a step


def time_program(program: Callable[..., Any], arguments: tuple[Any, ...], steps: int, repeats: int) -> Timing:
    """Returns the speed of `program(key, *arguments)`, warmed up, over `repeats` calls with a new key each.

    The program is traceable, and makes `steps` environment steps in a call.
    """
    ((timing, _),) = time_in_turns([Timed(program, arguments, steps)], repeats)
    return timing


class Turns(NamedTuple):
    """The result of timing one of several programs that took turns."""

    timing: Timing
    speeds: list[float]  # steps per second in each round


class Timed(NamedTuple):
    """A program to be timed; the arguments are those of `time_program`."""

    program: Callable[..., Any]
    arguments: tuple[Any, ...]
    steps: int


class Compiled(NamedTuple):
    """A program that is compiled, and has not run."""

    run: Any
    timed: Timed
    seconds: float  # of tracing and compiling


def time_in_turns(programs: Sequence[Timed], rounds: int) -> list[Turns]:
    """Returns the speeds of programs that are called one after the other, so that a slow minute slows all of them."""
    return time_compiled([compile_program(timed) for timed in programs], rounds)


def compile_program(timed: Timed) -> Compiled:
    start = time.perf_counter()
    run = jax.jit(timed.program).lower(jax.random.key(1), *timed.arguments).compile()
    return Compiled(run, timed, time.perf_counter() - start)


def time_compiled(programs: Sequence[Compiled], rounds: int) -> list[Turns]:
    """The second half of `time_in_turns`; each program is warmed up by one call."""
    keys = jax.random.split(jax.random.key(1), rounds + 1)
    for run, timed, _ in programs:
        jax.block_until_ready(run(keys[0], *timed.arguments))
    speeds: list[list[float]] = [[] for _ in programs]
    for key in keys[1:]:
        for (run, timed, _), of_program in zip(programs, speeds, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(run(key, *timed.arguments))
            of_program.append(timed.steps / (time.perf_counter() - start))
    return [
        Turns(Timing(*median_and_spread(of_program), seconds, memory_of(run)), of_program)
        for (run, _, seconds), of_program in zip(programs, speeds, strict=True)
    ]


def memory_of(compiled: Any) -> int:
    """The bytes of a compiled program: arguments, outputs and temporary arrays."""
    memory = compiled.memory_analysis()
    return memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes


def median_and_spread(speeds: Sequence[float]) -> tuple[float, float]:
    """The median, and (largest - smallest) / median."""
    median = float(np.median(speeds))
    return median, (max(speeds) - min(speeds)) / median


# -- the machine ------------------------------------------------------------------------------------------


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def provide_devices(devices: int) -> None:
    """Gives JAX that many devices. On a CPU they are virtual, and must be requested before JAX starts.

    Raises ValueError if there are fewer.
    """
    if devices < 1:
        raise ValueError(f"devices must be positive, not {devices}")
    if devices > 1:
        with contextlib.suppress(RuntimeError):  # JAX has started already
            jax.config.update("jax_num_cpu_devices", min(devices, cores()))
    if devices > jax.device_count():
        raise ValueError(f"devices must be at most {jax.device_count()}, the number that JAX sees, not {devices}")


def keep_to_one_core() -> None:
    """Keeps this process to one core, so that CPU time is the time of the measured program alone.

    Call it before JAX starts: idle worker threads would otherwise count as CPU time.
    """
    jax.config.update("jax_platforms", "cpu")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def package_version(package: str) -> str | None:
    """The version of an installed package, with the commit that it was made from if one is known; None if missing."""
    try:
        found = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    commit = json.loads(found.read_text("direct_url.json") or "{}").get("vcs_info", {}).get("commit_id")
    return found.version + f" ({commit})" * (commit is not None)


# -- a command --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BenchmarkArguments:
    """Arguments of every command."""

    output: Path | None = None
    """A .json file for the result, or a folder, in which the file is named after the command and the game."""


class Command(NamedTuple):
    """A command, `python -m benchmarks.NAME`."""

    name: str  # the file and, for all but its first command, a second word, such as "peers adapters"
    arguments: type[Any]  # a subclass of BenchmarkArguments
    measure: Callable[[Any], dict[str, Any]]  # arguments -> result
    draw: Callable[[Any, dict[str, Any]], Figure] | None = None  # the picture for the argument `picture`
    failure: Callable[[dict[str, Any]], str | None] = lambda result: None  # result -> message; None for a success


def run(*commands: Command) -> None:
    """Runs the command whose second word begins the command line; without such a word, the first command."""
    words = sys.argv[1:]
    by_word = {command.name.partition(" ")[2]: command for command in commands}
    command = by_word.get(words[0]) if words else None
    words = words[1:] if command else words
    command = command or commands[0]
    description = sys.modules[command.arguments.__module__].__doc__
    prog = f"python -m benchmarks.{command.name}"
    run_command(command, tyro.cli(command.arguments, args=words, prog=prog, description=description))


def run_command(command: Command, arguments: Any) -> None:
    """Measures, writes the result to `arguments.output`, prints it, and draws its pictures.

    The program ends with the message of a ValueError, OSError or ImportError, or with the message of `command.failure`.
    """
    try:
        file = output_file(command.name, arguments)  # refused before anything is measured
        arguments = dataclasses.replace(arguments, output=file)
        result = command.measure(arguments)
        save(arguments, result)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"benchmarks.{command.name}: {error}")
    print(json.dumps(result))
    if command.draw is not None and arguments.picture is not None:
        plot.write(command.draw(arguments, result), arguments.picture)
    if message := command.failure(result):
        sys.exit(f"benchmarks.{command.name}: {message}")


def save(arguments: BenchmarkArguments, result: dict[str, Any]) -> None:
    """Writes the result to the file `arguments.output`. Called after every row, it keeps the rows before a failure."""
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


def output_file(command: str, arguments: BenchmarkArguments) -> Path | None:
    """The file for the result, in a folder that exists; raises OSError where the folder cannot be made."""
    file = arguments.output
    if file is not None and file.suffix != ".json":
        file /= re.sub(r"[^a-z0-9]+", "_", f"{command} {getattr(arguments, 'env', '')}").strip("_") + ".json"
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    return file


def check_among(name: str, words: Iterable[str], allowed: Collection[str]) -> None:
    """Raises ValueError, which lists the allowed words of an argument, if one of `words` is none of them."""
    unknown = [word for word in words if word not in allowed]
    if unknown:
        raise ValueError(f"{name} must be among {', '.join(allowed)}, not {', '.join(unknown)}")


# -- output -----------------------------------------------------------------------------------------------


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
