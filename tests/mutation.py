"""Mutation score: which share of small changes to a module makes a fast test fail.

    python -m tests.mutation --module jaxgames.games --changes 40 --results runs/mutation/games.jsonl

A change is one other operator, constant, condition or order of arguments, or one removed statement. A sample of the
changes, spread over the files of the module by their sizes, is tried one by one in a copy of the packages. A change
is caught when a test fails or the tests take too long. RESULTS has one JSON line per change; a second call resumes.
With `--again`, the changes that survived are tried once more, such as after a test was added.
"""

import argparse
import ast
import copy
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PYTEST = ["-m", "pytest", "--quick", "-m", "not slow", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]

# The tests of a module: the longest name that the module's begins with counts.
TESTS = {
    "jaxgames.games": ("tests/games", "tests/contract"),
    "jaxgames.games.checkers": ("tests/games/checkers", "tests/games", "tests/contract"),
    "jaxgames.games.chinese_checkers": ("tests/games/chinese_checkers", "tests/games", "tests/contract"),
    "jaxgames.games.chinese_checkers_diamond": (
        "tests/games/chinese_checkers_diamond",
        "tests/games",
        "tests/contract",
    ),
    "jaxgames.games.dots_and_boxes": ("tests/games/dots_and_boxes", "tests/games", "tests/contract"),
    "jaxgames.games.minichess": ("tests/games/minichess", "tests/games", "tests/contract"),
    "jaxgames.mcts": ("tests/mcts",),
    "jaxgames.solvers": ("tests/solvers",),
    "jaxgames.solvers.alphabeta": ("tests/solvers/alphabeta", "tests/solvers/checkers", "tests/solvers/minichess"),
    "jaxgames.solvers.checkers": ("tests/solvers/checkers", "tests/solvers/alphabeta"),
    "jaxgames.solvers.chinese_checkers": ("tests/solvers/chinese_checkers",),
    "jaxgames.solvers.chinese_checkers_diamond": ("tests/solvers/chinese_checkers_diamond", "tests/solvers/exact"),
    "jaxgames.solvers.dots_and_boxes": ("tests/solvers/dots_and_boxes", "tests/solvers/alphabeta"),
    "jaxgames.solvers.exact": ("tests/solvers/exact", "tests/solvers/chinese_checkers_diamond"),
    "jaxgames.solvers.minichess": ("tests/solvers/minichess", "tests/solvers/alphabeta"),
    "jaxgames.solvers.strength": ("tests/solvers/strength",),
    "train.ops": ("tests/train/ops",),
}
GAMES = ("chinese_checkers_diamond", "chinese_checkers", "checkers", "dots_and_boxes", "minichess")

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
REMOVED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)  # statements; so are calls and assignments to a part
NOT_CHANGED = {"annotation", "returns", "decorator_list", "type_params"}


class Change(NamedTuple):
    file: str
    line: int
    column: int
    change: str  # what stood there -> what stands there now
    source: str  # of the whole file, changed

    @property
    def key(self) -> tuple[Any, ...]:
        return self.file, self.column, self.change, self.source.splitlines()[self.line - 1]


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
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    sets_part = isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Subscript, ast.Attribute))
    if isinstance(node, REMOVED) or is_call or sets_part:
        yield ast.Pass()


def changed_files(path: Path) -> Iterator[Change]:
    """Yields every change of a file. Type hints, decorators and the texts of messages stay."""
    text = path.read_text()
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.stmt, ast.expr)):
            head = node.test if isinstance(node, (ast.If, ast.While)) else node  # not the whole block
            begin = sum(map(len, lines[: head.lineno - 1])) + head.col_offset
            end = sum(map(len, lines[: (head.end_lineno or 0) - 1])) + (head.end_col_offset or 0)
            before = text.encode()[begin:end].decode()
            for other in changed_nodes(node):
                after = ast.unparse(other.test if isinstance(other, (ast.If, ast.While)) else other)
                after = f"({after})" if isinstance(head, ast.expr) else after
                source = (text.encode()[:begin] + after.encode() + text.encode()[end:]).decode()
                name = str(path.relative_to(ROOT))
                yield Change(name, head.lineno, head.col_offset, f"{_short(before)} -> {_short(after)}", source)
        if not isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert)):
            for field, value in ast.iter_fields(node):
                children = value if isinstance(value, list) else [value]
                waiting.extend(child for child in children if isinstance(child, ast.AST) and field not in NOT_CHANGED)


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 70 else f"{line[:45]} ... {line[-20:]}"


