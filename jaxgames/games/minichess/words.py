"""Minichess in the words of people."""

from jaxgames.games.minichess.rules import Minichess
from jaxgames.play.words import Example, Menu, Words, limit


class MinichessWords(Words[Minichess]):
    """Chess for people who know the pieces or do not."""

    title = "Minichess"
    menus = (
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
    )
    upper_seat = 1

    def board(self, env: Minichess) -> str:
        return "the king is captured" if env.rules == "king_capture" else ""

    def rules(self, env: Minichess) -> tuple[str, list[str], list[Example]]:
        is_standard = env.rules == "standard"
        first = "one square forward, from its first square also two" if env.double_step else "one square forward"
        becomes = "a queen, rook, bishop or knight, as you choose" if env.promotion == "all" else "a queen"
        paragraphs = [
            "White moves first. The pieces move as in chess. The king steps to any square next to it. The rook goes "
            "along rows and columns, the bishop along diagonals, the queen along both, as far as the way is free. The "
            "knight jumps two squares in one direction and one to the side, also over other pieces.",
            "A piece that goes to a square with a piece of the other side captures that piece.",
            f"A pawn goes {first}. It captures diagonally, one square ahead. On the last row it becomes {becomes}. "
            "There is no castling and no capture en passant.",
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
            Example(env, None, "The start."),
            Example(env, "2k2/2p2/5/1NP2/2K2 w - - 0 1", "A knight jumps.", "b2"),
            Example(env, "2k2/5/1p1p1/2P2/2K2 w - - 0 1", "A pawn goes straight ahead, and captures diagonally.", "c2"),
        ]
        checkmate = "Checkmate the other king: attack it so that no move saves it."
        goal = checkmate if is_standard else "Capture the other king."
        return goal, [*paragraphs, limit(env.max_plies, "moves")], positions


words = MinichessWords()
