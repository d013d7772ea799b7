"""Tables in Markdown, as commands and examples print them."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

TABLE = re.compile(r"^\|.*\n\|-.*(?:\n\|.*)*", re.MULTILINE)  # with its header and the rule below it
Column = str | Callable[[Mapping[str, Any]], object]  # a template such as "{win_rate:.3f}", or the entry of a row
BAR = re.compile(r"(?<!\\)\|")  # between two cells


def markdown(header: Sequence[object], rows: Iterable[Sequence[object]], padded: bool = False) -> str:
    """Returns the table in Markdown, one line per row, without a newline at its end.

    Args:
      header: the names of the columns.
      rows: a cell for each column, written as `str` writes it. A bar in a cell is escaped.
      padded: makes the cells of a column equally wide, for a terminal.

    Raises ValueError for a row that has more or fewer cells than the header.
    """
    lines = [_escaped(header)]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row must have {len(header)} cells, as the header {list(header)} has, not {list(row)}")
        lines.append(_escaped(row))
    widths = [max(map(len, column)) if padded else 0 for column in zip(*lines, strict=True)]
    rule = "".join(f"|{'-' * max(3, width + 2)}" for width in widths) + "|"
    first, *others = (
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )
    return "\n".join([first, rule, *others])


def table_of(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Column], padded: bool = False) -> str:
    """Returns rows as a table in Markdown, with an entry for each column; see `entry_of` and `markdown`."""
    return markdown([*columns], ([entry_of(row, column) for column in columns.values()] for row in rows), padded)


def entry_of(row: Mapping[str, Any], column: Column) -> object:
    """Returns the entry of a row in a column, whose template takes the names of the row; "" where one is missing."""
    if not isinstance(column, str):
        return column(row)
    try:
        return column.format_map({name: value for name, value in row.items() if value is not None})
    except KeyError:
        return ""


def tables_in(text: str) -> list[dict[str, Any]]:
    """Returns the tables in a text of Markdown as `{"columns": [...], "rows": [[...], ...]}`, whose cells are texts.

    So `markdown(table["columns"], table["rows"])` is the table again, without the spaces around cells.
    """
    found: list[dict[str, Any]] = []
    for table in TABLE.finditer(text):
        columns, _, *rows = [
            [cell.strip().replace(r"\|", "|") for cell in BAR.split(line)[1:-1]] for line in table[0].splitlines()
        ]
        found.append({"columns": columns, "rows": rows})
    return found


def update_pages(texts: Mapping[Path, str], command: str, check: bool) -> NoReturn:
    """Writes the pages that differ from their texts, or with `check` only names them, and exits; then 1 if one differs.

    Args:
      command: what to type to write them.
    """
    changed = [page for page, text in texts.items() if not page.is_file() or page.read_text(encoding="utf-8") != text]
    for page in changed:
        if not check:
            page.write_text(texts[page], encoding="utf-8")
        print(page.name, f"differs: type {command}" if check else "is written")
    sys.exit(1 if check and changed else 0)


def _escaped(cells: Sequence[object]) -> list[str]:
    return [str(cell).replace("|", r"\|") for cell in cells]
