"""Files with the arrays of one game, in NumPy's .npz format: solutions, labelled positions, and policies.

A file holds the version of its format, the game, the version of the game, and a checksum over everything. The checksum
is its last 64 bytes. Equal arrays make equal files.
"""

import hashlib
import io
import secrets
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.registry import make_named_in_file

DIGEST_LENGTH = 64  # of the checksum, the SHA-256 of the file before it in hexadecimal digits


class FileKind(NamedTuple):
    """A kind of files, with the words of its errors."""

    format: int  # increased when their content changes
    noun: str  # such as "a solution"
    relation: str  # to a game: "solves"
    source: str  # the module or command that writes them
    how_to_write: str  # "write one with ..."
    again: str  # the remedy for an old file, such as "solve the game again"
    compressed: bool = True  # the weights of networks cannot be compressed much, and it takes long


def write_file(kind: FileKind, path: str | Path, env: Env[Any], arrays: dict[str, np.ndarray]) -> None:
    """Writes the arrays of a game, so that `read_file` reads them; creates the folders of the file."""
    entries: dict[str, Any] = {"format": kind.format, "game": str(env), "version": env.version}
    assert not entries.keys() & arrays.keys(), "these names are the file's own"
    entries.update(arrays)
    content = io.BytesIO()
    (np.savez_compressed if kind.compressed else np.savez)(content, **entries)
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = b"0" * DIGEST_LENGTH  # takes the place of the checksum, at the end of the file
    data = content.getvalue()[:-DIGEST_LENGTH]
    path = Path(path)
    check_output(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data + _digest(data))


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes the whole content or nothing, even when the process is killed meanwhile. A text is written in UTF-8.

    Of several writers at the same time, the last one counts.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """Yields the path of a temporary file, which takes the place of `path` at the end, unless there was an error."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_output(path: Path) -> None:
    """Raises OSError if no file can be written at a path, because it or a part of it is something else."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: expected a file to write, such as {path / 'name'}")
    for folder in path.parents:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{path} cannot be written, because {folder} is a file and no folder")


def read_file(kind: FileKind, path: str | Path) -> tuple[Env[Any], dict[str, np.ndarray]]:
    """Returns the game and the arrays of a file.

    Raises OSError if it cannot be read, ValueError, with the reason, if `write_file` of this version did not write it.
    """
    data = Path(path).read_bytes()
    if not data.startswith(b"PK"):
        raise ValueError(f"{path} is not a file of {kind.source}: {kind.how_to_write}")
    if data[-DIGEST_LENGTH:] != _digest(data[:-DIGEST_LENGTH]):
        raise ValueError(f"{path} is cut short, was altered, or is not {kind.noun}: its checksum does not fit")
    with refusing_wrong_entries(kind, path):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:  # an entry that was compressed could fill the memory
            if not kind.compressed and (size := sum(each.file_size for each in archive.infolist())) > len(data):
                raise ValueError(f"they have {size:,} bytes in a file of {len(data):,} bytes")
        with np.load(io.BytesIO(data)) as file:
            arrays = {name: file[name] for name in file.files}
        number, text, version = int(arrays.pop("format")), str(arrays.pop("game")), int(arrays.pop("version"))
    if number != kind.format:
        raise ValueError(f"{path} has format {number}, and this version reads format {kind.format}: {kind.again}")
    try:
        env = make_named_in_file(text)
    except ParameterError as error:
        raise ValueError(f"{path} {kind.relation} {text}, which cannot be made: {error}") from error
    if version != env.version:
        raise ValueError(
            f"{path} {kind.relation} version {version} of {text}, and this is version {env.version}: {kind.again}"
        )
    return env, arrays


@contextmanager
def refusing_wrong_entries(kind: FileKind, path: str | Path) -> Generator[None]:
    """Raises ValueError, with the path, for the errors of code that reads the entries of a file.

    The checksum does not prove the entries: another program can have written both.
    """
    try:
        yield
    except jax.errors.JaxRuntimeError:  # of the device
        raise
    except (
        *(LookupError, TypeError, AttributeError, ValueError, RuntimeError),  # of wrong entries
        *(OverflowError, MemoryError),  # of wrong sizes
        *(zipfile.BadZipFile, zlib.error, EOFError),  # of the archive
    ) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the entries of {path} are wrong: {reason}; {kind.again}") from error


@contextmanager
def named_by_parameter(file: str | Path, expected: str) -> Generator[None]:
    """Raises ParameterError for the errors of reading a file that a parameter names; `expected` describes the file."""
    try:
        yield
    except OSError as error:
        raise ParameterError(f"{file} cannot be read ({error.strerror}): expected {expected}") from error
    except ValueError as error:
        raise ParameterError(str(error)) from error


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
