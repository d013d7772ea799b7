"""The blocks of code of README and docs, and the commands in the blocks of shell.

A block is run by a test unless a comment on the line above it says why not:

    <!-- not run: takes an hour -->

Other comments above a block: `run with: rllib` names the environment of tests/examples/test_with_torch.py in which it
is run as a program of its own, and `from: examples/rllib_ppo.py` the file of which it is a part.

`<!-- commands not run: ... -->` at the top of a page is such a comment for all its blocks of shell, whose options are
checked in any case. Commands of a page find its blocks of Python below `<!-- file: nim.py -->` in this file.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README, DOCS = ROOT / "README.md", ROOT / "docs"
APPENDIX = DOCS / "appendix"  # generated pages
PAGES = [README, *(page for page in sorted(DOCS.rglob("*.md")) if page.parent != APPENDIX)]

FENCE = re.compile(
    r"(?:^<!-- (not run|file|run with|from): ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
OF_PAGE = re.compile(r"^<!-- commands not run: (.+) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int  # of its first line of code, counted from 1
    language: str  # "" for a block without a language
    code: str
    why_not: str  # the reason not to run it, "" if it is run
    file: str  # the file in which commands find it, "" if there is none
    environment: str  # the environment in which it is run alone, "" if it is a part of the page's program
    source: str  # the file of which it is a part, "" if it is of the page

    def __str__(self) -> str:
        return f"{name(self.page)}:{self.line}"


def name(page: Path) -> str:
    """Returns the path of a page in the repository."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """Returns the blocks of a page in their order."""
    text = page.read_text()
    of_page = OF_PAGE.search(text)
    found: list[Block] = []
    for match in FENCE.finditer(text):
        comment, value, language, code = match.groups()
        notes = {comment: value}
        why_not = notes.get("not run") or (of_page[1] if of_page and language == "bash" else "")
        line = text.count("\n", 0, match.start(4)) + 1
        others = (notes.get(each, "") for each in ("file", "run with", "from"))
        found.append(Block(page, line, language, code, why_not, *others))
    return found


def program(page: Path) -> str:
    """Returns the blocks of Python that are run, at their own lines, so that a traceback has the lines of the page."""
    code = ["" for _ in page.read_text().splitlines()]
    for block in blocks(page):
        if block.language == "python" and not (block.why_not or block.environment or block.source):
            lines = block.code.splitlines()
            code[block.line - 1 : block.line - 1 + len(lines)] = lines
    return "\n".join(code)


def files(page: Path) -> dict[str, str]:
    """Returns the files that the commands of a page find, by their names."""
    found: dict[str, str] = {}
    for block in blocks(page):
        if block.file:
            found[block.file] = found.get(block.file, "") + block.code
    return found


# -- shell ---------------------------------------------------------------------------------------------------------


def commands(code: str) -> Iterator[list[str]]:
    """Yields the words of each simple command; variables and loops have their first value, others are 1.

    A command inside a word, as after `bash -c`, is yielded too.
    """
    values = {"OMPI_COMM_WORLD_SIZE": "64", "OMPI_COMM_WORLD_RANK": "0"}
    for line in re.sub(r"\\\n", " ", code).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        lexer.whitespace_split, lexer.commenters = True, "#"
        command: list[str] = []
        for word in [*lexer, ";"]:
            if word not in (";", "&&", "|", "||"):
                command.append(re.sub(r"\$(\w+)", lambda found: values.get(found[1], "1"), word))
                continue
            while command and command[0] in ("do", "then", "if", "exec", "export"):
                command.pop(0)
            while command and (assigned := re.fullmatch(r"(\w+)=(.*)", command[0])):
                values[assigned[1]] = assigned[2]
                command.pop(0)
            if command[:1] == ["for"]:
                values[command[1]] = command[3]
            elif command and command[0] not in ("done", "fi"):
                yield command
                for each in command:
                    if "python -m" in each:  # as after `bash -c`
                        yield from commands(each)
            command = []


def module_run(command: list[str]) -> tuple[str, list[str]] | None:
    """Returns the module of `python -m` in a command and its arguments, or None."""
    for at, word in enumerate(command[:-2]):
        if word.rpartition("/")[2] == "python" and command[at + 1] == "-m":
            return command[at + 2], command[at + 3 :]
    return None


# -- pages that need libraries that the environment of the tests lacks -------------------------------------------------
# gymnax caps the versions of JAX and Gymnasium, so the extra `dev` leaves it out, and JaxMARL too.

REASON = "is tested in an environment of its own: python -m tests.distribution extras gymnax jaxmarl"
LIBRARY_OF_PAGE = {  # that the names or programs of a page need
    DOCS / "api" / "adapters.md": "jaxmarl",  # which installs gymnax
    DOCS / "interop" / "gymnax.md": "gymnax",
    DOCS / "interop" / "jaxmarl.md": "jaxmarl",
}


def needs(library: str) -> pytest.MarkDecorator:
    """Returns the mark of a test that needs a library."""
    return pytest.mark.skipif(find_spec(library) is None, reason=f"{library} {REASON}")


def with_mark(page: Path) -> Any:
    """Returns a page as the parameter of a test that imports what the page names or shows."""
    return pytest.param(page, marks=needs(LIBRARY_OF_PAGE[page]) if page in LIBRARY_OF_PAGE else ())
