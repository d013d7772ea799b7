"""The structure that docs/contributing.md draws: imports never point to a higher floor, and there is no circle."""

import ast
import functools
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each line is a floor, the lowest first. A module imports only from its own line and from the lines before it.
# A name is that of a module or a package. Add a new one to the first line that has its imports on it or before it.
# games/moves is moves.py of every game, games/_ is what games share, and games is the rest of every game.
SEARCHES = [  # and solutions, of one game
    *("games/search", "games/search_moves", "games/player", "games/playouts", "games/chains"),
    *("games/solution", "games/strength", "games/positions", "games/cell_sets"),
]
FLOORS = {
    "jaxgames": (
        ("_checks", "_batches", "_fields", "_platforms", "_progress", "_text_files", "bits"),
        ("env", "_named", "_specs", "sampling"),
        ("wrappers", "host"),
        ("games/_", "games/rules", "games/board", "games/moves"),
        ("registry", "games", "render", "greedy"),
        ("agents", "host_agent", "testing", "_files"),
        ("solvers", "mcts", "arena", "interop", *SEARCHES),
        ("policies", "baselines"),
        ("play", "games/words"),
    ),
    "train": (
        ("bounds", "ops", "recipes", "settings"),
        ("driver", "models", "matrix"),
        ("agents",),
        ("pretrained", "data"),
        ("network_learner",),
        ("ppo", "alphazero", "imitation"),
        ("klent",),
        ("plot",),
        ("evaluate", "match", "play", "export", "sweep", "ladder", "strength", "analyse", "baselines"),
    ),
    "benchmarks": (
        ("harness",),
        ("loops",),
        ("adapters", "envs"),
        ("peer_process", "play", "regression"),
        ("peers",),
        ("compiled", "search", "solvers", "solving", "training", "training_peers"),
        ("device",),
    ),
}
FORBIDDEN = {  # top-level packages that a package never imports
    "jaxgames": {"train", "benchmarks", "examples", "tests"},
    "train": {"benchmarks", "examples", "tests"},
    "benchmarks": {"tests"},
    "examples": {"tests"},
}


def modules(package: str) -> dict[str, Path]:
    """The modules of a top-level package by their dotted names; a package's `__init__` has the package's name."""
    paths = sorted((ROOT / package).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


@functools.cache
def imports(path: Path) -> list[str]:
    """The dotted names that a module imports, at its top, inside functions and for type checkers alike.

    A call `import_module("jaxgames...")` is an import too. The texts of registries, such as "module:constructor", are
    not: they name what is above them.
    """
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names.extend(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names.extend(str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant))
    return names


def import_graph(package: str) -> dict[str, set[str]]:
    """The modules of the same package that each module imports. `from package import module` points to the module."""
    names = modules(package)
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for target in imports(path):
            module = target if target in names else target.rpartition(".")[0]
            if module in names and module != name:
                found[name].add(module)
    return found


def floor(module: str) -> int:
    """The index of the module's line in FLOORS; `__init__` of a top-level package is above all lines."""
    package, _, rest = module.partition(".")
    if not rest:
        return len(FLOORS[package])
    room, *parts = rest.split(".")
    if room == "games" and parts:
        part = "_" if parts[-1].startswith("_") else parts[-1]
        room = next((f"games/{part}" for rooms in FLOORS[package] if f"games/{part}" in rooms), room)
    for number, rooms in enumerate(FLOORS[package]):
        if room in rooms:
            return number
    raise AssertionError(f"{module} stands on no floor: add {room!r} to FLOORS in {Path(__file__).name}")


@pytest.mark.parametrize("package", FLOORS)
def test_imports_never_point_to_a_higher_floor_and_form_no_circle(package: str) -> None:
    graph = import_graph(package)
    upwards = [
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in targets
        if floor(target) > floor(module)
    ]
    assert upwards == []
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_import_only_packages_below_them(package: str) -> None:
    wrong = {
        f"{module} imports {target}"
        for module, path in modules(package).items()
        for target in imports(path)
        if target.partition(".")[0] in FORBIDDEN[package]
    }
    assert wrong == set()


def test_library_imports_only_its_three_dependencies_at_import_time() -> None:
    """Everything else is an extra and is imported inside the function that uses it."""
    allowed = {"jax", "numpy", "chex", "jaxgames", *sys.stdlib_module_names}
    for module, path in modules("jaxgames").items():
        if module.startswith(("jaxgames.interop", "jaxgames.play")):
            continue  # each is imported by the people who have its extra
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= allowed, f"{module} imports {names}"
