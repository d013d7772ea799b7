"""Files and records from anybody: no module is imported for them, and wrong entries are refused in one sentence."""

import dataclasses
import errno
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import _files as _game_files
from jaxgames import arena, baselines, registry, solvers
from jaxgames.arena.records import GameRecord
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.policies import file as exported
from jaxgames.solvers.exact import solution
from tests.helpers.solved import random_positions, solved_boxes
from train.data import positions

MODULE = """
from pathlib import Path
import jaxgames
from jaxgames.games.dots_and_boxes import DotsAndBoxes

class OfFile(DotsAndBoxes):
    id = "of_file"

Path(__file__).with_name("imported").touch()
jaxgames.register("of_file", OfFile)
"""
GAME = "game_of_file:of_file(rows=1, cols=1)"


class OfFile(DotsAndBoxes):
    """A game whose text names a module."""

    def __str__(self) -> str:
        return GAME


def forged(kind: _game_files.FileKind, path: Path) -> Path:
    """A file whose game is of a module, with a checksum that fits."""
    _game_files.write_file(kind, path, OfFile(rows=1, cols=1), {})
    return path


def record(_: Path) -> str:
    return json.dumps(
        dict.fromkeys(GameRecord.__annotations__) | {"env": GAME, "agents": [], "actions": [], "returns": []}
    )


