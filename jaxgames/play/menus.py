"""The titles of games, and the menus from which a board is chosen.

game_title("dots_and_boxes")                "Dots and Boxes"
game_title(env)                             "Dots and Boxes, 4 by 4 boxes"
first_game("chinese_checkers")              "chinese_checkers(size=2, num_players=3)", which is offered first
game_text("dots_and_boxes", ["rows=4, cols=4"])     "dots_and_boxes(rows=4, cols=4)", for `jaxgames.make`
"""

from collections.abc import Sequence
from typing import Any

from jaxgames.env import Env
from jaxgames.play.words import Menu, words_of
from jaxgames.registry import BUILT_IN, list_games


def offered_games() -> list[str]:
    """Returns the ids of all games in the order in which people are offered them, those of your own last."""
    return [*BUILT_IN, *(id for id in list_games() if id not in BUILT_IN)]


def parameter_menus(game_id: str) -> list[Menu]:
    """Returns the menus of a game; none for a game without such words, whose parameters are typed."""
    return list(words_of(game_id).menus)


def first_game(game_id: str) -> str:
    """Returns the text of the board of a game that is offered first: small enough for a first game."""
    return game_text(game_id, [menu.default for menu in parameter_menus(game_id)])


def game_text(game_id: str, parameters: Sequence[str]) -> str:
    """Returns the text of a game for `jaxgames.make`; `parameters` are the chosen options of its menus."""
    return f"{game_id}({', '.join(parameters)})" if parameters else game_id


def game_title(game: Env[Any] | str) -> str:
    """Returns the title of a game: of its id without, of an env with its board."""
    if isinstance(game, str):
        return words_of(game).title or game.replace("_", " ").capitalize()
    return ", ".join(filter(None, (game_title(game.id), words_of(game).board(game.unwrapped))))
