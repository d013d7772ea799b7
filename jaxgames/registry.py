"""Games by name: `make("chinese_checkers", size=2)`, or all in one string as on a command line."""

import ast
import inspect
from collections.abc import Callable
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.games.checkers import Checkers
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.minichess import Minichess

_constructors: dict[str, Callable[..., Env[Any]]] = {
    Checkers.id: Checkers,
    ChineseCheckers.id: ChineseCheckers,
    ChineseCheckersDiamond.id: ChineseCheckersDiamond,
    DotsAndBoxes.id: DotsAndBoxes,
    Minichess.id: Minichess,
}


def list_games() -> list[str]:
    """The ids that `make` takes, in alphabetical order."""
    return sorted(_constructors)


def register(id: str, constructor: Callable[..., Env[Any]]) -> None:
    """Adds a game, so that `make(id, **parameters)` returns `constructor(**parameters)`.

    Raises ValueError when the id is taken or is not a Python identifier, TypeError when the constructor
    cannot be called.
    """
    if not id.isidentifier():
        raise ValueError(f"a game's id must be a Python identifier such as 'my_game', not {id!r}")
    if id in _constructors:
        raise ValueError(f"{id!r} is registered already; choose an id that is not one of {list_games()}")
    if not callable(constructor):
        raise TypeError(f"the constructor of {id!r} must be callable, not {constructor!r}")
    _constructors[id] = constructor


def make(id: str, /, **parameters: Any) -> Env[Any]:
    """The env of a game.

    Args:
      id: a name from `list_games()`, or one with parameters: `"chinese_checkers(size=2, num_players=6)"`.
      **parameters: the game's parameters; those left out have the game's defaults.

    Raises:
      ParameterError: (a ValueError) an unknown game or parameter, or a value that is not allowed; the
        message names what is. A value of the wrong type raises ParameterTypeError, a TypeError as well.
    """
    name, written = _parse(id)
    if name not in _constructors:
        raise ParameterError(f"unknown game {name!r}; the games are {', '.join(list_games())}")
    twice = sorted(written.keys() & parameters.keys())
    if twice:
        raise ParameterError(f"{', '.join(twice)} given twice: in {id!r} and as a keyword")
    parameters = written | parameters
    constructor = _constructors[name]
    signature = inspect.signature(constructor)
    if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        for unknown in parameters.keys() - signature.parameters.keys():
            allowed = ", ".join(signature.parameters) or "none"
            raise ParameterError(f"{name} has no parameter {unknown!r}; its parameters are {allowed}")
    return constructor(**parameters)


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters in `name` or `name(parameter=literal, ...)`."""
    expected = f"expected a game such as 'chinese_checkers' or 'chinese_checkers(size=2)', not {text!r}"
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        raise ParameterError(expected)
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ParameterError(expected) from None
    if isinstance(call, ast.Name):
        return call.id, {}
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ParameterError(expected)
    parameters: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ParameterError(expected)
        if keyword.arg in parameters:
            raise ParameterError(f"{keyword.arg} given twice in {text!r}")
        if isinstance(keyword.value, ast.Name):  # a bare word: the quotes are easily lost in a shell
            parameters[keyword.arg] = keyword.value.id
            continue
        try:
            parameters[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError):
            raise ParameterError(f"the value of {keyword.arg!r} in {text!r} must be a literal") from None
    return call.func.id, parameters
