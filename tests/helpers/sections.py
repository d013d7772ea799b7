"""The sections of README and docs, and the figures in them."""

import re
from itertools import takewhile
from pathlib import Path

from tests.helpers.blocks import FENCE

FIGURE = re.compile(r"(?<![\w.,#])\d[\d,]*(?:\.\d+)?(?!\w)")


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def figures(text: str) -> dict[float, str]:
    """The numbers of a text."""
    return {float(figure.replace(",", "")): figure.rstrip(",") for figure in FIGURE.findall(text)}


def section(page: Path, anchor: str) -> str:
    """The part of a page below a heading, without the verdicts of a study; all of it without an anchor."""
    text = re.sub(r"^\| in the study .*?\n\n", "", FENCE.sub("", page.read_text()), flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"^(#+) (.*)\n", text, flags=re.MULTILINE)
    depths, headings, bodies = parts[1::3], parts[2::3], parts[3::3]
    if not anchor:
        return "".join(bodies)
    first = [anchor_of(heading) for heading in headings].index(anchor)
    below = takewhile(lambda i: i == first or len(depths[i]) > len(depths[first]), range(first, len(depths)))
    return "".join(bodies[i] for i in below)
