"""Writes the tables of settings of training into their page: `python -m docs.make.settings`.

The page names a class between two markers, and its table stands between them:

    <!-- settings: train.ppo.Config -->
    <!-- end of settings -->

The texts are those below the fields of the class, which `--help` shows too.
"""

import dataclasses
import pkgutil
import re
from pathlib import Path
from typing import Any

import tyro
from docstring_parser import parse_from_object

from train.driver.tables import update_pages

PAGE = Path(__file__).parents[1] / "appendix" / "settings.md"
TABLE = re.compile(r"(?<=<!-- settings: )(\S+) -->.*?<!-- end of settings -->", re.DOTALL)


def main(*, check: bool = False) -> None:
    """Writes the tables of settings into their page.

    Args:
      check: write nothing, and exit with status 1 if the page differs.
    """
    update_pages({PAGE: updated(PAGE.read_text(encoding="utf-8"))}, "python -m docs.make.settings", check)


def updated(page: str) -> str:
    """Returns the text of a page with the tables of the classes that it names."""
    return TABLE.sub(lambda found: f"{found[1]} -->\n\n{table(found[1])}\n\n<!-- end of settings -->", page)


def table(name: str) -> str:
    """Returns the settings with a default that a dataclass and its numbers add to its base, as a table in Markdown."""
    settings = pkgutil.resolve_name(name)
    added = settings.__annotations__ | getattr(settings, "numbers_type", settings).__annotations__
    texts = {
        param.arg_name: param.description or ""
        for each in settings.__mro__[-2::-1]
        for param in parse_from_object(each).params
    }
    lines = ["| setting | default | text |", "|---|---|---|"]
    for field in dataclasses.fields(settings):
        if field.name in added and field.default is not dataclasses.MISSING:
            text = " ".join(texts[field.name].split()).replace("|", r"\|")
            lines.append(f"| `{field.name}` | {shown(field.default)} | {text} |")
    return "\n".join(lines)


def shown(default: Any) -> str:
    if default in (None, ()):
        return "none"
    if isinstance(default, tuple) and all(isinstance(entry, str) for entry in default):  # pyright: ignore[reportUnknownVariableType]  # of any type
        return f"`{' '.join(default)}`"
    return f"`{default}`" if isinstance(default, str) else str(default)


if __name__ == "__main__":
    tyro.cli(main)
