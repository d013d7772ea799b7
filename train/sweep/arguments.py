"""The command line of `train.sweep`: a flag with one or more values for every setting of the learner."""

import ast
import dataclasses
import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import tyro

from jaxgames._named import IMPORT_LINE
from jaxgames._specs import split_list
from train.agents import learner_type
from train.driver.cli import parse_known
from train.driver.loop import Settings
from train.driver.run_folder import SWEEP_FILE
from train.driver.stored_config import format_setting


@dataclass(frozen=True)
class SweepSettings(Settings):
    """Settings of storage, evaluation and devices. They do not change what is learned."""

    # Settings of several processes are not options, because a sweep runs in one.
    processes: tyro.conf.Suppress[int] = 1
    process_id: tyro.conf.Suppress[int] = 0
    coordinator: tyro.conf.Suppress[str | None] = None
    distributed: tyro.conf.Suppress[bool] = False
    join_timeout: tyro.conf.Suppress[int] = 300


OPTIONS_OF_PROCESSES = {f"--{name.replace('_', '-')}" for name in SweepSettings.__annotations__}


@dataclass(frozen=True)
class Arguments:
    """All arguments of the command."""

    values: tyro.conf.OmitArgPrefixes[Any]
    """Settings of learning, with one or more values each. A setting without one is as in the game's recipe."""
    settings: tyro.conf.OmitArgPrefixes[SweepSettings]
    learner: str = "ppo"
    """The learner, by the name of its command, train.<learner>; or one of your own, as module:Class."""
    seeds: int = 1
    """Runs of every combination of settings, with the seeds --seed, --seed + 1, ..."""
    seed: int = 0
    """The first seed."""
    cells_at_once: int = 0
    """Cells that a device computes at the same time; 0 for one on a CPU, and for all of them on other platforms."""


@dataclass(frozen=True)
class ParsedFirst:
    """The arguments that determine which others there are, and their defaults."""

    learner: str | None = None
    run_dir: Path | None = None
    resume: bool = False


def parse(arguments: Sequence[str]) -> Arguments:
    """Returns the parsed command line, with a dict of tuples as `values`. Defaults: the stored sweep with --resume.

    Raises ValueError for an unknown learner, for a list that cannot be read, for --resume without a folder, and for
    options of several processes.
    """
    options = {argument.partition("=")[0] for argument in arguments}
    if of_processes := sorted(options & OPTIONS_OF_PROCESSES):
        raise ValueError(f"a sweep runs in one process: leave out {' '.join(of_processes)}, and use --devices")
    first = parse_known(ParsedFirst, arguments) or ParsedFirst()
    if first.resume and first.run_dir is None:
        raise ValueError("--resume needs the --run-dir of the sweep to continue")
    stored: dict[str, Any] = {}
    if first.resume and first.run_dir is not None and (first.run_dir / SWEEP_FILE).exists():
        stored = json.loads((first.run_dir / SWEEP_FILE).read_bytes())
    learner = first.learner or stored.get("learner", "ppo")
    config_type = learner_type(learner).config_type
    values_type, hints = values_type_of(config_type), get_type_hints(config_type)
    values = {
        name: tuple(map(format_setting, of_name)) if is_list(hints[name]) else tuple(of_name)
        for name, of_name in stored.get("values", {}).items()
    }
    parsed = tyro.cli(
        Arguments,
        prog="python -m train.sweep",
        description="Train a table of settings, each with several seeds, in one program.\n" + IMPORT_LINE,
        args=arguments,
        default=Arguments(
            values_type(**values), SweepSettings(devices=0), learner, stored.get("seeds", 1), stored.get("seed", 0)
        ),
    )
    given = {field.name: getattr(parsed.values, field.name) for field in dataclasses.fields(values_type)}
    table = {
        name: tuple(to_list(text, hints[name], name) for text in texts) if is_list(hints[name]) else texts
        for name, texts in given.items()
        if texts
    }
    return dataclasses.replace(parsed, learner=learner, values=table)


def values_type_of(config_type: type[Any]) -> type[Any]:
    """Returns a dataclass with a tuple of values for each setting but the seed. A value that is a list is one text."""
    help_of, hints = docstrings(config_type), get_type_hints(config_type)
    fields: list[Any] = []
    for each in dataclasses.fields(config_type):
        if each.name != "seed":
            kind = str if is_list(hints[each.name]) else hints[each.name]
            note = " A list is one value with commas: 64,64." if is_list(hints[each.name]) else ""
            annotated = Annotated[tuple[kind, ...], tyro.conf.arg(help=f"{help_of.get(each.name, '')}{note}")]
            fields.append((each.name, annotated, dataclasses.field(default=())))
    return dataclasses.make_dataclass("Values", fields, frozen=True)


def docstrings(config_type: type[Any]) -> dict[str, str]:
    """Returns the text below each field of a dataclass, also of those that it inherits."""
    texts: dict[str, str] = {}
    for each in reversed(config_type.__mro__[:-1]):  # without `object`
        (definition,) = ast.parse(inspect.getsource(each)).body
        assert isinstance(definition, ast.ClassDef)
        for above, below in zip(definition.body, definition.body[1:], strict=False):
            match above, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    texts[name] = inspect.cleandoc(text)
                case _:
                    pass
    return texts


def is_list(kind: Any) -> bool:
    """Returns whether a setting's type is a tuple of any length."""
    return get_origin(kind) is tuple


def to_list(text: str, kind: Any, name: str) -> tuple[Any, ...]:
    """Returns a value such as "64,64" as a tuple, the reverse of `format_setting`; "" is the empty one.

    Raises ValueError, with the name of the setting, if an entry has another type.
    """
    entry = get_args(kind)[0]
    try:
        return tuple(entry(part) for part in split_list(text)) if text.strip() else ()
    except ValueError:
        raise ValueError(f"a value of {name} must be a list of {entry.__name__} such as 64,64, not {text!r}") from None
