"""The rules of each game on one screen, in plain words, with pictures of positions.

The text depends on the parameters of the board: rules that do not hold there are left out. Every detail is in
docs/games/.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxgames import render
from jaxgames.env import Env
from jaxgames.games.checkers.rules import Checkers
from jaxgames.games.chinese_checkers.rules import ChineseCheckers
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes
from jaxgames.games.minichess.rules import Minichess
from jaxgames.play.menus import game_title
from jaxgames.play.names import seat_names
from jaxgames.wrappers import game_of

WIDTH = 240.0  # of a picture, in pixels


class Rules(NamedTuple):
    """The rules of a game."""

    title: str
    goal: str  # how to win, in a sentence; "" for a game that does not say it
    paragraphs: tuple[str, ...]
    pictures: tuple[tuple[str, str], ...]  # an SVG and its caption, for each picture


class _Position(NamedTuple):
    """A position of a picture."""

    env: Env[Any]
    text: str | None  # None: the start
    caption: str
    moves_of: int | str | None = None  # the cell of a piece whose moves are shown


_Words = tuple[str, list[str], list[_Position]]


def can_be_drawn(env: Env[Any]) -> bool:
    """Returns whether a draw can be offered; False in Dots and Boxes with an odd number of boxes."""
    game = game_of(env)
    return not (isinstance(game, DotsAndBoxes) and game.rows * game.cols % 2)


def rules(env: Env[Any], theme: str | None = "light") -> Rules:
    """Returns the rules of a game, with its parameters.

    A game of your own has the first paragraph of the docstring of its class.

    Args:
      env: the game.
      theme: of the pictures, "light" or "dark"; None for no pictures.
    """
    game = game_of(env)
    if game.id in _RULES:
        goal, paragraphs, positions = _RULES[game.id](game)
    else:
        words = (inspect.getdoc(type(game)) or "").split("\n\n")[0].replace("\n", " ")
        goal, paragraphs, positions = "", [words] if words else [], []
    pictures = () if theme is None else tuple((_svg(each, theme), each.caption) for each in positions)
    return Rules(game_title(env), goal, tuple(filter(None, paragraphs)), pictures)


def _svg(position: _Position, theme: str) -> str:
    env = position.env
    state = env.init() if position.text is None else env.from_string(position.text)
    return render.svg(env, state, moves_of=position.moves_of, theme=theme, width=WIDTH, seat=0, caption=False).svg


def _limit(number: int | None, unit: str) -> str:
    """Returns the rule of a limit; "" without one."""
    return "" if number is None else f"After {number:,} {unit} without a winner the game ends, and nobody wins."


# -- checkers and minichess ----------------------------------------------------------------------------------------


ADJUDICATION = (
    "Turns are counted, those of both sides together. From the 40th on, a player with at least three pieces more than "
    "the other wins. After 60 turns the player with more pieces wins; equal numbers are a draw."
)


def _checkers(env: Checkers) -> _Words:
    draws = {
        "wcdf": "80 moves in a row, of both sides together, without a capture and without a move of a man",
        "openspiel": "40 moves in a row, of both sides together, without a capture",
    }
    paragraphs = [
        "Black moves first. The pieces are called men. A man steps to the next dark square diagonally ahead of it, if "
        "that is empty.",
        "A man captures by jumping over a neighbouring piece of the other side, diagonally ahead, to the empty square "
        "behind it. The captured piece leaves the board. You must capture when you can. Of several captures you may "
        "choose any one.",
        "The same piece must go on jumping while it can. Each jump counts as a move, all of them are one turn.",
        "A man that reaches the last row becomes a king, and the turn ends. A king steps and jumps forwards and "
        "backwards, always by one square.",
        f"It is a draw after {draws[env.draw_rule]}." if env.draw_rule in draws else ADJUDICATION,
        _limit(env.max_plies, "moves"),
    ]
    positions = [
        _Position(env, None, "The start: Black, here at the bottom, moves first."),
        _Position(env, "B:W10,19,31:B6", "Black jumps over the man on 10, and then must jump over the one on 19.", 6),
        _Position(env, "B:W31:BK18", "A king moves in all four directions.", 18),
    ]
    return "Capture all pieces of the other side, or leave them without a move.", paragraphs, positions


def _minichess(env: Minichess) -> _Words:
    is_standard = env.rules == "standard"
    first = "one square forward, from its first square also two" if env.double_step else "one square forward"
    becomes = "a queen, rook, bishop or knight, as you choose" if env.promotion == "all" else "a queen"
    paragraphs = [
        "White moves first. The pieces move as in chess. The king steps to any square next to it. The rook goes along "
        "rows and columns, the bishop along diagonals, the queen along both, as far as the way is free. The knight "
        "jumps two squares in one direction and one to the side, also over other pieces.",
        "A piece that goes to a square with a piece of the other side captures that piece.",
        f"A pawn goes {first}. It captures diagonally, one square ahead. On the last row it becomes {becomes}. There "
        "is no castling and no capture en passant.",
    ]
    if is_standard:
        paragraphs += [
            "A king that is attacked is in check. Your move must not leave your own king in check. If you have no "
            "legal move, you have lost if you are in check (checkmate); otherwise it is a draw (stalemate).",
            "It is also a draw when a position occurs for the third time, after 100 moves of both sides together "
            "without a capture or a move of a pawn, and when too few pieces are left for a checkmate.",
        ]
    else:
        paragraphs.append(
            "There is no check and no checkmate: a king may stay where it can be captured, and then it is lost. A "
            "player without a move ends the game in a draw."
        )
    positions = [
        _Position(env, None, "The start."),
        _Position(env, "2k2/2p2/5/1NP2/2K2 w - - 0 1", "A knight jumps.", "b2"),
        _Position(env, "2k2/5/1p1p1/2P2/2K2 w - - 0 1", "A pawn goes straight ahead, and captures diagonally.", "c2"),
    ]
    goal = "Checkmate the other king: attack it so that no move saves it." if is_standard else "Capture the other king."
    return goal, [*paragraphs, _limit(env.max_plies, "moves")], positions


# -- Dots and Boxes ------------------------------------------------------------------------------------------------


def _dots_and_boxes(env: DotsAndBoxes) -> _Words:
    paragraphs = [
        "Red moves first. In your turn you draw one line between two neighbouring dots.",
        "Whoever draws the fourth side of a box takes it, and must draw another line. One line can complete two boxes. "
        "You need not take a box that you could take.",
        "The game ends when all lines are drawn." + (" Equal numbers are a draw." if env.num_boxes % 2 == 0 else ""),
        "Take care: after your third side of a box, the other player can take it.",
    ]
    board = DotsAndBoxes(rows=2, cols=2)
    positions = [
        _Position(board, "101001100000 .... 0", "The line on the right of the upper left box completes it."),
        _Position(board, "101001110000 0... 0", "Red has taken the box and moves again."),
    ]
    return f"Take more of the {env.num_boxes} boxes than the other player.", paragraphs, positions


# -- both boards of Chinese Checkers ------------------------------------------------------------------------------

STEP_OR_HOP = (
    "In your turn you move one of your {pieces}. It either steps to an empty cell next to it, or it hops over a "
    "neighbouring {piece} of any player, straight to the empty cell behind it. After a hop it may hop again, as often "
    "as you like. Nothing is captured."
)
DASHED_GOAL = "Your goal has a dashed border."


def _star(env: ChineseCheckers) -> _Words:
    names = seat_names(env)
    paragraphs = [
        f"{', '.join(names[:-1])} and {names[-1]} move in this order, clockwise. Each begins in one point of the star.",
        STEP_OR_HOP.format(piece="peg", pieces="pegs"),
        "A chain of hops must not come back to a cell where the peg stood in this turn. You end the turn when you do "
        "not want to hop on.",
        "You may move into every point of the star and out of it again. A peg of another player in your goal keeps you "
        "from filling it, so you have to wait until it is gone.",
        DASHED_GOAL,
        _limit(env.max_rounds, "rounds"),
    ]
    board = ChineseCheckers(size=2, num_players=2)
    positions = [
        _Position(env, None, f"The start. {names[0]} moves first, from the bottom to the point on top."),
        _Position(
            board, "0/0./......./..0.../..1../....../......./1./1 0 - 4", "The steps and the hop of one peg.", 12
        ),
    ]
    return "Be the first with all pegs in the point of the star opposite your own.", paragraphs, positions


def _diamond(env: ChineseCheckersDiamond) -> _Words:
    paragraphs = [
        "Red moves first. The goal of each player is the corner in which the other one begins.",
        STEP_OR_HOP.format(piece="piece", pieces="pieces"),
        "You win when your goal is full after your turn. At least one of the pieces there must be your own; pieces "
        "of the other player count as well: nobody can hold you up by staying at home.",
        DASHED_GOAL,
        "You must not fill your own corner while a piece of the other player is in it. If you cannot move, you pass.",
    ]
    if env.tip_lock:
        paragraphs.append(
            "You must not lock your own tip: the last cell of your corner must not be empty while your pieces stand on "
            "the four cells behind it."
        )
    board = ChineseCheckersDiamond(size=5, pieces=3)
    positions = [
        _Position(env, None, "The start."),
        _Position(board, "0..../00.../.1.../...11/..... 0 4", "The steps and the chains of hops of one piece.", 5),
    ]
    return (
        "Be the first to fill the corner across the board, where the other player begins.",
        [*paragraphs, _limit(env.max_plies, "moves")],
        positions,
    )


_RULES: dict[str, Callable[[Any], _Words]] = {
    "checkers": _checkers,
    "minichess": _minichess,
    "dots_and_boxes": _dots_and_boxes,
    "chinese_checkers": _star,
    "chinese_checkers_diamond": _diamond,
}
