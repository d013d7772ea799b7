"""Games by name: `make("chinese_checkers", size=2)`, or one string with the parameters, as on a command line."""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass
from types import ModuleType
from typing import Any

from jaxgames._checks import ParameterError, check_process, shortened
from jaxgames._named import from_file
from jaxgames._specs import Registry
from jaxgames.env import MODULE_OF_GAME, Env
from jaxgames.wrappers import AutoReset

Part = ModuleType | str | None
NAMES_OF_PARTS = {"search": "make_player"}  # the functions of modules that do not have the name of their part


@dataclass(frozen=True)
class Game:
    """The record of a game: its env, and where the library finds what it can do with it beside playing by the rules.

    A part is a module or the path of one, such as `__name__`, which is imported when it is first needed. It has the
    function or the value of the part by the name below; one of another name stands behind a colon: "module:name".

        drawing     drawing(env, theme) returns the `jaxgames.render.drawing.Drawing` of the boards of `env`
        scores      scores(env, state) returns float32[num_actions], what the mover gains at once by each action;
                    any number for an illegal one
        search      make_player(env, ...) returns a `jaxgames.solvers.alphabeta.agent.Player`; it has the parameters
                    `depth` and `milliseconds`, and those of its own
        solution    the class of its solutions, a `jaxgames.solvers.Solution`
        strength    strength(measured) measures the agent of a `jaxgames.solvers.strength.policy_table.Measured` whose
                    mover does not alternate
        words       a `jaxgames.play.words.Words`, what the page and the terminal say of the game
    """

    id: str  # a Python identifier
    env: Callable[..., Env[Any]]  # the class, or a function that returns the env for the game's parameters
    drawing: Part = None
    scores: Part = None
    search: Part = None
    solution: Part = None
    strength: Part = None
    words: Part = None
    levels: Sequence[tuple[str, str, str]] = ()  # the agents easy, medium, hard; the first three that play a board
    is_searched: Callable[[Any], bool] = lambda env: True  # whether `search` plays the board of an env

    def part(self, name: str) -> Any:
        """Returns the function or value of a part, such as "drawing"; None for a part that the game does not have."""
        module, wanted = getattr(self, name), NAMES_OF_PARTS.get(name, name)
        if isinstance(module, str):
            path, _, other_name = module.partition(":")
            module, wanted = importlib.import_module(path), other_name or wanted
        if module is None or hasattr(module, wanted):
            return getattr(module, wanted, None)
        raise ParameterError(f"the record of {self.id} names {module.__name__} for its {name}, which has no {wanted!r}")


MAX_TEXT = 500  # characters of a game in a file
# The folders of `jaxgames.games`, in the order in which their games are offered to people.
BUILT_IN = ("checkers", "minichess", "dots_and_boxes", "chinese_checkers", "chinese_checkers_diamond")
_records: dict[str, Game] = {}  # of `register`
_games: Registry[Env[Any]] = Registry(
    "game",
    {id: f"jaxgames.games.{id}:GAME.env" for id in BUILT_IN},
    examples="'chinese_checkers', 'chinese_checkers(size=2)' or 'mypackage.mymodule:mygame(size=2)'",
    register="jaxgames.register",
    module_of=MODULE_OF_GAME,
)


def list_games() -> list[str]:
    """Returns the ids that `make` takes, in alphabetical order."""
    return _games.names()


def register(game: Game | str, env: Callable[..., Env[Any]] | None = None) -> None:
    """Adds a game, so that `make(id, **parameters)` returns `game.env(**parameters)`.

    `register(id, env)` is short for `register(Game(id, env))`, the record of a game without parts.
    """
    if isinstance(game, str):
        game = Game(game, env)  # pyright: ignore[reportArgumentType]  # None is refused below
    _games.register(game.id, game.env)
    _records[game.id] = game


def record_of(game: Env[Any] | str) -> Game:
    """Returns the record of a game, of an env or by its id; one without parts for a game that is not registered."""
    id = game if isinstance(game, str) else game.id
    if id in BUILT_IN:
        return importlib.import_module(f"jaxgames.games.{id}").GAME
    return _records.get(id) or Game(id, lambda: make(id))


def games_with(part: str) -> list[str]:
    """Returns the ids of the games whose records have a part, such as "solution", in alphabetical order."""
    return [id for id in list_games() if getattr(record_of(id), part) is not None]


def make(id: str, /, **parameters: Any) -> Env[Any]:
    """Returns the env of a game.

    Args:
      id: a name from `list_games()`, or one with parameters: `"chinese_checkers(size=2, num_players=6)"`. With a
        module and a colon in front, `"mypackage.mymodule:mygame(size=3)"`, it imports the module first. The module
        must call `register("mygame", ...)`. The import runs the module's code.
      **parameters: the game's parameters; those left out have the game's defaults.

    Raises:
      ParameterError: (a ValueError) for an unknown game, parameter or value; the message lists the allowed ones.
      ParameterTypeError: (a ParameterError and a TypeError) for a value of the wrong type.
    """
    return _games.make(id, **parameters)


def make_named_in_file(id: str) -> Env[Any]:
    """Returns the env of a game that a file names. It imports no module, because a file may come from anybody.

    Raises ParameterError also for a game whose module has not been imported yet.
    """
    if isinstance(id, str) and len(id) > MAX_TEXT:  # pyright: ignore[reportUnnecessaryIsInstance]  # of a file
        raise ParameterError(f"a file must name its game in at most {MAX_TEXT} characters, not {shortened(id)}")
    with from_file():
        return make(id)


def parameters(id: str) -> list[inspect.Parameter]:
    """Returns the parameters of a game, with their names, defaults and annotations."""
    return _games.parameters(id)


def differ_only_in(names: Sequence[str], first: Env[Any], second: Env[Any]) -> bool:
    """Returns whether two envs are of one class, and equal but for the parameters with these names."""
    fields: tuple[Field[Any], ...] = dataclasses.fields(first)  # pyright: ignore[reportArgumentType]  # every env is a dataclass
    others = [field.name for field in fields if field.name not in names]
    return type(first) is type(second) and all(getattr(first, name) == getattr(second, name) for name in others)


def as_env(env_or_id: Env[Any] | str, /, **parameters: Any) -> Env[Any]:
    """Returns the env itself, or the one that `make` makes of a text. Adapters to other libraries take both.

    An `auto_reset` env is refused: it has no end of a game, which other libraries need. Raises RuntimeError in a
    process that was forked when JAX had started.

    Args:
      env_or_id: an env, or a text such as "chinese_checkers(size=2)".
      **parameters: of the game, if `env_or_id` is a text.
    """
    check_process()
    if isinstance(env_or_id, str):
        return make(env_or_id, **parameters)
    if not isinstance(env_or_id, Env):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        raise TypeError(f"expected an env or a text such as 'chinese_checkers(size=2)', not {env_or_id!r}")
    if parameters:
        raise TypeError(f"{', '.join(parameters)}: parameters go with a text such as 'dots_and_boxes', not with an env")
    if isinstance(env_or_id, AutoReset):
        raise ParameterError(f"{env_or_id} restarts finished boards: pass {env_or_id.env}, without auto_reset")
    return env_or_id
