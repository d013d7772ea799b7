"""Boards drawn in lines of text of at most 80 characters, for terminals; see `Env.to_text`.

Every cell shows its piece and, where there is room, the name that the texts of moves use. Seats differ by letters. The
drawings take the pieces by their cells, as the games' `pieces_of(state)` returns them.
"""

from collections.abc import Mapping, Sequence

WIDTH = 80
SEAT_LETTERS = "ABCDEF"
NOBODY = "."  # on an empty cell

Pieces = Mapping[int, tuple[int, str]]  # the seat and the kind of the piece on each cell that is not empty


def checkers(pieces: Pieces) -> str:
    """Returns 8 rows of squares: the dark ones with their PDN numbers, after the letter of the piece on them."""
    letters = {square: ("bw" if kind == "man" else "BW")[seat] for square, (seat, kind) in pieces.items()}
    words = [f"{letters.get(square, NOBODY)}{square}" for square in range(1, 33)]
    board: list[str] = []
    for row in range(8):
        dark = words[4 * row : 4 * row + 4]
        board.append(_row([word for square in dark for word in (("", square) if row % 2 == 0 else (square, ""))], 4))
    return _lines([*board, "b, B: man and king of seat 0, Black    w, W: of seat 1, White"])


def minichess(ranks: Sequence[str]) -> str:
    """Returns 5 ranks with their numbers, and the files below: capitals are White's pieces."""
    board = [f"{5 - index}  {' '.join(rank)}" for index, rank in enumerate(ranks)]
    return _lines([*board, "", "   a b c d e", "capitals: seat 0, White    small letters: seat 1, Black"])


def star(pieces: Pieces, places: Sequence[Sequence[int]], num_players: int) -> str:
    """Returns the star; `places` are the axial coordinates (q, r) of the cells, r downwards."""
    return _lines([_hexagonal(pieces, [(r, 2 * q + r) for q, r in places]), _legend(range(num_players))])


def diamond(pieces: Pieces, size: int) -> str:
    """Returns the diamond with the corner of seat 0 on top."""
    places = [(row + col, col - row) for row in range(size) for col in range(size)]
    return _lines([_hexagonal(pieces, places), _legend(range(2))])


def dots_and_boxes(drawn: Sequence[bool], owners: Sequence[int], rows: int, cols: int) -> str:
    """Returns the dots, the drawn edges and the owners of the boxes, with the numbers of the dots' rows and columns."""
    vertical = (rows + 1) * cols
    lines = ["    " + _row([str(col) for col in range(cols + 1)], 4)]
    for row in range(rows + 1):
        edges = drawn[row * cols : (row + 1) * cols]
        lines.append(f"{row:>2}  +" + "".join(("---+" if edge else "   +") for edge in edges))
        if row < rows:
            sides = drawn[vertical + row * (cols + 1) : vertical + (row + 1) * (cols + 1)]
            letters = [SEAT_LETTERS[owner] if owner >= 0 else " " for owner in owners[row * cols : (row + 1) * cols]]
            walls = ["|" if side else " " for side in sides]
            lines.append("    " + "".join(f"{wall} {box} " for wall, box in zip(walls, [*letters, " "], strict=True)))
    boxes_of = [f"seat {seat} {SEAT_LETTERS[seat]}: {owners.count(seat)} boxes" for seat in range(2)]
    return _lines([*lines, "    ".join(boxes_of)])


def _hexagonal(pieces: Pieces, places: Sequence[tuple[int, int]]) -> str:
    """Returns cells in rows that are shifted by half a cell against each other.

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
        return _placed(numbered, places, left, half)
    board = _placed(letters, places, left, 1).split("\n")
    first = sorted({row: cell for cell, (row, _) in reversed(list(enumerate(places)))}.items())
    return "\n".join(f"{cell:>4}  {line}" for (_, cell), line in zip(first, board, strict=True))


def _placed(words: Sequence[str], places: Sequence[tuple[int, int]], left: int, half: int) -> str:
    """Returns words in their rows, from left to right; a column is `half` characters wide."""
    lines: dict[int, str] = {}
    for (row, column), word in sorted(zip(places, words, strict=True)):
        lines[row] = lines.get(row, "").ljust((column - left) * half) + word
    return "\n".join(lines.values())


def _legend(seats: Sequence[int]) -> str:
    return "    ".join(f"seat {seat}: {SEAT_LETTERS[seat]}" for seat in seats)


def _row(words: Sequence[str], width: int) -> str:
    return "".join(word.ljust(width) for word in words)


def _lines(lines: Sequence[str]) -> str:
    """Returns lines as one text, without spaces at their ends."""
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n"))
