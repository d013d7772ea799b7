"""Checkers in the words of people."""

import re

from jaxgames.games.checkers.rules import Checkers, CheckersState
from jaxgames.games.checkers.whole_moves import Board, Path, text_of, visits
from jaxgames.play.words import Example, Menu, Words, limit

ADJUDICATION = (
    "Turns are counted, those of both sides together. From the 40th on, a player with at least three pieces more than "
    "the other wins. After 60 turns the player with more pieces wins; equal numbers are a draw."
)


class CheckersWords(Words[Checkers]):
    """Whole captures are one word: 22x15x6, or 22x6 if only one capture leads there."""

    title = "Checkers"
    menus = (
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
    )
    upper_seat = 0

    def rules(self, env: Checkers) -> tuple[str, list[str], list[Example]]:
        draws = {
            "wcdf": "80 moves in a row, of both sides together, without a capture and without a move of a man",
            "openspiel": "40 moves in a row, of both sides together, without a capture",
        }
        paragraphs = [
            "Black moves first. The pieces are called men. A man steps to the next dark square diagonally ahead of it, "
            "if that is empty.",
            "A man captures by jumping over a neighbouring piece of the other side, diagonally ahead, to the empty "
            "square behind it. The captured piece leaves the board. You must capture when you can. Of several captures "
            "you may choose any one.",
            "The same piece must go on jumping while it can. Each jump counts as a move, all of them are one turn.",
            "A man that reaches the last row becomes a king, and the turn ends. A king steps and jumps forwards and "
            "backwards, always by one square.",
            f"It is a draw after {draws[env.draw_rule]}." if env.draw_rule in draws else ADJUDICATION,
            limit(env.max_plies, "moves"),
        ]
        positions = [
            Example(env, None, "The start: Black, here at the bottom, moves first."),
            Example(env, "B:W10,19,31:B6", "Black jumps over the man on 10, and then must jump over the one on 19.", 6),
            Example(env, "B:W31:BK18", "A king moves in all four directions.", 18),
        ]
        return "Capture all pieces of the other side, or leave them without a move.", paragraphs, positions

    def legal_texts(self, env: Checkers, state: CheckersState) -> list[str]:
        return [text_of(path) for path in sorted(Board.of(state).legal_paths())]

    def turn(self, env: Checkers, state: CheckersState, word: str) -> list[int]:
        path = _path(state, word)
        return Board.of(state).play(path) if path else []


def _path(state: CheckersState, word: str) -> Path | None:
    """Returns the legal move of checkers with these squares, some of which may be left out; None if there is none."""
    if not re.fullmatch(r"\d{1,2}([-x:]\d{1,2})+", word):
        return None
    squares = tuple(map(int, re.findall(r"\d+", word)))
    legal = sorted(Board.of(state).legal_paths())
    begun = [path for path in legal if path == squares] or [path for path in legal if path[: len(squares)] == squares]
    if begun:  # the same squares of all of them are played
        return begun[0][: len(squares)]
    paths = [path for path in legal if path[0] == squares[0] and path[-1] == squares[-1] and visits(path, squares)]
    if len(paths) > 1:
        raise ValueError(f"{word!r} can be {', '.join(map(text_of, paths))}: name the squares on the way")
    return paths[0] if paths else None


words = CheckersWords()
