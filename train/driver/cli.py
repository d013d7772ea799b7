"""The command line of a learner, `python -m train.<learner>`: parses settings and opens the run folder."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import tyro
from jax.sharding import Mesh

from jaxgames._named import IMPORT, IMPORT_LINE, command_line, import_options
from train.driver import compilation, loop
from train.driver.commands import print_result
from train.driver.learner import Learner, changes, command_of, log, settings_of
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder, check_new
from train.ops import sharding

MAX_ITERATIONS = 2**31 - 1  # a train state counts them with 32 bits


@dataclass(frozen=True)
class Arguments:
    """All arguments of the command: what the run learns (`config`), and how it is watched and stored (`settings`)."""

    config: tyro.conf.OmitArgPrefixes[Any]
    settings: tyro.conf.OmitArgPrefixes[Settings]
    preset: str | None = None
    """A named set of settings to start from instead of the game's recipe. An unknown name is refused with the list."""


@dataclass(frozen=True)
class ParsedFirst:
    """The arguments that determine the defaults of all others."""

    learner: str | None = None  # of a sweep
    env: str | None = None
    network: str | None = None
    preset: str | None = None
    init_from: str | None = None
    run_dir: Path | None = None
    resume: bool = False


def main(learner_type: type[Learner], settings: Settings | None = None) -> NoReturn:
    """The command of a learner, such as `python -m train.ppo`, with other default `settings` of storage and devices.

    It ends the program, with the message of an expected error.
    """
    program = command_of(learner_type)
    with command_line(program, sys.argv[1:]) as given:
        result = print_result(program, lambda: train(parse(learner_type, given, settings), learner_type))
    sys.exit(0 if result["finished"] else 130)


def train(arguments: Arguments, learner_type: type[Learner]) -> dict[str, Any]:
    """Trains the run of a command line. Returns its result, and logs the commands that use a finished run.

    The program of a new run is compiled before there is a folder.
    """
    compilation.keep_programs()
    settings, learner = arguments.settings, learner_type(learner_type.resolve(arguments.config))
    is_new = not is_stored(settings)
    mesh = check_start(learner, settings, is_new)
    if is_new:
        compilation.compiled_iteration(learner, mesh)
    run = create_or_resume(learner, settings)
    result = loop.run_training(run.learner, [run], settings)
    if result["finished"]:
        folder = shlex.quote(result["run_dir"])
        words = import_options() + [IMPORT, command_of(learner_type)] * (":" in result["learner"])
        modules = "".join(f" {word}" for word in words)
        log(f"next: python -m train.match {folder} greedy{modules}; python -m train.play {folder}{modules}")
    return result


def parse(learner_type: type[Learner], arguments: list[str], settings: Settings | None = None) -> Arguments:
    """Returns the parsed command line. Defaults: the settings of the stored run with --resume, else `config_for`."""
    first = parse_first(arguments)
    if first.resume and first.run_dir is None:
        raise ValueError("--resume needs the --run-dir of the run to continue")
    if first.run_dir is not None and is_stored(first):
        default = RunFolder.open(first.run_dir, learner_type).config
    else:
        names = ("env", "network", "preset", "init_from")
        given = {name: getattr(first, name) for name in names if getattr(first, name) is not None}
        default = learner_type.config_for(**given)
    return tyro.cli(
        Arguments,
        prog=f"python -m {command_of(learner_type)}",
        description=(sys.modules[learner_type.__module__].__doc__ or "").partition("\n")[0] + f"\n{IMPORT_LINE}",
        args=arguments,
        default=Arguments(default, settings or Settings(), preset=first.preset),
    )


def parse_first(arguments: Sequence[str]) -> ParsedFirst:
    """Returns the arguments on which the defaults depend; none if they are wrong, which the whole parser explains."""
    try:
        return tyro.cli(ParsedFirst, args=arguments, return_unknown_args=True, add_help=False, console_outputs=False)[0]
    except SystemExit:
        return ParsedFirst()


def is_stored(settings: Settings | ParsedFirst, file: str = "config.json") -> bool:
    """Returns whether a run is continued, whose folder has the file."""
    return settings.resume and settings.run_dir is not None and (settings.run_dir / file).exists()


def check_start(learner: Learner, settings: Settings, is_new: bool) -> Mesh:
    """Returns the devices of a run. Raises what would end it at its start, before its folder is made or changed."""
    if (iterations := learner.config.num_iterations) > MAX_ITERATIONS:
        raise ValueError(f"a run has at most {MAX_ITERATIONS:,} iterations, not {iterations:,}: reduce total_steps")
    mesh = sharding.mesh_for(settings.devices, learner.batch_sizes)
    loop.evaluation_opponent(learner, settings)
    if is_new:
        learner.check_load()
        if settings.run_dir is not None:
            check_new(settings.run_dir)
    if settings.tensorboard and find_spec("tensorboardX") is None:
        raise ValueError('tensorboardX is missing: pip install -e ".[train]", or add --no-tensorboard')
    return mesh


def create_or_resume(learner: Learner, settings: Settings) -> RunFolder:
    """Returns the locked run folder: a new one, or with `resume` the existing one."""
    config = learner.config
    folder = settings.run_dir or Path("runs") / f"{datetime.now():%Y-%m-%d_%H-%M-%S}"
    if not is_stored(settings):
        return RunFolder.create(folder, learner)
    run = RunFolder.open(folder, type(learner))
    if changed := changes(settings_of(run.config), settings_of(config), may_change=["total_steps"]):
        raise ValueError(f"{folder} was started with other settings: {'; '.join(changed)}; only total_steps may change")
    if config.total_steps < run.config.total_steps:
        raise ValueError(f"total_steps can only grow: {folder} was started with {run.config.total_steps}")
    run.lock()
    if config.total_steps > run.config.total_steps:
        run.extend_to(config.total_steps)
    return run
