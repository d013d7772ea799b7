"""Mutation score: which share of small changes to a module makes a fast test fail.

    python -m tests.mutation --module jaxgames.games --changes 40 --results runs/mutation/games.jsonl

A change is one other operator, constant, condition or order of arguments, or one removed statement. A sample of the
changes, spread over the files of the module by their sizes, is tried one by one in a copy of the packages. A change
is caught when a test fails or the tests take too long, so all tests must pass without a change. RESULTS has one JSON
line per change; a second call resumes. With JAXGAMES_FORMS=library in its environment, it measures the code that a GPU
runs.
"""

import argparse
import ast
import copy
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jaxgames.arena import wilson

ROOT = Path(__file__).parents[1]
CPU_LIMIT = 600  # seconds after which the tests take too long
PYTEST = ["-m", "pytest", "--quick", "-m", "not slow", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
NOT_CHANGED = {"annotation", "returns", "decorator_list"}


class Change(NamedTuple):
    file: str
    line: int
    column: int
    text: str  # what stood there -> what stands there now
    source: str  # of the whole file, changed

    @property
    def key(self) -> tuple[Any, ...]:
        return self.file, self.column, self.text, self.source.splitlines()[self.line - 1]


def changed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the node with each change that it allows."""

    def changed(**fields: Any) -> ast.AST:
        other = copy.copy(node)
        vars(other).update(fields)
        return other

    match node:
        case ast.Compare(ops=[first, *rest]) if type(first) in OPERATORS:
            yield changed(ops=[OPERATORS[type(first)](), *rest])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield changed(op=OPERATORS[type(op)]())
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield changed(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from (changed(value=value + step) for step in (1, -1))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield changed(test=ast.UnaryOp(ast.Not(), test))
        case ast.Call(func=ast.Attribute(attr="where" | "select"), args=[condition, first, second]):
            yield changed(args=[condition, second, first])
        case _:
            pass
    match node:  # statements that can be left out
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case _:
            pass


def changes_of(path: Path) -> Iterator[Change]:
    """Yields every change of a file. Type hints, decorators and the texts of messages stay."""
    source = path.read_bytes()
    lines = source.splitlines(keepends=True)
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.stmt, ast.expr)):
            head = node.test if isinstance(node, (ast.If, ast.While)) else node  # not the whole block
            begin = sum(map(len, lines[: head.lineno - 1])) + head.col_offset
            end = sum(map(len, lines[: (head.end_lineno or 0) - 1])) + (head.end_col_offset or 0)
            for other in changed_nodes(node):
                after = ast.unparse(other.test if isinstance(other, (ast.If, ast.While)) else other)
                after = f"({after})" if isinstance(head, ast.expr) else after
                text = f"{_short(source[begin:end].decode())} -> {_short(after)}"
                all = (source[:begin] + after.encode() + source[end:]).decode()
                yield Change(str(path.relative_to(ROOT)), head.lineno, head.col_offset, text, all)
        if not isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert)):
            for field, value in ast.iter_fields(node):
                children = value if isinstance(value, list) else [value]
                waiting.extend(child for child in children if isinstance(child, ast.AST) and field not in NOT_CHANGED)


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 70 else f"{line[:45]} ... {line[-20:]}"


def sample(module: str) -> list[Change]:
    """Returns all changes of a module or package in random order. Any beginning has the files' shares of changes."""
    path = ROOT / module.replace(".", "/")
    ranked: list[tuple[float, str, Change]] = []
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
        changes = list(changes_of(file))
        random.Random(f"0 {file.relative_to(ROOT)}").shuffle(changes)
        ranked.extend(((rank + 0.5) / len(changes), change.file, change) for rank, change in enumerate(changes))
    return [change for *_, change in sorted(ranked, key=lambda each: each[:2])]


BESIDE = {  # tests in files and folders with other names, in the order in which they run
    "games": ("games/test_*.py", "contract/test_*.py", "solvers/**/test_*.py", "render/test_*.py", "play/test_*.py"),
    **dict.fromkeys(("env", "wrappers"), ("test_testing.py", "contract/test_*.py")),
    "agents": ("mcts/test_agents.py", "arena/test_*.py", "play/test_agents.py"),
    "ops": ("test_learners.py", "ppo/test_loss.py", "driver/test_loop.py"),
    **dict.fromkeys(
        ("ppo", "klent", "alphazero", "imitation", "network_learner"),
        ("test_learners.py", "ops/test_targets.py", "test_runs.py", "test_settings.py"),
    ),
}


def pytest_arguments(file: str) -> list[str]:
    """Returns the arguments of pytest for the tests of a file, the likely ones first."""
    package, folder, *inner = Path(file).with_suffix("").parts
    tests = ROOT / "tests" / ("" if package == "jaxgames" else package)
    game = inner[0] if folder == "games" and len(inner) > 1 else ""
    patterns = [f"{folder}/{game}/**/test_*.py", f"test_{folder}.py", *BESIDE.get(folder, ())]
    found = dict.fromkeys(str(path.relative_to(ROOT)) for pattern in patterns for path in sorted(tests.glob(pattern)))
    if not found:
        raise SystemExit(f"no test is known for {file}: name one in BESIDE of tests/mutation.py")
    of_game = ["-k", f"not contract or [{game}- or [{game}]"] if game else []
    return [*sorted(found, key=lambda path: inner[-1:] == [] or inner[-1] not in path), *of_game]


def run_tests(folder: Path, tests: list[str]) -> str:
    """Returns the first test that failed, or why the tests ended, or "" if all passed."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    limits: dict[str, Any] = {"timeout": 20 * CPU_LIMIT}  # seconds of the clock, for tests that wait
    limits["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT + 5))
    command = [sys.executable, *PYTEST, *tests]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, **limits)
    except subprocess.TimeoutExpired:
        return "too long"
    if done.returncode in (4, 5):
        raise SystemExit(f"pytest {' '.join(tests)} runs no test:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    failed = [line[:200] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    reason = "too long" if done.returncode < 0 else f"exit {done.returncode}"
    return "" if done.returncode == 0 else (failed or [reason])[0]


def copy_of_packages(folder: Path) -> None:
    """Fills a folder with a copy of the packages, and links to everything else."""
    for path in ROOT.iterdir():
        if path.name in ("jaxgames", "train", "tests"):
            shutil.copytree(path, folder / path.name)
        elif path.name != ".git":
            (folder / path.name).symlink_to(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", required=True, help="a module or a package, such as jaxgames.games.checkers")
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--results", type=Path, required=True)
    arguments = parser.parse_args()

    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    lines = arguments.results.read_text().splitlines() if arguments.results.exists() else []
    results: dict[tuple[Any, ...], dict[str, Any]] = {tuple(each["key"]): each for each in map(json.loads, lines)}
    changes = sample(arguments.module)[: arguments.changes]
    with tempfile.TemporaryDirectory() as temporary, arguments.results.open("a") as file:
        folder = Path(temporary)
        copy_of_packages(folder)
        for change in changes:
            if change.key in results:
                continue
            (folder / change.file).write_text(change.source)
            failed = run_tests(folder, pytest_arguments(change.file))
            shutil.copyfile(ROOT / change.file, folder / change.file)  # with the time of now, for numba's cache
            results[change.key] = {"key": change.key, "test": failed}
            outcome = "caught   " if failed else "SURVIVED "
            print(f"{outcome}{change.file}:{change.line}  {change.text}  {failed}", flush=True)
            file.write(json.dumps(results[change.key]) + "\n")
            file.flush()

    survivors = [change for change in changes if not results[change.key]["test"]]
    caught = len(changes) - len(survivors)
    low, high = wilson(caught, len(changes))
    print(f"\n{arguments.module}: {caught} of {len(changes)} changes caught, 95 % interval {low:.0%} to {high:.0%}.")
    print("Survived:")
    for change in survivors:
        print(f"{change.file}:{change.line}  {change.text}")


if __name__ == "__main__":
    main()
