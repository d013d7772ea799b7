"""The values that a setting may have: its type, and bounds that are declared on its field.

@dataclass(frozen=True)
class Config:
    gamma: Share[float] = 0.99
    vf_clip: Positive[float | None] = None  # None is allowed where the type has it
    hidden_sizes: Count[tuple[int, ...]] = ()  # bounds are of every entry

    def __post_init__(self) -> None:
        check_values(vars(self), type(self))
"""

import functools
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Bounds(NamedTuple):
    """A condition on a number."""

    words: str  # what the number must be, such as "positive"
    hold: Callable[[Any], bool]  # returns whether it is


def between(low: float, high: float) -> Bounds:
    """Returns the condition that a number is from `low` to `high`, both included."""
    return Bounds(f"from {low} to {high}", lambda x: low <= x <= high)


Count = Annotated[T, Bounds("at least 1 and less than 2**63", lambda x: 1 <= x < 2**63)]
Positive = Annotated[T, Bounds("positive", lambda x: x > 0)]
NotNegative = Annotated[T, Bounds("0 or more", lambda x: x >= 0)]
Share = Annotated[T, between(0, 1)]


@functools.cache
def types_of(config_type: type[Any]) -> dict[str, Any]:
    """Returns the annotated types of the fields of a dataclass."""
    return get_type_hints(config_type, include_extras=True)


def check_values(values: Mapping[str, Any], config_type: type[Any]) -> None:
    """Raises ValueError unless each value has the type and the bounds of the field with its name, if there is one."""
    for name, value in values.items():
        kind = types_of(config_type).get(name, object)
        bounds = [each for each in getattr(kind, "__metadata__", ()) if isinstance(each, Bounds)]
        kind = kind.__origin__ if get_origin(kind) is Annotated else kind
        if not fits(value, kind):
            raise ValueError(f"{name} must be {format_type(kind)}, not {value!r}")
        numbers: Any = value if isinstance(value, list | tuple) else () if value is None else (value,)
        for words, hold in bounds:
            if not all(map(hold, numbers)):
                raise ValueError(f"{name} must be {words}, not {value!r}")


def fits(value: Any, kind: Any) -> bool:
    """Returns whether a value has an annotated type. JSON has lists for tuples; an int can be a float."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return value in arguments
    if origin in (Union, UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is tuple:
        return isinstance(value, list | tuple) and all(fits(entry, arguments[0]) for entry in value)  # pyright: ignore[reportUnknownVariableType]
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind or NoneType)


def format_type(kind: Any) -> str:
    """The values that fit an annotated type, in words."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(repr, get_args(kind)))}"
    return f"of type {kind.__name__ if get_origin(kind) is None else kind}"
