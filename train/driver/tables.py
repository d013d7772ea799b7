"""Tables in Markdown, as commands and examples print them."""

from collections.abc import Iterable, Sequence


def markdown(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Returns the table in Markdown, one line per row, without a newline at its end.

    Args:
      header: the names of the columns.
      rows: a cell for each column, written as `str` writes it. A bar in a cell is escaped.

    Raises ValueError for a row that has more or fewer cells than the header.
    """
    lines = [_line(header), "|---" * len(header) + "|"]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row must have {len(header)} cells, as the header {list(header)} has, not {list(row)}")
        lines.append(_line(row))
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    escaped = (str(cell).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
