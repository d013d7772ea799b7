"""Chinese Checkers on the diamond in the words of people."""

from jaxgames.games._hexagons import DASHED_GOAL, STEP_OR_HOP
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond
from jaxgames.play.words import Example, Menu, Words, limit

BOARDS = ((4, 3), (5, 6), (6, 6), (7, 6), (9, 10))  # the sizes and numbers of pieces that are offered


class ChineseCheckersDiamondWords(Words[ChineseCheckersDiamond]):
    """The corner of seat 0 is on top."""

    title = "Chinese Checkers on a diamond"
    menus = (
        Menu(
            "board",
            "Board",
            tuple((f"size={size}, pieces={pieces}", f"{size} by {size}, {pieces} pieces") for size, pieces in BOARDS),
            "size=7, pieces=6",
        ),
    )
    upper_seat = 0

    def board(self, env: ChineseCheckersDiamond) -> str:
        return f"{env.size} by {env.size}"

    def rules(self, env: ChineseCheckersDiamond) -> tuple[str, list[str], list[Example]]:
        paragraphs = [
            "Red moves first. The goal of each player is the corner in which the other one begins.",
            STEP_OR_HOP.format(piece="piece", pieces="pieces"),
            "You win when your goal is full after your turn. At least one of the pieces there must be your own; pieces "
            "of the other player count as well: nobody can hold you up by staying at home.",
            DASHED_GOAL,
            "You must not fill your own corner while a piece of the other player is in it. If you cannot move, you "
            "pass.",
        ]
        if env.tip_lock:
            paragraphs.append(
                "You must not lock your own tip: the last cell of your corner must not be empty while your pieces "
                "stand on the four cells behind it."
            )
        board = ChineseCheckersDiamond(size=5, pieces=3)
        positions = [
            Example(env, None, "The start."),
            Example(board, "0..../00.../.1.../...11/..... 0 4", "The steps and the chains of hops of one piece.", 5),
        ]
        return (
            "Be the first to fill the corner across the board, where the other player begins.",
            [*paragraphs, limit(env.max_plies, "moves")],
            positions,
        )

    def goal(self, env: ChineseCheckersDiamond, seat: int, is_rotated: bool) -> str:
        place = "top" if (seat == 1) != is_rotated else "bottom"
        return f"your goal: the corner at the {place}, cells {', '.join(map(str, sorted(env.home_of(1 - seat))))}"


words = ChineseCheckersDiamondWords()
