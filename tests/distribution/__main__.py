"""Builds the package and tries it as a user has it: `make dist-check`, `make dist-check-extras`.

    python -m tests.distribution                        build, metadata, contents, citation, types, a fresh environment
    python -m tests.distribution extras [NAME ...]      each extra alone, in an environment of its own; gymnax and
                                                        JaxMARL, which the extra `dev` leaves out, with all their tests
    python -m tests.distribution versions [PYTHON ...]  some fast tests, with the newest and the lowest versions

It needs only Python and pip. All environments are in a temporary folder, outside of the checkout, and are deleted.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs.py"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

TOOLS = ("build>=1.2", "twine>=6.1", "check-wheel-contents>=0.6", "cffconvert>=2.0", "pyright>=1.1.407")
MAX_WHEEL_BYTES = 5_000_000  # 4 MB of them are baseline agents
MIN_TYPED = 0.95  # share of the public names whose types are known in full
DATA_FILES = {  # of the library: baseline agents, parts of the page, the marker of types
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "jaxgames").rglob("*")
    if path.is_file() and path.suffix != ".py" and path.parent.name != "__pycache__"
}
NOT_ALONE = {  # extras that are not tried in an environment of their own
    "aot": "only `make compiled` uses it, in an environment of its own",
    "cuda": "gigabytes, for machines with a GPU",
    "dev": "installed by `make test`",
    "docs": "installed by `make docs`",
}

NAMES = "tests/repo/test_pages.py::test_files_modules_and_names_of_a_page_are_there"
CODE = "tests/repo/test_blocks.py::test_python_of_a_page_runs"
IPPO = "tests/examples/test_whole_trainings.py::test_"
APART = {  # tests of the extras that `dev` leaves out: gymnax caps JAX and Gymnasium, and JaxMARL needs gymnax
    "gymnax": (
        *("tests/interop/test_gymnax.py", "tests/interop/test_adapters.py"),
        *(f"{NAMES}[docs/interop/gymnax.md]", f"{CODE}[docs/interop/gymnax.md]"),
    ),
    "jaxmarl": (
        *("tests/interop/test_jaxmarl.py", "tests/interop/test_adapters.py"),
        f"{IPPO}example_learns_to_win[jaxmarl_ippo]",
        f"{IPPO}advantages_of_ippo_are_sums_of_discounted_errors_up_to_the_end_of_a_game",
        *(f"{NAMES}[docs/{page}.md]" for page in ("api/adapters", "interop/jaxmarl")),
        f"{CODE}[docs/interop/jaxmarl.md]",
    ),
}

# For `versions`: the extras that are installed, and the tests that run.
TRIED_EXTRAS = sorted(EXTRAS.keys() - NOT_ALONE.keys() - APART.keys() - {"distrax"})
PYTEST = ("-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", "--quick")
TEST_TOOLS = ("pytest>=8.4", "hypothesis>=6.140", "pytest-xdist>=3.6")
TESTS = (
    *("tests/test_env.py", "tests/test_registry.py", "tests/test_sampling.py", "tests/test_wrappers.py"),
    *("tests/contract", "tests/render", "tests/mcts", "tests/interop", "tests/train/ppo/test_ppo.py"),
    "tests/train/driver",
)


# A check must not find the checkout. XLA's fast compilation is enough for programs that take one step.
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
VARIABLES = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COMPILE": "1",  # an environment runs a small part of its modules, once
    "PIP_QUIET": "2",  # errors only
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_backend_optimization_level=0",
}


def main() -> None:
    """The command `python -m tests.distribution`."""
    parser = argparse.ArgumentParser(prog="python -m tests.distribution", description="Tries the package as users do.")
    parser.add_argument("check", nargs="?", choices=["package", "extras", "versions"], default="package")
    parser.add_argument("names", nargs="*", help=f"extras: {', '.join(alone())}; versions: interpreters")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jaxgames-") as folder:
        if arguments.check == "extras":
            check_extras(Path(folder), arguments.names or alone())
        elif arguments.check == "versions":
            check_versions(Path(folder), arguments.names or [sys.executable])
        else:
            check_package(Path(folder))


def run(command: Sequence[object], cwd: Path, *, may_fail: bool = False, **variables: str) -> str:
    """Runs a command in a folder, with these environment variables, and returns what it printed.

    Raises SystemExit with the output of a command that fails, unless it may.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    words = [str(word) for word in command]
    environment = inherited | VARIABLES | variables
    done = subprocess.run(words, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0 and not may_fail:
        sys.exit(f"{done.stdout}\nfailed in {cwd}, with exit status {done.returncode}: {' '.join(words)}")
    return done.stdout


class Environment:
    """A virtual environment in a folder of its own, outside of the checkout; `bin` has its programs."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        run((python, "-m", "venv", folder), folder.parent)

    def install(self, *requirements: object) -> None:
        """Installs requirements with pip: names with versions, wheels or options of pip."""
        run((self.bin / "python", "-m", "pip", "install", *requirements), self.folder)

    def run(self, program: str | Path, *arguments: object, cwd: Path | None = None, **options: Any) -> str:
        """Runs a program of the environment, or one at an absolute path, in its folder if `cwd` is not given."""
        path = os.pathsep.join((str(self.bin), os.environ.get("PATH", os.defpath)))
        return run((self.bin / program, *arguments), cwd or self.folder, PATH=path, **options)


@contextmanager
def timed(name: str) -> Generator[None]:
    """Prints the name of a check, and its seconds when it has passed."""
    print(f"{name} ...", end="", flush=True)
    start = time.monotonic()
    yield
    print(f" ok, {time.monotonic() - start:.0f} s", flush=True)


# -- the package -----------------------------------------------------------------------------------------------------


def check_package(folder: Path) -> None:
    """Checks all but the extras and the versions, and puts what was built into dist/."""
    with timed("tools"):
        tools = Environment(folder / "tools")
        tools.install(*TOOLS)
    with timed("sdist and wheel"):
        tools.run("python", "-m", "build", "--outdir", folder / "dist", ROOT)
    wheel, built = next((folder / "dist").glob("*.whl")), sorted((folder / "dist").iterdir())
    with timed("metadata"):
        tools.run("twine", "check", "--strict", *built)
    with timed("contents of the wheel"):
        tools.run("check-wheel-contents", wheel)
        check_contents(wheel)
    with timed("citation"):
        tools.run("cffconvert", "--validate", "--infile", ROOT / "CITATION.cff")
    with timed("games, without extras"):
        fresh = Environment(folder / "fresh")
        fresh.install(wheel)
        fresh.run("python", "-I", PROGRAMS, "none")
    with timed("types of the public names"):
        typed = typed_share(tools, fresh)
    print(f"{wheel.stat().st_size:,} bytes, {typed:.1%} of the public names are typed")
    (ROOT / "dist").mkdir(exist_ok=True)
    for file in built:
        shutil.copy(file, ROOT / "dist")
    print("dist/ has", ", ".join(file.name for file in built))


def check_contents(wheel: Path) -> None:
    """Raises SystemExit unless the wheel is small and has the files of the library that are not Python."""
    size, names = wheel.stat().st_size, zipfile.ZipFile(wheel).namelist()
    if size >= MAX_WHEEL_BYTES:
        sys.exit(f"the wheel has {size:,} bytes; at most {MAX_WHEEL_BYTES:,} are allowed")
    if missing := sorted(DATA_FILES - {*names}):
        sys.exit(f"the wheel has no {', '.join(missing)}")


def typed_share(tools: Environment, fresh: Environment) -> float:
    """Returns the share of the public names whose types are known; raises SystemExit if it is below MIN_TYPED."""
    pyright = tools.bin / "pyright"  # reads the packages of the first Python on the path, which is that of `fresh`
    output = fresh.run(pyright, "--verifytypes", "jaxgames", "--ignoreexternal", "--outputjson", may_fail=True)
    report = json.loads(output)["typeCompleteness"]
    typed = report["completenessScore"]
    if typed < MIN_TYPED:
        unknown = [symbol["name"] for symbol in report["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
        sys.exit(f"{typed:.1%} of the public names are typed, not {MIN_TYPED:.0%}; not typed: {', '.join(unknown)}")
    return typed


# -- extras --------------------------------------------------------------------------------------------------------


def alone() -> list[str]:
    """The extras that are tried alone."""
    return sorted(EXTRAS.keys() - NOT_ALONE.keys())


def check_extras(folder: Path, names: list[str]) -> None:
    """Installs each extra from the wheel into an environment of its own, uses it, and runs APART's tests."""
    unknown = sorted(set(names) - set(alone()))
    if unknown:
        sys.exit(f"{', '.join(unknown)}: must be one of {', '.join(alone())}")
    run((sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT), folder)
    wheel = next(folder.glob("*.whl"))
    checkout = folder / "checkout"  # what a user of `train` has beside the installed library
    checkout.mkdir()
    (checkout / "train").symlink_to(ROOT / "train")
    for name in names:
        with timed(name):
            environment = Environment(folder / name)
            environment.install(f"jaxgames[{name}] @ {wheel.as_uri()}")
            environment.run("python", PROGRAMS, name, PYTHONPATH=str(checkout))
            if name in APART:
                environment.install(*requirements("newest"), *TEST_TOOLS)
                print(environment.run("python", *PYTEST, *APART[name], cwd=ROOT).splitlines()[-1], end="")
        shutil.rmtree(environment.folder)


# -- versions ------------------------------------------------------------------------------------------------------


def check_versions(folder: Path, pythons: list[str]) -> None:
    """Runs some fast tests on each interpreter with the newest packages, and on the lowest one with the lowest.

    Prints a row of the table in docs/versions.md for each.
    """
    for number, python in enumerate(pythons):
        version = run((python, "-c", "import platform; print(platform.python_version())"), folder).strip()
        lowest = f">={'.'.join(version.split('.')[:2])}" == PROJECT["requires-python"]
        for kind in ("newest", "lowest") if lowest else ("newest",):
            with timed(f"Python {version}, {kind}"):
                environment = Environment(folder / f"{kind}{number}", python)
                environment.install(*requirements(kind), *TEST_TOOLS)
                summary = environment.run("python", *PYTEST, "-m", "not slow", *TESTS, cwd=ROOT).splitlines()[-1]
            print(f"| {' | '.join((version, kind, *installed(environment), summary))} |")
            shutil.rmtree(environment.folder)


def requirements(kind: str) -> Iterator[str]:
    """The requirements of the library and of TRIED_EXTRAS; pinned to the stated bounds if `kind` is "lowest"."""
    for requirement in (*PROJECT["dependencies"], *(each for extra in TRIED_EXTRAS for each in EXTRAS[extra])):
        yield requirement.replace(">=", "==") if kind == "lowest" else requirement


def installed(environment: Environment) -> list[str]:
    """The installed versions of the library's own dependencies."""
    packages = json.loads(environment.run("python", "-m", "pip", "list", "--format", "json"))
    version_of = {package["name"].lower(): package["version"] for package in packages}
    return [version_of[re.split(r"\W", requirement)[0]] for requirement in PROJECT["dependencies"]]


if __name__ == "__main__":
    main()
