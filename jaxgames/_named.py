"""The rule for texts that name modules and engines: these start only where a person has named them.

A text that a person writes, in a program or on a command line, may do both. A text of a file may do neither, because
files come from anybody: the settings of runs and sweeps, records, saved games. It may use modules that are imported
already, and what the command line repeats.

    with command_line("train.agents", sys.argv[1:]) as arguments:   # a command: texts of no argument are from files
        ...
    with from_file():                                               # a reader of files, also in a person's program
        ...
"""

import importlib
import os
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from jaxgames._checks import ParameterError, shortened

IMPORT = "--import"
IMPORT_HELP = "a module to import first, such as one with your own game; files import none"
IMPORT_LINE = f"{IMPORT} MODULE: {IMPORT_HELP}."


class _Named(NamedTuple):
    """The modules and texts that a person has named."""

    arguments: tuple[str, ...]  # of the command
    modules: list[str]  # of `--import` and of texts, in the order of their import


_of_command: _Named | None = None  # by the command line of this process; None: a program of a person's own
_of_file: ContextVar[_Named | None] = ContextVar("named", default=None)  # inside of `from_file`


def _current() -> _Named | None:
    """Returns what the command has named; None where all texts are a person's own."""
    return _of_file.get() or _of_command


def import_modules(program: str, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Imports the modules of `--import MODULE`. Returns the other arguments of a command, and the modules.

    The program ends with a message if a module cannot be imported.
    """
    modules: list[str] = []
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        option, equals, module = argument.partition("=")
        if option == IMPORT:
            modules.append(module if equals else next(rest, ""))
        else:
            others.append(argument)
    for module in modules:
        if not all(part.isidentifier() for part in module.split(".")):
            sys.exit(f"{program}: expected {IMPORT} MODULE, such as {IMPORT} my_game, not {shortened(module)}")
        try:
            import_module(module, f"{IMPORT} {module}")
        except ParameterError as error:
            sys.exit(f"{program}: {error}")
    return others, modules


@contextmanager
def command_line(program: str, arguments: Sequence[str]) -> Generator[list[str]]:
    """Does `import_modules`, and yields the other arguments, for the code of a command.

    Inside, a text that is not a part of an argument counts as a text from a file.
    """
    global _of_command  # not a context: other threads play the games of the same command
    others, modules = import_modules(program, arguments)
    before, _of_command = _of_command, _Named(tuple(others), modules)
    try:
        yield others
    finally:
        _of_command = before


@contextmanager
def from_file() -> Generator[None]:
    """Inside, texts are from a file: they start only what the command has named."""
    token = _of_file.set(_current() or _Named((), []))
    try:
        yield
    finally:
        _of_file.reset(token)


def import_options() -> list[str]:
    """Returns the options by which another command imports the modules of this one, such as --import my_game."""
    named = _current()
    modules = () if named is None else dict.fromkeys(named.modules)
    return [word for module in modules for word in (IMPORT, module)]


def import_named(module: str, text: str) -> None:
    """Imports the module that `text` names. Raises ParameterError if it may not, or if the import fails."""
    named = _current()
    if module not in sys.modules and not _may_start(text):
        raise ParameterError(
            f"{shortened(text)} names the module {module!r}, and a file imports none: to import it, add "
            f"{IMPORT} {module}, or in Python import it first"
        )
    import_module(module, text)
    if named is not None:
        named.modules.append(module)


def check_starts_program(text: str) -> None:
    """Raises ParameterError if `text`, which names an engine, may not start it."""
    if not _may_start(text):
        raise ParameterError(
            f"{shortened(text)} starts a program or loads a library, and a file may do neither: to allow it, repeat "
            "the text on the command line"
        )


def _may_start(text: str) -> bool:
    """Returns whether a person has written the text: in a program of their own, or in an argument of the command.

    There it stands alone, in a list or in quotes. A path is not a text: whoever makes files also names them.
    """
    named = _current()
    if named is None:
        return True
    alone = re.compile(rf"""(?:^|[,='"])\s*{re.escape(text.strip())}\s*(?:[,'"]|$)""")
    written = [argument for argument in named.arguments if alone.search(argument)]
    return any(not os.path.exists(path) for path in written) and not os.path.exists(text.strip())


def import_module(module: str, text: str) -> Any:
    """Returns an imported module, which `text` names. Raises ParameterError, with the reason, if that fails."""
    try:
        return importlib.import_module(module)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{module}.".startswith(f"{missing}."):
            where = "it must be installed, be on PYTHONPATH, or lie in the current folder"
            raise ParameterError(f"no module {missing!r} was found to make {text!r}: {where}") from None
        reason = f"{type(error).__name__}: {error}"
        raise ParameterError(f"importing {module!r} to make {text!r} failed: {reason}") from error
