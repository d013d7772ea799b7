"""The common parts of texts of positions, read and written: fields, rows of cells, numbers; and of drawn boards.

A wrong text raises ValueError: "expected ..., not ...", with the wrong part. Boards are drawn in lines of at most 80
characters, for terminals; see `Env.to_text`. Every cell shows its piece and, where there is room, the name that the
texts of moves use. Seats differ by letters.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

WIDTH = 80
SEAT_LETTERS = "ABCDEF"
NOBODY = "."  # on an empty cell

Pieces = Mapping[int, tuple[int, str]]  # the seat and the kind of the piece on each cell that is not empty

_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def split_fields(text: str, layout: str) -> list[str]:
    """Returns the fields of a text, which are separated by spaces; `layout` has one word per field, for the error."""
    fields, expected = text.split(), len(layout.split())
    if len(fields) != expected:
        raise ValueError(f"expected {layout!r}, {_NUMBER_WORDS[expected]} fields, not {len(fields)} in {text!r}")
    return fields


def split_rows(text: str, lengths: Mapping[int, int], letters: str, expected: str, gaps: bool = False) -> list[str]:
    """Returns the rows of a board, which are joined by `/`, with one letter per cell.

    Args:
      text: the rows from the top.
      lengths: how many cells each row has, by the row's number in an error.
      letters: the letters that may stand on a cell.
      expected: the letters in words, for an error.
      gaps: whether a digit stands for that many empty cells `.`, as in FEN; `letters` holds the digits then.
    """
    rows: list[str] = []
    if text.count("/") + 1 != len(lengths):
        raise ValueError(f"expected {len(lengths)} rows joined by '/', not {text.count('/') + 1} in {text!r}")
    for row, (number, length) in zip(text.split("/"), lengths.items(), strict=True):
        for letter in row:
            if letter not in letters:
                raise ValueError(f"expected {expected}, not {letter!r} in {row!r}")
        cells = re.sub("[0-9]", lambda gap: "." * int(gap[0]), row) if gaps else row
        if len(cells) != length:
            raise ValueError(f"expected {length} cells in row {number}, not {len(cells)} in {row!r}")
        rows.append(cells)
    return rows


def written_rows(pieces: Mapping[int, tuple[int, str]], lengths: Iterable[int]) -> str:
    """Returns the rows of a board, joined by `/`, with the seat of the piece on each cell, or `.`."""
    cells = itertools.count()
    return "/".join(
        "".join(str(pieces[cell][0]) if cell in pieces else "." for cell in itertools.islice(cells, length))
        for length in lengths
    )


def parse_int(text: str, expected: str, low: int = 0, high: int = 999_999_999, shown: str = "") -> int:
    """Returns the integer from `low` to `high` that a text of digits names.

    An error says "expected `expected`, not `shown`"; `shown` is the text itself if it is not given.
    """
    if not re.fullmatch("[0-9]{1,9}", text) or not low <= int(text) <= high:
        raise ValueError(f"expected {expected}, not {shown or repr(text)}")
    return int(text)


def parse_seat(text: str, num_players: int) -> int:
    """Returns the seat that a text names, from 0 to num_players - 1."""
    if text not in map(str, range(num_players)):
        raise ValueError(f"expected a seat to move from 0 to {num_players - 1}, not {text!r}")
    return int(text)


# -- boards in lines of text ------------------------------------------------------------------------


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
