"""Virtual environments of one check each, and the commands that run in them."""

import os
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
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
    """Runs a command and returns what it printed.

    Args:
      command: the program and its arguments.
      cwd: the folder to run it in.
      may_fail: whether the command may end with another exit status than 0.
      **variables: environment variables to set for it.

    Raises SystemExit with the output of a command that fails.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    arguments = [str(argument) for argument in command]
    environment = inherited | _SET | variables
    done = subprocess.run(
        arguments, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0 and not may_fail:
        sys.exit(f"{done.stdout}\nfailed in {cwd}, with exit status {done.returncode}: {' '.join(arguments)}")
    return done.stdout


class Environment:
    """A virtual environment in a folder of its own.

    Attributes:
      folder: where it stands, outside of the checkout.
      bin: the folder of its programs.
    """

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        """
        Args:
          folder: the folder to make.
          python: the interpreter that the environment is for.
        """
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
        """Runs a program of the environment, or one at an absolute path, and returns what it printed.

        The environment is first on the path. `cwd` is the environment's folder if it is not given.
        """
        path = os.pathsep.join((str(self.bin), os.environ.get("PATH", os.defpath)))
        command = (self.bin / program, *arguments)
        return run(command, cwd or self.folder, may_fail=may_fail, PATH=path, **variables)


class Timer:
    """Prints a line per check, with its seconds: `with Timer("metadata"): ...`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        print(f"{self.name} ...", end="", flush=True)
        self._start = time.monotonic()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        print(f" {'ok' if error is None else 'FAILED'}, {time.monotonic() - self._start:.0f} s", flush=True)
