"""The short form of an experiment: `--quick` tries all of its parts within a minute, and its figures mean nothing.

An experiment has a dataclass `Arguments` with the field `quick`, and a constant `QUICK` with small values of other
fields. Its command begins with

    arguments = shortened(tyro.cli(Arguments, description=__doc__), QUICK)
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

ArgumentsT = TypeVar("ArgumentsT")  # a dataclass with the field `quick`


def shortened(arguments: ArgumentsT, small: Mapping[str, Any]) -> ArgumentsT:
    """Returns the arguments with small values if `arguments.quick` is set, and unchanged otherwise.

    A field that does not have its default was typed by the user and stays. A default `output` gets the ending "_quick",
    so that the results of the experiment itself stay apart.

    Args:
      arguments: a dataclass with the field `quick`, and `output`, a path, if the experiment writes files.
      small: the small values by the names of their fields.

    Raises ValueError if a name in `small` is not a field with a default, or is "quick" itself.
    """
    given: Any = arguments
    defaults = _defaults(given)
    wrong = [name for name in small if name not in defaults or name == "quick"]
    if wrong:
        raise ValueError(f"QUICK has {wrong[0]!r}, which is no field with a default; fields: {', '.join(defaults)}")
    if not given.quick:
        return arguments
    values = dict(small)
    if isinstance(defaults.get("output"), Path):
        values.setdefault("output", defaults["output"].with_name(defaults["output"].name + "_quick"))
    return dataclasses.replace(
        given, **{name: value for name, value in values.items() if getattr(given, name) == defaults[name]}
    )


def _defaults(arguments: Any) -> dict[str, Any]:
    """The default of each field that has one."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(arguments):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found
