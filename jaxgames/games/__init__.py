"""One folder per game: the env and its state in `rules.py`, and beside it what only this game needs.

`from jaxgames.games import Checkers` loads the folder of that game only.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxgames.games.checkers import Checkers
    from jaxgames.games.chinese_checkers import ChineseCheckers
    from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
    from jaxgames.games.dots_and_boxes import DotsAndBoxes
    from jaxgames.games.minichess import Minichess

__all__ = ["Checkers", "ChineseCheckers", "ChineseCheckersDiamond", "DotsAndBoxes", "Minichess"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its games are {', '.join(__all__)}")
    folder = re.sub(r"\B(?=[A-Z])", "_", name).lower()  # DotsAndBoxes is in dots_and_boxes/
    return getattr(import_module(f"{__name__}.{folder}"), name)


def __dir__() -> list[str]:
    return __all__
