"""The command line of a learner, `python -m train.<learner>`: parses settings and opens the run folder."""

import dataclasses
import json
import shlex
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import jax
import tyro
from jax.sharding import Mesh

from jaxgames._named import IMPORT, IMPORT_LINE, command_line, import_options
from train.driver import compilation, loop, processes
from train.driver.learner import Learner, changes, command_of, settings_of
from train.driver.loop import Settings
from train.driver.processes import Processes, log
from train.driver.run_folder import RunFolder, check_new
from train.ops import sharding

MAX_ITERATIONS = 2**31 - 1  # a train state counts them with 32 bits
ConfigT = TypeVar("ConfigT")
KnownT = TypeVar("KnownT")


@dataclass(frozen=True)
class Arguments(Generic[ConfigT]):
    """All arguments of the command: what the run learns (`config`), and how it is watched and stored (`settings`)."""

    config: tyro.conf.OmitArgPrefixes[ConfigT]
    settings: tyro.conf.OmitArgPrefixes[Settings]
    processes: tyro.conf.OmitArgPrefixes[Processes] = dataclasses.field(default_factory=Processes)
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
        try:
            arguments = parse(learner_type, given, settings)
            if arguments.processes.are_many:
                processes.join(arguments.processes)
            else:
                compilation.keep_programs()  # of several processes, some would wait for others that compile
            learner, runs, settings = open_run(learner_type, arguments.config, arguments.settings)
            result = loop.run_training(learner, runs, settings)
            processes.leave()
        except KeyboardInterrupt:  # before the first iteration, or a second time
            processes.abandon(f"{program}: interrupted", 130)
            sys.exit(130)
        except (ValueError, OSError) as error:
            processes.abandon(f"{program}: {error}")
            sys.exit(f"{program}: {error}")
        except Exception:
            processes.abandon(traceback.format_exc())
            raise
        if runs:  # in process 0
            if result["finished"]:
                run = shlex.quote(result["run_dir"])
                words = import_options() + [IMPORT, program] * (":" in result["learner"])
                modules = "".join(f" {word}" for word in words)
                log(f"next: python -m train.match {run} greedy{modules}; python -m train.play {run}{modules}")
            print(json.dumps(result))
    sys.exit(0 if result["finished"] else 130)


def parse(learner_type: type[Learner], arguments: list[str], settings: Settings | None = None) -> Arguments[Any]:
    """Returns the parsed command line. Defaults: the settings of the stored run with --resume, else `config_for`."""
    first = parse_known(ParsedFirst, arguments)
    if first is None:
        first, default = ParsedFirst(), learner_type.config_type()
    elif first.resume and first.run_dir is None:
        raise ValueError("--resume needs the --run-dir of the run to continue")
    elif first.run_dir is not None and is_stored(first):
        default = RunFolder.open(first.run_dir, learner_type).config
    else:
        names = ("env", "network", "preset", "init_from")
        given = {name: getattr(first, name) for name in names if getattr(first, name) is not None}
        default = learner_type.config_for(**given)
    return tyro.cli(
        Arguments[learner_type.config_type],
        prog=f"python -m {command_of(learner_type)}",
        description=(sys.modules[learner_type.__module__].__doc__ or "").partition("\n")[0] + f"\n{IMPORT_LINE}",
        args=arguments,
        default=Arguments(default, settings or Settings(), preset=first.preset),
    )


def parse_known(kind: type[KnownT], arguments: Sequence[str]) -> KnownT | None:
    """Returns those arguments that `kind` has; None if they are wrong, which the whole parser explains."""
    try:
        return tyro.cli(kind, args=arguments, return_unknown_args=True, add_help=False, console_outputs=False)[0]
    except SystemExit:
        return None


def open_run(learner_type: type[Learner], config: Any, settings: Settings) -> tuple[Learner, list[RunFolder], Settings]:
    """Returns the run of this process, with process 0's settings. Only process 0 has the folder of the run.

    Errors of process 0 are raised in every process.
    """
    error, runs, sent = None, list[RunFolder](), dict[str, Any]()
    if processes.is_leader():
        try:
            learner = learner_type(learner_type.resolve(config))
            is_new = not is_stored(settings)
            mesh = check_start(learner, settings, is_new)
            if is_new and jax.process_count() == 1:  # of several processes, all compile it, with these settings
                compilation.compiled_iteration(learner, mesh)
            runs = [create_or_resume(learner, settings)]
            with_folder = dataclasses.asdict(settings) | {"run_dir": str(runs[0].folder)}
            sent = {"config": dataclasses.asdict(runs[0].config), "settings": with_folder}
        except (ValueError, OSError) as raised:
            error, sent = raised, {"error": str(raised)}
    sent = processes.broadcast_from_leader(sent)
    if "error" in sent:
        processes.leave()
        raise error or ValueError(sent["error"])
    learner = runs[0].learner if runs else learner_type(learner_type.config_type(**sent["config"]))
    return learner, runs, Settings(**sent["settings"] | {"run_dir": Path(sent["settings"]["run_dir"])})


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
