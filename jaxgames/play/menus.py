"""Games in the words of people: their titles, and the menus from which a board is chosen.

game_title("dots_and_boxes")                "Dots and Boxes"
game_title(env)                             "Dots and Boxes, 4 by 4 boxes"
first_game("chinese_checkers")              "chinese_checkers(size=2, num_players=3)", which is offered first
game_text("dots_and_boxes", ["rows=4, cols=4"])     "dots_and_boxes(rows=4, cols=4)", for `jaxgames.make`
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxgames.env import Env
from jaxgames.games.chinese_checkers.rules import ChineseCheckers
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes
from jaxgames.games.minichess.rules import Minichess
from jaxgames.wrappers import game_of

TITLES = {
    "checkers": "Checkers",
    "minichess": "Minichess",
    "dots_and_boxes": "Dots and Boxes",
    "chinese_checkers": "Chinese Checkers",
    "chinese_checkers_diamond": "Chinese Checkers on a diamond",
}
"""The titles of the games of this package, in the order in which they are offered."""


class Menu(NamedTuple):
    """A choice of a board: one of several settings."""

    name: str
    words: str  # the question, such as "Players"
    options: tuple[tuple[str, str], ...]  # parameters as in the game's text, and their words: ("size=2", "small")
    default: str  # the parameters of the option that is offered first


def _boxes(sizes: Sequence[tuple[int, int]]) -> tuple[tuple[str, str], ...]:
    return tuple((f"rows={rows}, cols={cols}", f"{rows} by {cols} boxes") for rows, cols in sizes)


def _diamonds(boards: Sequence[tuple[int, int]]) -> tuple[tuple[str, str], ...]:
    return tuple((f"size={size}, pieces={pieces}", f"{size} by {size}, {pieces} pieces") for size, pieces in boards)


MENUS = {
    "checkers": (
        Menu(
            "draw",
            "Draw",
            (
                ("draw_rule=wcdf", "80 quiet moves"),
                ("draw_rule=openspiel", "40 without a capture"),
                ("draw_rule=adjudicated", "more pieces win after 60 turns"),
            ),
            "draw_rule=wcdf",
        ),
    ),
    "minichess": (
        Menu(
            "board",
            "Board",
            (("board=gardner", "Gardner"), ("board=baby", "Baby"), ("board=mallet", "Mallett")),
            "board=gardner",
        ),
        Menu(
            "win",
            "How to win",
            (("rules=standard", "checkmate"), ("rules=king_capture", "capture the king")),
            "rules=standard",
        ),
        Menu(
            "pawns",
            "Pawns",
            (("double_step=False", "one step"), ("double_step=True", "two steps at first")),
            "double_step=False",
        ),
    ),
    "dots_and_boxes": (
        Menu("board", "Board", _boxes([(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (8, 8)]), "rows=5, cols=5"),
    ),
    "chinese_checkers": (
        Menu(
            "board",
            "Board",
            (
                ("size=2", "small: 3 pegs each"),
                ("size=3", "medium: 6 pegs each"),
                ("size=4", "large: 10 pegs each"),
            ),
            "size=2",
        ),
        Menu(
            "players",
            "Players",
            tuple((f"num_players={number}", str(number)) for number in (2, 3, 4, 6)),
            "num_players=3",
        ),
    ),
    "chinese_checkers_diamond": (
        Menu("board", "Board", _diamonds([(4, 3), (5, 6), (6, 6), (7, 6), (9, 10)]), "size=7, pieces=6"),
    ),
}


def parameter_menus(game_id: str) -> list[Menu]:
    """Returns the menus of a game; none for a game of your own, whose parameters are typed."""
    return list(MENUS.get(game_id, ()))


def first_game(game_id: str) -> str:
    """Returns the text of the board of a game that is offered first: small enough for a first game."""
    return game_text(game_id, [menu.default for menu in parameter_menus(game_id)])


def game_text(game_id: str, parameters: Sequence[str]) -> str:
    """Returns the text of a game for `jaxgames.make`; `parameters` are the chosen options of its menus."""
    return f"{game_id}({', '.join(parameters)})" if parameters else game_id


def game_title(game: Env[Any] | str) -> str:
    """Returns the title of a game: of its id without, of an env with its board."""
    if isinstance(game, str):
        return TITLES.get(game, game.replace("_", " ").capitalize())
    env, title = game_of(game), game_title(game.id)
    match env:
        case DotsAndBoxes():
            return f"{title}, {env.rows} by {env.cols} boxes"
        case ChineseCheckers():
            return f"{title}, {env.num_players} players with {env.num_pegs} {'peg' if env.num_pegs == 1 else 'pegs'}"
        case ChineseCheckersDiamond():
            return f"{title}, {env.size} by {env.size}"
        case Minichess(rules="king_capture"):
            return f"{title}, the king is captured"
        case _:
            return title
