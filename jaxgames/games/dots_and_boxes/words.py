"""Dots and Boxes in the words of people."""

from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState
from jaxgames.play.words import Example, Menu, Words

SIZES = ((2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (8, 8))  # the boards that are offered


class DotsAndBoxesWords(Words[DotsAndBoxes]):
    """A game that counts points, the boxes."""

    title = "Dots and Boxes"
    menus = (
        Menu(
            "board",
            "Board",
            tuple((f"rows={rows}, cols={cols}", f"{rows} by {cols} boxes") for rows, cols in SIZES),
            "rows=5, cols=5",
        ),
    )

    def board(self, env: DotsAndBoxes) -> str:
        return f"{env.rows} by {env.cols} boxes"

    def rules(self, env: DotsAndBoxes) -> tuple[str, list[str], list[Example]]:
        paragraphs = [
            "Red moves first. In your turn you draw one line between two neighbouring dots.",
            "Whoever draws the fourth side of a box takes it, and must draw another line. One line can complete two "
            "boxes. You need not take a box that you could take.",
            "The game ends when all lines are drawn."
            + (" Equal numbers are a draw." if self.can_be_drawn(env) else ""),
            "Take care: after your third side of a box, the other player can take it.",
        ]
        board = DotsAndBoxes(rows=2, cols=2)
        positions = [
            Example(board, "101001100000 .... 0", "The line on the right of the upper left box completes it."),
            Example(board, "101001110000 0... 0", "Red has taken the box and moves again."),
        ]
        return f"Take more of the {env.num_boxes} boxes than the other player.", paragraphs, positions

    def can_be_drawn(self, env: DotsAndBoxes) -> bool:
        return env.num_boxes % 2 == 0

    def points(self, state: DotsAndBoxesState) -> list[int]:
        return [int((state.owner == seat).sum()) for seat in range(2)]


words = DotsAndBoxesWords()