def sample(module: str, seed: int) -> list[Change]:
    """Returns all changes of a module or package in random order. Any beginning has the files' shares of changes."""
    path = ROOT / module.replace(".", "/")
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    ranked: list[tuple[float, str, Change]] = []
    for file in files:
        of_file = list(changed_files(file))
        random.Random(f"{seed} {file.relative_to(ROOT)}").shuffle(of_file)
        ranked.extend(((rank + 0.5) / len(of_file), change.file, change) for rank, change in enumerate(of_file))
    return [change for *_, change in sorted(ranked, key=lambda each: each[:2])]


def tests_of(file: str) -> list[str]:
    """Returns the arguments of pytest for the tests of a file, those of the file's name first."""
    module = file.removesuffix(".py").replace("/", ".")
    folders = TESTS[max((name for name in TESTS if module.startswith(name)), key=len)]
    paths: list[Path] = []
    for folder in folders:
        inside = (ROOT / folder).glob("test_*.py") if folder == "tests/games" else (ROOT / folder).rglob("test_*.py")
        paths.extend(path for path in sorted(inside, key=lambda path: Path(file).stem not in path.stem))
    game = next((game for game in GAMES if Path(file).stem.startswith(game)), "")
    longer = [other for other in GAMES if game and game in other and other != game]
    only = (
        ["-k", " and not ".join([f"not contract or {game}", *longer])] if "tests/contract" in folders and game else []
    )
    return [*(str(path.relative_to(ROOT)) for path in paths), *only]


def run_tests(folder: Path, tests: list[str], cpu_limit: float) -> tuple[str, float]:
    """Returns the first test that failed, "too long" or "" if all passed, and the CPU seconds."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_limit), int(cpu_limit) + 5))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, *PYTEST, *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=limit,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=20 * cpu_limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if process.returncode in (4, 5):
        raise RuntimeError(f"pytest {' '.join(tests)} runs no test:\n{output[-2000:]}")
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    reason = "too long" if process.returncode < 0 else f"exit {process.returncode}"
    return "" if process.returncode == 0 else (failed[0][:200] if failed else reason), cpu


def interval(caught: int, tried: int) -> tuple[float, float]:
    """Returns the 95 % interval of a share by Wilson."""
    share, z = caught / tried, 1.96
    middle, spread = share + z * z / (2 * tried), z * math.sqrt(share * (1 - share) / tried + (z / (2 * tried)) ** 2)
    return (middle - spread) / (1 + z * z / tried), (middle + spread) / (1 + z * z / tried)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", required=True, help="a module or a package, such as jaxgames.games.checkers")
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--again", action="store_true", help="try those that survived once more")
    arguments = parser.parse_args()

    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    lines = arguments.results.read_text().splitlines() if arguments.results.exists() else []
    results = {tuple(result["key"]): result for result in map(json.loads, lines)}
    changes = sample(arguments.module, arguments.seed)[: arguments.changes]
    seconds: dict[frozenset[str], float] = {}
    with tempfile.TemporaryDirectory() as temporary, arguments.results.open("a") as file:
        folder = Path(temporary)
        for path in ROOT.iterdir():
            if path.name in ("jaxgames", "train", "tests"):
                shutil.copytree(path, folder / path.name)
            elif path.name != ".git":
                (folder / path.name).symlink_to(path)
        for change in changes:
            stored = results.get(change.key)
            if stored and (stored["test"] or not arguments.again):
                continue
            tests = tests_of(change.file)
            same = frozenset(tests)
            if same not in seconds:  # warms the caches, and shows how long the tests take
                failed, seconds[same] = run_tests(folder, tests, 3600)
                if failed:
                    raise SystemExit(f"a test fails without any change: {failed}")
            start = time.monotonic()
            (folder / change.file).write_text(change.source)
            failed, cpu = run_tests(folder, tests, 3 * seconds[same] + 60)
            shutil.copyfile(ROOT / change.file, folder / change.file)  # with the time of now, for numba's cache
            result = {"key": change.key, "test": failed, "seconds": round(time.monotonic() - start), "cpu": round(cpu)}
            results[change.key] = result
            print(
                f"{'caught' if failed else 'SURVIVED':9} {change.file}:{change.line}  {change.change}  {failed}",
                flush=True,
            )
            file.write(json.dumps(result) + "\n")
            file.flush()

    tried = [change for change in changes if change.key in results]
    survivors = [change for change in tried if not results[change.key]["test"]]
    low, high = interval(len(tried) - len(survivors), len(tried))
    print(f"\n{arguments.module}: {len(tried)} changes tried, {len(tried) - len(survivors)} caught,", end=" ")
    print(f"95 % interval {low:.0%} to {high:.0%}, {sum(results[c.key]['cpu'] for c in tried)} CPU seconds. Survived:")
    for change in survivors:
        print(f"{change.file}:{change.line}  {change.change}")


if __name__ == "__main__":
    main()
