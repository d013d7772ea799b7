"""Boards drawn in lines of text of at most 80 characters, for terminals; see `Env.to_text`.

Every cell shows its piece and, where there is room, the name that the texts of moves use. Seats differ by letters.
"""

from collections.abc import Mapping, Sequence

WIDTH = 80
SEAT_LETTERS = "ABCDEF"
NOBODY = "."  # on an empty cell

Pieces = Mapping[int, tuple[int, str]]  # the seat and the kind of the piece on each cell that is not empty


def hexagonal(pieces: Pieces, places: Sequence[tuple[int, int]], num_players: int) -> str:
    """Returns cells in rows that are shifted by half a cell against each other, and the letters of the seats below.

    Each cell has the letter of its owner and its number. Where the board is too wide for that, the numbers of the first
    cells of the rows stand on the left.

    Args:
      pieces: the seat on each cell that is not empty.
      places: the row and the column of each cell; neighbours in a row are two columns apart.
    """
    letters = [SEAT_LETTERS[pieces[cell][0]] if cell in pieces else NOBODY for cell in range(len(places))]
    numbered = [f"{letter}{cell}" for cell, letter in enumerate(letters)]
    half = max(map(len, numbered)) // 2 + 1  # the width of half a cell, with a gap between the cells
    left = min(column for _, column in places)
    if (max(column for _, column in places) - left) * half + 2 * half <= WIDTH:
        board = _placed(numbered, places, left, half)
    else:
        first = sorted({row: cell for cell, (row, _) in reversed(list(enumerate(places)))}.items())
        rows = zip(first, _placed(letters, places, left, 1), strict=True)
        board = [f"{cell:>4}  {row}" for (_, cell), row in rows]
    return lines([*board, "    ".join(f"seat {seat}: {SEAT_LETTERS[seat]}" for seat in range(num_players))])


def row(words: Sequence[str], width: int) -> str:
    """Returns words in columns of the same width."""
    return "".join(word.ljust(width) for word in words)


def lines(lines: Sequence[str]) -> str:
    """Returns lines as one text, without spaces at their ends."""
    return "\n".join(line.rstrip() for line in lines)


def _placed(words: Sequence[str], places: Sequence[tuple[int, int]], left: int, half: int) -> list[str]:
    """Returns words in their rows, from left to right; a column is `half` characters wide."""
    rows: dict[int, str] = {}
    for (row, column), word in sorted(zip(places, words, strict=True)):
        rows[row] = rows.get(row, "").ljust((column - left) * half) + word
    return list(rows.values())