READERS: dict[str, tuple[Callable[[Path], Any], Callable[[Any], Any]]] = {
    "solution": (lambda path: forged(solution.SOLUTION_FILE, path), solvers.load),
    "policy": (lambda path: forged(exported.KIND, path), exported.read),
    "positions": (lambda path: forged(positions.KIND, path), positions.load),
    "record": (record, arena.replay),
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that can be imported and registers a game."""
    path = tmp_path / "game_of_file.py"
    path.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_module_that_a_file_names_is_not_imported(reader: str, module: Path) -> None:
    make, read = READERS[reader]
    with pytest.raises(ValueError, match="names the module 'game_of_file', and a file imports none"):
        read(make(module.with_name("file")))
    assert not module.with_name("imported").exists()


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("how", ["import", "make"])
def test_game_of_an_imported_module_is_made(how: str) -> None:
    if how == "import":
        __import__("game_of_file")
    else:
        jaxgames.make(GAME)
    assert registry.make_named_in_file(GAME).id == "of_file"
    with pytest.raises(jaxgames.ParameterError, match="'os' must call"):
        registry.make_named_in_file("os:system(size=2)")


# -- writing -------------------------------------------------------------------------------------------------------


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one writes the whole file while the first one writes."""
    path, write_bytes = tmp_path / "[a]*.json", Path.write_bytes

    def interrupted(temporary: Path, content: bytes) -> int:
        monkeypatch.setattr(Path, "write_bytes", write_bytes)
        _game_files.write_whole(path, "second")
        return temporary.write_bytes(content)

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    _game_files.write_whole(path, "first")
    assert path.read_text() == "first"
    assert [*tmp_path.iterdir()] == [path]


def test_file_stays_as_it_was_if_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write_bytes = tmp_path / "file", Path.write_bytes
    _game_files.write_whole(path, "first")

    def full(temporary: Path, content: bytes) -> int:
        write_bytes(temporary, content[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        _game_files.write_whole(path, "second")
    assert path.read_text() == "first"
    assert [*tmp_path.iterdir()] == [path]


# -- wrong entries -------------------------------------------------------------------------------------------------

BOXES = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
SMALLEST = baselines.card("chinese_checkers_3")  # the policy whose program is read fastest
KINDS: dict[str, tuple[Callable[[Path], object], Callable[[Path], Any]]] = {
    "solution": (lambda path: solved_boxes(1, 1).save(path), solvers.load),
    "positions": (lambda path: random_positions(2, BOXES).save(path), positions.load),
    "policy": (
        lambda path: exported.write(path, *exported.read(SMALLEST.file)),
        lambda path: exported.load(path, jaxgames.make(SMALLEST.env)),
    ),
}


def with_entries(path: Path, entries: dict[str, Any]) -> None:
    """Replaces the entries of a file; its checksum fits."""
    content = io.BytesIO()
    np.savez(content, **entries)
    with_checksum(path, content.getvalue())


def with_checksum(path: Path, data: bytes) -> None:
    """Writes an archive whose comment is its checksum."""
    data = data[:-2] + (_game_files.DIGEST_LENGTH).to_bytes(2, "little")
    path.write_bytes(data + hashlib.sha256(data).hexdigest().encode())


class Written(NamedTuple):
    path: Path
    entries: dict[str, np.ndarray]
    read: Callable[[Path], Any]


@pytest.fixture(params=KINDS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    """A file of each kind."""
    path = tmp_path / "file"
    write, read = KINDS[request.param]
    write(path)
    with np.load(path) as file:
        return Written(path, {name: file[name] for name in file.files}, read)


def test_missing_and_wrong_entries_are_refused_with_the_path(written: Written) -> None:
    path, entries, read = written
    with_entries(path, entries)
    read(path)
    for name in (each for each in entries if not each.startswith(exported.PARAMETER)):  # JAX checks those of a policy
        for value in (None, np.array("x"), np.array([1.5]), np.array([None])):
            others = {other: entry for other, entry in entries.items() if other != name}
            with_entries(path, others if value is None else others | {name: value})
            with pytest.raises(ValueError, match=f"{path}"):
                read(path)


@pytest.mark.parametrize("name", ["format", "version"])
def test_file_of_a_newer_format_or_of_another_version_of_the_game_is_refused(name: str, written: Written) -> None:
    """With both numbers and the remedy."""
    path, entries, read = written
    number = int(entries[name])
    with_entries(path, entries | {name: entries[name] + 1})
    with pytest.raises(ValueError, match=rf"{path} .*\b{name} {number + 1}\b.*\b{number}: .*"):
        read(path)


def test_file_that_is_damaged_inside_is_refused_with_the_path(written: Written) -> None:
    """The flags, the kind of compression, the sum of the bits and the name of an entry, and the data."""
    path, _, read = written
    data = path.read_bytes()[: -_game_files.DIGEST_LENGTH]
    directory = data.rindex(b"PK\x01\x02")
    for place in (8, 10, 16, 46):
        wrong = bytes([data[directory + place] ^ 1])
        with_checksum(path, data[: directory + place] + wrong + data[directory + place + 1 :])
        with pytest.raises(ValueError, match=f"{path}"):
            read(path)
    with_checksum(path, data[:60] + bytes(20) + data[80:])
    with pytest.raises(ValueError, match=f"{path}"):
        read(path)


def test_entry_of_a_size_that_no_memory_holds_is_refused(written: Written) -> None:
    path, _, read = written
    entry = io.BytesIO()
    np.lib.format.write_array_header_1_0(entry, {"descr": "|u1", "fortran_order": False, "shape": (10**13,)})
    content = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("large.npy", entry.getvalue())
    with_checksum(path, content.getvalue()[: -_game_files.DIGEST_LENGTH])
    with pytest.raises(ValueError, match=f"the entries of {path} are wrong"):
        read(path)


def test_compressed_policy_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, content = tmp_path / "file", io.BytesIO()
    np.savez_compressed(content, program=np.zeros(10**6, np.uint8))
    with_checksum(path, content.getvalue())
    monkeypatch.setattr(zipfile.ZipExtFile, "read", None)
    with pytest.raises(ValueError, match=f"{path} are wrong: they have 1,000,128 bytes in a file of"):
        exported.read(path)


# -- programs of policies ------------------------------------------------------------------------------------------


def test_program_that_calls_another_library_is_refused_before_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "file"
    game, content = exported.read(SMALLEST.file)
    header, params = content.header, content.params

    def program(params: Any, observation: jax.Array, seat: jax.Array) -> Any:
        called = jnp.linalg.cholesky(jnp.eye(2) + seat[0]).sum()  # of LAPACK on a CPU
        rows = seat.shape[0]
        return jnp.zeros((rows, header.num_actions)) + called, jnp.zeros((rows, *header.value_shape))

    arguments = exported.arguments(header.observation_shape, params)
    made = jax.export.export(jax.jit(program), platforms=["cpu"])(*arguments)
    header = dataclasses.replace(header, kept_arguments=made.module_kept_var_idx, platforms=("cpu",))
    exported.write(path, game, content._replace(header=header, module=made.mlir_module_serialized))
    with pytest.raises(ValueError, match="the program reaches outside of itself, by the operation custom_call"):
        exported.load(path, game)


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        (
            "stablehlo.custom_call @shape_assertion(%3, %2) {api_version = 2 : i32} : (tensor<i1>) -> ()",
            "",
        ),
        ("%0 = stablehlo.custom_call @shape_assertion_of_mine(%3)", "custom_call"),
        ("%0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0)", "custom_call"),
        ('%0 = "stablehlo.custom_call"(%3) <{call_target_name = "shape_assertion"}>', "custom_call"),
        ('%0:2 = "stablehlo.infeed"(%token)', "infeed"),
        ('%0 = "stablehlo.send"(%arg0, %token)', "send"),
        ('%0:2 = "stablehlo.recv"(%token)', "recv"),
        ("%0:2 = stablehlo.while(%iterArg = %c) : tensor<i32>", ""),
    ],
)
def test_operations_that_reach_the_host_are_forbidden(line: str, operation: str) -> None:
    found = exported.FORBIDDEN.search(line)
    assert (found[1] if found else "") == operation
