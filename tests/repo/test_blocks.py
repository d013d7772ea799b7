"""Every block of code of README and docs is run or says why not, and every command has options that exist."""

import argparse
import importlib.util
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tyro

from tests.distribution.__main__ import APART, TESTS
from tests.helpers.blocks import PAGES, ROOT, Block, blocks, commands, files, module_run, name, program, with_mark

OURS = {"train", "jaxgames", "benchmarks", "examples", "docs"}  # packages whose commands are read in this process
NOT_HERE = {"examples.rllib_ppo", "examples.jaxmarl_ippo"}  # need libraries that the extra `dev` leaves out
SHELL = [block for page in PAGES for block in blocks(page) if block.language == "bash"]
SHORT = {  # options that make a command short
    "train.ppo": ("--total-steps", "1"),
    "train.alphazero": ("--total-steps", "1"),
    "train.klent": ("--total-steps", "1"),
    "train.imitation": ("--total-steps", "1"),
    "train.match": ("--games", "20"),
    "train.evaluate": ("--games", "20"),
}


def is_run(block: Block) -> bool:
    return block.language == "bash" and not block.why_not


def shortened(module: str, arguments: list[str]) -> list[str]:
    """The arguments of a command with those of SHORT in place of the page's; not where it resumes a run."""
    if module not in SHORT or "--resume" in arguments:
        return arguments
    option, value = SHORT[module]
    if option in arguments:
        at = arguments.index(option)
        arguments = arguments[:at] + arguments[at + 2 :]
    return [*arguments, option, value]


def waits_for_a_person(module: str, arguments: list[str]) -> bool:
    """Whether a command serves the page until it is stopped; in the terminal it ends with its input."""
    return module in ("jaxgames.play", "train.play") and "--terminal" not in arguments


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_is_closed_and_every_comment_has_a_block(page: Path) -> None:
    for block in blocks(page):
        assert not block.source or block.code in (ROOT / block.source).read_text(), f"{block} is not in {block.source}"
    found, stated = len(blocks(page)), page.read_text().count("\n```")
    assert 2 * found == stated + page.read_text().startswith("```"), f"{name(page)} has a fence that is not closed"
    comments = re.findall(r"^<!-- (?:not run|file|run with|from): .* -->\n(?!```)", page.read_text(), re.MULTILINE)
    assert comments == [], f"{name(page)}: no block follows"


class Parsed(Exception):
    """The command has read its arguments."""


@contextmanager
def only_parsing(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Ends a command with `Parsed` where its arguments have been read without an error."""
    cli: Any = tyro.cli
    parse: Any = argparse.ArgumentParser.parse_args

    def parsed(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                result = function(*arguments, **options)
            except FileNotFoundError:  # of a file that an earlier command writes
                raise Parsed from None
            if options.get("return_unknown_args"):
                return result
            raise Parsed

        return call

    with monkeypatch.context() as patch:
        patch.setattr(tyro, "cli", parsed(cli))
        patch.setattr(argparse.ArgumentParser, "parse_args", parsed(parse))
        yield


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # of modules that other tests import
@pytest.mark.parametrize("block", SHELL, ids=str)
def test_options_of_every_command_exist(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file, code in files(block.page).items():
        (tmp_path / file).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for command in commands(block.code):
        if (run := module_run(command)) is None:
            continue
        module, arguments = run
        assert importlib.util.find_spec(module), f"{block} runs {module}"
        if arguments and module.partition(".")[0] in OURS and module not in NOT_HERE:
            monkeypatch.setattr(sys, "argv", [module, *arguments])
            with only_parsing(monkeypatch), pytest.raises(Parsed):
                runpy.run_module(module, run_name="__main__", alter_sys=True)


def test_targets_extras_and_tests_of_every_command_exist() -> None:
    targets = {*re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for file in (ROOT / ".ci" / "run", *(ROOT / ".github" / "workflows").glob("*.yml")):
        for target in re.findall(r"\bmake ([a-z][\w-]*)", file.read_text()):
            assert target in targets, f"{name(file)}: make {target}"
    for page in PAGES:
        for target in re.findall(r"`make ([\w-]+)`", page.read_text()):
            assert target in targets, f"{name(page)}: make {target}"
        for names in re.findall(r"\.\[([\w,]+)\]", page.read_text()):
            assert {*names.split(",")} <= extras.keys(), f"{name(page)}: .[{names}]"
    for test in (*TESTS, *(test for tests in APART.values() for test in tests)):
        assert (ROOT / test.partition("::")[0]).exists(), test


# -- what runs -----------------------------------------------------------------------------------------------------


@pytest.mark.slow  # each page is a start of JAX and compiles whole games
@pytest.mark.parametrize("page", [with_mark(page) for page in PAGES if program(page).strip()], ids=name)
def test_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """All blocks in order, as one program, in an empty folder."""
    script = tmp_path / f"page_{page.stem}.py"  # not the name of a module that the page imports
    script.write_text(program(page))
    run_in(tmp_path, name(page), "python", str(script))


@pytest.mark.slow  # trains, for an iteration each
@pytest.mark.parametrize(
    "page", [with_mark(page) for page in PAGES if any(is_run(block) for block in blocks(page))], ids=name
)
def test_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """All commands in order, in a folder with the examples; trainings and matches are short."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for file, code in files(page).items():
        (tmp_path / file).write_text(code)
    ran = 0
    for block in filter(is_run, blocks(page)):
        for command in commands(block.code):
            if (run := module_run(command)) and not waits_for_a_person(*run):
                module, arguments = run
                run_in(tmp_path, str(block), "python", "-m", module, *shortened(module, arguments))
                ran += 1
    assert ran, f"{name(page)} has commands, and none is run: say why not"


def run_in(folder: Path, place: str, *command: str) -> None:
    """Runs a command of a page. Raises AssertionError with its output if it fails."""
    settings = {"PYTHONPATH": str(ROOT), "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".jax_cache")}
    words = [sys.executable if word == "python" else word for word in command]
    done = subprocess.run(
        words, cwd=folder, env=os.environ | settings, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{place}: {shlex.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
