"""Virtual environments of one check each, and the commands that run in them."""

import os
import subprocess
import sys
import time
import venv
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

# A check must not find the checkout. XLA's fast compilation is enough for programs that take one step.
_HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_SET = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COMPILE": "1",  # an environment runs a small part of its modules, once
    "PIP_QUIET": "2",  # errors only
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_backend_optimization_level=0",
}


def run(command: Sequence[object], cwd: Path, *, may_fail: bool = False, **variables: str) -> str:
    """Runs a command in a folder, with these environment variables, and returns what it printed.

    Raises SystemExit with the output of a command that fails, unless it may.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    words = [str(word) for word in command]
    environment = inherited | _SET | variables
    done = subprocess.run(words, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0 and not may_fail:
        sys.exit(f"{done.stdout}\nfailed in {cwd}, with exit status {done.returncode}: {' '.join(words)}")
    return done.stdout


class Environment:
    """A virtual environment in a folder of its own, outside of the checkout; `bin` has its programs."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        if python == sys.executable:
            venv.create(folder, with_pip=True)
        else:
            run((python, "-m", "venv", folder), folder.parent)

    def install(self, *requirements: object) -> None:
        """Installs requirements with pip: names with versions, wheels or options of pip."""
        run((self.bin / "python", "-m", "pip", "install", *requirements), self.folder)

    def run(
        self, program: str | Path, *arguments: object, cwd: Path | None = None, may_fail: bool = False, **variables: str
    ) -> str:
        """Runs a program of the environment, or one at an absolute path, in its folder if `cwd` is not given."""
        path = os.pathsep.join((str(self.bin), os.environ.get("PATH", os.defpath)))
        command = (self.bin / program, *arguments)
        return run(command, cwd or self.folder, may_fail=may_fail, PATH=path, **variables)


@contextmanager
def timed(name: str) -> Generator[None]:
    """Prints the name of a check, and its seconds when it has passed."""
    print(f"{name} ...", end="", flush=True)
    start = time.monotonic()
    yield
    print(f" ok, {time.monotonic() - start:.0f} s", flush=True)
