"""The generated pages with all tables of stored results: `examples.papers.tables` writes them to docs/appendix.

`docs/results/appendix.toml` has the pages, and for each its title and the captions of its tables, in their order:

    [alpha_mini]
    title = "Minichess: all tables"
    [alpha_mini.tables]
    alpha_mini_win_rates = "Win rates against random players, one row per agent."
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from train.baselines.entries import RESULTS


def pages() -> dict[str, dict[str, Any]]:
    """Returns the title and the captions of each page, by its name."""
    return tomllib.loads((RESULTS / "appendix.toml").read_text(encoding="utf-8"))


def appendix(tables: Mapping[str, str]) -> dict[str, str]:
    """Returns the text of each page, by its name.

    Args:
      tables: the tables in Markdown by their names. The second and later tables of a file NAME.json are NAME_2, ...

    Raises KeyError for a caption without a table.
    """
    return {name: "\n".join(_page(page, tables)) for name, page in pages().items()}


def _page(page: Mapping[str, Any], tables: Mapping[str, str]) -> Iterator[str]:
    yield f"# {page['title']}\n"
    yield "<!-- commands not run: they are those of the stored results -->\n"
    yield "Written by `python -m examples.papers.tables` from the stored results."
    last = None
    for name, caption in page["tables"].items():
        file = name if (RESULTS / f"{name}.json").is_file() else re.sub(r"_\d+$", "", name)
        if file != last:
            yield from _head(file)
        yield f"\n{caption}\n\n{tables[name]}"
        last = file
    yield ""


def _head(file: str) -> Iterator[str]:
    """Returns the lines above the tables of a file: its name, where the result comes from, and its commands."""
    yield f"\n## {file}\n"
    if not (RESULTS / f"{file}.json").is_file():
        return
    stored = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))
    seconds = f", {stored['cpu_seconds']:,.0f} CPU seconds" if stored["cpu_seconds"] else ""
    commands = [*stored.get("training", []), *(stored.get("commands") or [stored["command"]])]
    yield f"[Stored result](../results/{file}.json) of {stored['date']}, {stored['processor']}{seconds}:\n"
    yield "\n".join(["```bash", *commands, "```"])
