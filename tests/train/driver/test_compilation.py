"""Compiled programs on disk: where they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.helpers.stored_runs import ends, equal_checkpoints, start
from train.driver import compilation

CONFIG: Any = jax.config


@pytest.fixture
def no_folder() -> Iterator[None]:
    """JAX as in a new process, without a folder for programs."""
    before = CONFIG.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


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
