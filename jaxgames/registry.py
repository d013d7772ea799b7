"""Games by name: `make("chinese_checkers", size=2)`, or one string with the parameters, as on a command line."""

import inspect
from collections.abc import Callable
from typing import Any

from jaxgames._checks import ParameterError, check_process, shortened
from jaxgames._named import from_file
from jaxgames._specs import Registry
from jaxgames.env import MODULE_OF_GAME, Env
from jaxgames.wrappers import AutoReset

MAX_TEXT = 500  # characters of a game in a file
BUILT_IN: dict[str, Callable[..., Env[Any]] | str] = {
    "checkers": "jaxgames.games.checkers:Checkers",
    "chinese_checkers": "jaxgames.games.chinese_checkers:ChineseCheckers",
    "chinese_checkers_diamond": "jaxgames.games.chinese_checkers_diamond:ChineseCheckersDiamond",
    "dots_and_boxes": "jaxgames.games.dots_and_boxes:DotsAndBoxes",
    "minichess": "jaxgames.games.minichess:Minichess",
}
_games: Registry[Env[Any]] = Registry(
    "game",
    BUILT_IN,
    examples="'chinese_checkers', 'chinese_checkers(size=2)' or 'mypackage.mymodule:mygame(size=2)'",
    register="jaxgames.register",
    module_of=MODULE_OF_GAME,
)


def list_games() -> list[str]:
    """Returns the ids that `make` takes, in alphabetical order."""
    return _games.names()


def register(id: str, constructor: Callable[..., Env[Any]]) -> None:
    """Adds a game, so that `make(id, **parameters)` returns `constructor(**parameters)`.

    Raises ValueError if the id is taken or is not a Python identifier, TypeError if the constructor cannot be called.
    """
    _games.register(id, constructor)


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
    return _games.make(id, **parameters)


def make_named_in_file(id: str) -> Env[Any]:
    """Returns the env of a game that a file names. It imports no module, because a file may come from anybody.

    Raises ParameterError (a ValueError) as `make`, for a text of more than MAX_TEXT characters, and for a game whose
    module has not been imported yet.
    """
    if isinstance(id, str) and len(id) > MAX_TEXT:  # pyright: ignore[reportUnnecessaryIsInstance]  # of a file
        raise ParameterError(f"a file must name its game in at most {MAX_TEXT} characters, not {shortened(id)}")
    with from_file():
        return make(id)


def parameters(id: str) -> list[inspect.Parameter]:
    """Returns the parameters of a game, with their names, defaults and annotations.

    Raises ParameterError (a ValueError) for an id that is not one of `list_games()`.
    """
    return _games.parameters(id)


def as_env(env_or_id: Env[Any] | str, /, **parameters: Any) -> Env[Any]:
    """Returns the env itself, or the one that `make` makes of a text. Adapters to other libraries take both.

    Args:
      env_or_id: an env, or a text such as "chinese_checkers(size=2)".
      **parameters: of the game, if `env_or_id` is a text.

    Raises:
      TypeError: for anything else, and for an env with parameters.
      ParameterError: (a ValueError) for a text that `make` refuses.
      ValueError: for an `auto_reset` env: it has no end of a game, which other libraries need.
      RuntimeError: in a process that was forked when JAX had started.
    """
    check_process()
    if isinstance(env_or_id, str):
        return make(env_or_id, **parameters)
    if not isinstance(env_or_id, Env):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        raise TypeError(f"expected an env or a text such as 'chinese_checkers(size=2)', not {env_or_id!r}")
    if parameters:
        raise TypeError(f"{', '.join(parameters)}: parameters go with a text such as 'dots_and_boxes', not with an env")
    if isinstance(env_or_id, AutoReset):
        raise ValueError(f"{env_or_id} restarts finished boards: pass {env_or_id.env}, without auto_reset")
    return env_or_id
