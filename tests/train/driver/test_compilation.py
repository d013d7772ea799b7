"""Compiled programs on disk: where they are, and that a broken file of them costs nothing but time."""

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.helpers.stored_runs import ROOT, ends, environment, equal_checkpoints, start
from train.driver import compilation

CONFIG: Any = jax.config
PROGRAM = """
import sys, jax, jax.numpy as jnp
from pathlib import Path
from train.driver.compilation import keep_programs
keep_programs(Path(sys.argv[1]))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
print(jax.jit(lambda x: jnp.sin(x) @ jnp.cos(x).T)(jnp.ones((3, 3)))[0, 0])
"""


@pytest.fixture
def no_folder() -> Iterator[None]:
    """JAX as in a new process, without a folder for programs."""
    before, show = CONFIG.jax_compilation_cache_dir, warnings.showwarning
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)
    warnings.showwarning = show


@pytest.mark.usefixtures("no_folder")
def test_programs_are_kept_in_the_checkout_for_this_kind_of_processor(tmp_path: Path) -> None:
    compilation.keep_programs(tmp_path)
    assert CONFIG.jax_compilation_cache_dir == str(tmp_path / ".jax_cache" / compilation.processor())
    assert (tmp_path / ".jax_cache" / compilation.processor()).is_dir()


@pytest.mark.usefixtures("no_folder")
def test_folder_of_the_user_comes_first_and_the_cache_can_be_switched_off(tmp_path: Path) -> None:
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        compilation.keep_programs(tmp_path)
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    assert CONFIG.jax_compilation_cache_dir is None
    jax.config.update("jax_compilation_cache_dir", "somewhere")
    compilation.keep_programs(tmp_path)
    assert CONFIG.jax_compilation_cache_dir == "somewhere"
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_folder")
def test_checkout_that_cannot_be_written_to_has_no_folder(tmp_path: Path) -> None:
    (tmp_path / ".jax_cache").write_text("a file in its place")
    compilation.keep_programs(tmp_path)
    assert CONFIG.jax_compilation_cache_dir is None


@pytest.mark.slow  # starts three processes
def test_program_that_a_kill_left_unfinished_is_compiled_and_stored_again(tmp_path: Path) -> None:
    """JAX alone warns at every start, and never replaces the file."""
    off = {"JAX_COMPILATION_CACHE_DIR": ""}

    def run() -> str:
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            env={name: value for name, value in environment(**off).items() if value},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "Error reading" not in process.stderr
        return process.stdout

    result = run()
    (program,) = (tmp_path / ".jax_cache").glob("*/jit__lambda*-cache")
    whole = program.read_bytes()
    program.write_bytes(whole[: len(whole) // 2])
    assert run() == result
    assert len(program.read_bytes()) > len(whole) * 0.9
    assert run() == result


def test_other_warnings_are_shown(tmp_path: Path) -> None:
    shown: list[str] = []
    compilation._show_warning(lambda message: shown.append(str(message)), tmp_path, UserWarning("of another kind"))  # pyright: ignore[reportPrivateUsage]
    assert shown == ["of another kind"]


@pytest.mark.slow  # three starts of PPO
def test_run_has_the_same_bits_with_a_stored_program_a_new_one_and_without_the_cache(tmp_path: Path) -> None:
    small = ("--num-envs", "2", "--rollout-length", "16", "--num-minibatches", "2", "--total-steps", "128")
    game = ("--env", "dots_and_boxes(rows=1, cols=2)", "--evaluate-every", "0")
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    for name, variables in (
        ("off", {"JAX_ENABLE_COMPILATION_CACHE": "false"}),
        ("new", cache),
        ("stored", cache),
    ):
        ((status, _, error),) = ends(
            [start("train.ppo", ["--run-dir", str(tmp_path / name), *game, *small], **variables)]
        )
        assert status == 0, error
    assert list((tmp_path / "cache").glob("jit_iterate-*"))
    assert equal_checkpoints(tmp_path / "off", tmp_path / "new")
    assert equal_checkpoints(tmp_path / "off", tmp_path / "stored")
