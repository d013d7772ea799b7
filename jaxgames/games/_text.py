"""The common parts of texts of positions, read and written: fields, rows of cells, numbers.

A wrong text raises ValueError: "expected ..., not ...", with the wrong part.
"""

import itertools
import re
from collections.abc import Iterable, Mapping

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
