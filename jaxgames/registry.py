"""Games by name: `make("chinese_checkers", size=2)`, or one string with the parameters, as on a command line.

A string names a game in one of these ways:

    chinese_checkers
    chinese_checkers(size=2, num_players=6)
    mypackage.mymodule:mygame(size=3)         imports mypackage.mymodule first, which registers mygame
"""

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.env import MODULE_OF_GAME, Env
from jaxgames.games.checkers import Checkers
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.minichess import Minichess

BUILT_IN: dict[str, Callable[..., Env[Any]]] = {
    Checkers.id: Checkers,
    ChineseCheckers.id: ChineseCheckers,
    ChineseCheckersDiamond.id: ChineseCheckersDiamond,
    DotsAndBoxes.id: DotsAndBoxes,
    Minichess.id: Minichess,
}
_constructors = dict(BUILT_IN)

EXAMPLES = "'chinese_checkers', 'chinese_checkers(size=2)' or 'mypackage.mymodule:mygame(size=2)'"
MODULE_AND_GAME = re.compile(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*)\s*:(.*)", re.DOTALL)


def list_games() -> list[str]:
    """Returns the ids that `make` takes, in alphabetical order."""
    return sorted(_constructors)


def register(id: str, constructor: Callable[..., Env[Any]]) -> None:
    """Adds a game, so that `make(id, **parameters)` returns `constructor(**parameters)`.

    Raises ValueError if the id is taken or is not a Python identifier, TypeError if the constructor cannot be called.
    """
    if not id.isidentifier():
        raise ValueError(f"a game's id must be a Python identifier such as 'my_game', not {id!r}")
    if id in _constructors:
        raise ValueError(f"{id!r} is registered already; choose an id that is not one of {list_games()}")
    if not callable(constructor):
        raise TypeError(f"the constructor of {id!r} must be callable, not {constructor!r}")
    _constructors[id] = constructor


def make(id: str, /, **parameters: Any) -> Env[Any]:
    """Returns the env of a game.

    Args:
      id: a name from `list_games()`, or one with parameters: `"chinese_checkers(size=2, num_players=6)"`. With a
        module and a colon in front, `"mypackage.mymodule:mygame(size=3)"`, it imports the module first. The module
        must call `register("mygame", ...)`. The import runs the module's code.
      **parameters: the game's parameters; those left out have the game's defaults.

    Raises:
      ParameterError: (a ValueError) for an unknown game or parameter, for a value that is not allowed, and for a module
        that cannot be imported or does not register the game. The message lists the allowed values.
      ParameterTypeError: (a ParameterError and a TypeError) for a value of the wrong type.
    """
    module, name, written = _parse(id)
    if module:
        _import(module, name, id)
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


def _import(module: str, name: str, text: str) -> None:
    """Imports the module that registers a game. Raises ParameterError unless the game is registered afterwards."""
    if name in BUILT_IN:
        raise ParameterError(f"{name!r} is a game of jaxgames: write it without '{module}:', not {text!r}")
    try:
        importlib.import_module(module)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{module}.".startswith(f"{missing}."):
            where = "it must be installed, be on PYTHONPATH, or lie in the current folder"
            raise ParameterError(f"no module {missing!r} was found to make {text!r}: {where}") from None
        reason = f"{type(error).__name__}: {error}"
        raise ParameterError(f"importing {module!r} to make {text!r} failed: {reason}") from error
    if name not in _constructors:
        known = ", ".join(list_games())
        raise ParameterError(
            f"{module!r} must call jaxgames.register({name!r}, ...) when it is imported, and does not; "
            f"the games registered are {known}"
        )
    MODULE_OF_GAME.setdefault(name, module)  # the first one did register it; another may only have found it registered


def _parse(text: str) -> tuple[str, str, dict[str, Any]]:
    """Returns the module ("" for none), the name and the parameters in `module:name(parameter=literal, ...)`."""
    expected = f"expected a game such as {EXAMPLES}, not {text!r}"
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        raise ParameterError(expected)
    found = MODULE_AND_GAME.fullmatch(text)
    module, game = (found[1], found[2]) if found else ("", text)
    try:
        call = ast.parse(game.strip(), mode="eval").body
    except SyntaxError:
        raise ParameterError(expected) from None
    if isinstance(call, ast.Name):
        return module, call.id, {}
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
    return module, call.func.id, parameters
