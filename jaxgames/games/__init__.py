"""One folder per game: the env and its state in `rules.py`, and beside it what only this game needs.

`from jaxgames.games import Checkers` loads the folder of that game only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jaxgames.registry import BUILT_IN

if TYPE_CHECKING:
    from jaxgames.games.checkers import Checkers as Checkers
    from jaxgames.games.chinese_checkers import ChineseCheckers as ChineseCheckers
    from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond as ChineseCheckersDiamond
    from jaxgames.games.dots_and_boxes import DotsAndBoxes as DotsAndBoxes
    from jaxgames.games.minichess import Minichess as Minichess

_FOLDERS = {id.title().replace("_", ""): id for id in BUILT_IN}  # by class: DotsAndBoxes is in dots_and_boxes/
__all__ = [*_FOLDERS]  # pyright: ignore[reportUnsupportedDunderAll]  # the games of the registry


def __getattr__(name: str) -> Any:
    if name not in _FOLDERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its games are {', '.join(_FOLDERS)}")
    return getattr(import_module(f"{__name__}.{_FOLDERS[name]}"), name)


def __dir__() -> list[str]:
    return __all__
