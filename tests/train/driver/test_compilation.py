"""Programs: settings that cannot fit in memory are refused before there is a folder, and compiled ones are kept."""

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.helpers.stored_runs import ends, equal_checkpoints, start
from train.driver import compilation
from train.ops.sharding import mesh_for
from train.ppo import PPO, Config

GAME = Config(env="dots_and_boxes(rows=1, cols=1)", hidden_sizes=(8,))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rollout_length": 10**8}, "reduce rollout_length = 100,000,000 or num_envs = 20"),
        ({"hidden_sizes": (10**7, 10**7)}, "reduce hidden_sizes = 10,000,000"),
    ],
)
def test_setting_that_makes_a_run_too_large_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"needs at least [\d,]+\.\d GB of memory; there are .* GB.*{named}"):
        compilation.check_memory(PPO(dataclasses.replace(GAME, **changes)), mesh_for(1, {}))


def test_setting_of_arrays_beyond_32_bits_is_named() -> None:
    with pytest.raises(ValueError, match="32 bits cannot index: reduce rollout_length = 10,000,000,000"):
        compilation.check_memory(
            PPO(dataclasses.replace(GAME, rollout_length=10**10, total_steps=10**12)), mesh_for(1, {})
        )


def test_more_iterations_than_are_counted_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 2,147,483,647 iterations, not 25,000,000,000: reduce total_steps"):
        compilation.check_memory(PPO(dataclasses.replace(GAME, total_steps=10**14)), mesh_for(1, {}))


def test_memory_is_compared_with_the_train_state_and_the_steps_of_a_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = PPO(GAME)
    state = jax.eval_shape(learner.init, jax.eval_shape(lambda: jax.random.key(0)))
    steps = jax.eval_shape(learner.collect, state)[1]
    needed = sum(compilation.num_bytes(leaf) for leaf in jax.tree.leaves((state, steps)))
    for there, fits in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr(compilation, "memory_of", lambda device, there=there: there)
        if fits:
            compilation.check_memory(learner, mesh_for(1, {}))
        else:
            with pytest.raises(ValueError, match="needs at least"):
                compilation.check_memory(learner, mesh_for(1, {}))


OF_SWEEP = """
import sys
import jax
devices, at_once = map(int, sys.argv[1:])
jax.config.update("jax_num_cpu_devices", devices)
from train.driver import compilation
from train.ops.sharding import mesh_for
from train.ppo import PPO, Config
from train.sweep.batched_runs import BatchedRuns

learner = PPO(Config(env="dots_and_boxes(rows=1, cols=1)", num_envs=4, rollout_length=8, num_minibatches=1))
runs = BatchedRuns((learner,) * 4, devices=devices, at_once=at_once)
state = jax.eval_shape(runs.init, jax.random.key(0))
steps = jax.eval_shape(lambda key: learner.collect(learner.init(key))[1], jax.random.key(0))
of_state, of_one = (sum(map(compilation.num_bytes, jax.tree.leaves(each))) for each in (state, steps))
found = sum(map(compilation.num_bytes, compilation.arrays_of(runs, mesh_for(devices, runs.batch_sizes))))
assert found - of_state >= devices * at_once * of_one
"""


def test_rollouts_of_the_runs_of_a_sweep_that_are_computed_at_once_count() -> None:
    subprocess.run([sys.executable, "-c", OF_SWEEP, "2", "2"], check=True)


CONFIG: Any = jax.config


@pytest.fixture
def no_folder() -> Iterator[None]:
    """JAX as in a new process, without a folder for programs."""
    before = CONFIG.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.usefixtures("no_folder")
def test_programs_are_kept_in_the_checkout_unless_the_user_or_the_disk_forbids_it(tmp_path: Path) -> None:
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        compilation.keep_programs(tmp_path)
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    (tmp_path / "file").touch()
    compilation.keep_programs(tmp_path / "file")
    assert CONFIG.jax_compilation_cache_dir is None
    compilation.keep_programs(tmp_path)
    assert CONFIG.jax_compilation_cache_dir == str(tmp_path / ".jax_cache" / compilation.processor())
    jax.config.update("jax_compilation_cache_dir", "somewhere")
    compilation.keep_programs(tmp_path)
    assert CONFIG.jax_compilation_cache_dir == "somewhere"


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
