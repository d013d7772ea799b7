"""The command `python -m train.sweep`: a flag with one or more values for every setting of the learner."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

import tyro

from jaxgames._named import IMPORT_LINE, command_line
from jaxgames._specs import split_list
from train.agents import learner_type
from train.driver import compilation
from train.driver.cli import is_stored, parse_first
from train.driver.commands import print_result
from train.driver.learner import format_setting
from train.driver.loop import Settings
from train.driver.run_folder import SWEEP_FILE
from train.ops import sharding
from train.sweep.runs import run_sweep, sweep_of


@dataclass(frozen=True)
class Arguments:
    """All arguments of the command."""

    values: tyro.conf.OmitArgPrefixes[Any]
    """Settings of learning, with one or more values each. A value that is a list has commas: 64,64. A setting without
    a value is as in the game's recipe."""
    settings: tyro.conf.OmitArgPrefixes[Settings]
    learner: str = "ppo"
    """The learner, by the name of its command, train.<learner>; or one of your own, as module:Class."""
    seeds: int = 1
    """Runs of every combination of settings, with the seeds --seed, --seed + 1, ..."""
    seed: int = 0
    """The first seed."""


def parse(arguments: Sequence[str]) -> Arguments:
    """Returns the parsed command line, with a dict of tuples as `values`. Defaults: the stored sweep with --resume.

    Raises ValueError for an unknown learner, for a list that cannot be read, and for --resume without a folder.
    """
    first = parse_first(arguments)
    if first.resume and first.run_dir is None:
        raise ValueError("--resume needs the --run-dir of the sweep to continue")
    stored: dict[str, Any] = {}
    if first.run_dir is not None and is_stored(first, SWEEP_FILE):
        stored = json.loads((first.run_dir / SWEEP_FILE).read_bytes())
    learner = first.learner or stored.get("learner", "ppo")
    config_type = learner_type(learner).config_type
    lists = {name: kind for name, kind in get_type_hints(config_type).items() if get_origin(kind) is tuple}
    values = {
        name: tuple(map(format_setting, of_name)) if name in lists else tuple(of_name)
        for name, of_name in stored.get("values", {}).items()
    }
    parsed = tyro.cli(
        Arguments,
        prog="python -m train.sweep",
        description="Train a table of settings, each with several seeds, in one program.\n" + IMPORT_LINE,
        args=arguments,
        default=Arguments(
            values_type_of(config_type)(**values),
            Settings(devices=0),
            learner,
            stored.get("seeds", 1),
            stored.get("seed", 0),
        ),
    )
    table = {
        name: tuple(to_list(text, lists[name], name) for text in texts) if name in lists else texts
        for name, texts in vars(parsed.values).items()
        if texts
    }
    return dataclasses.replace(parsed, learner=learner, values=table)


def values_type_of(config_type: type[Any]) -> type[Any]:
    """Returns a dataclass with a tuple of values for each setting but the seed. A value that is a list is one text.

    It inherits of the settings, whose texts are the help of its flags.
    """
    fields: list[Any] = [("seed", tyro.conf.Suppress[None], None)]
    settings = {field.name for field in dataclasses.fields(config_type)} - {"seed"}
    for name, kind in get_type_hints(config_type).items():
        if name in settings:
            fields.append((name, tuple[str if get_origin(kind) is tuple else kind, ...], ()))
    members = {"__post_init__": lambda self: None}  # pyright: ignore[reportUnknownLambdaType]
    return dataclasses.make_dataclass("Values", fields, bases=(config_type,), namespace=members, frozen=True)


def to_list(text: str, kind: Any, name: str) -> tuple[Any, ...]:
    """Returns a value such as "64,64" as a tuple, the reverse of `format_setting`; "" is the empty one.

    Raises ValueError, with the name of the setting, if an entry has another type.
    """
    entry = get_args(kind)[0]
    try:
        return tuple(entry(part) for part in split_list(text)) if text.strip() else ()
    except ValueError:
        raise ValueError(f"a value of {name} must be a list of {entry.__name__} such as 64,64, not {text!r}") from None


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
    return run_sweep(sweep, arguments.settings)


if __name__ == "__main__":
    main()
