"""Checkpoints: which stay, what is read from them, and what happens while another process trains."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.agents import RandomAgent, with_epsilon
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import train_in
from tests.helpers.toy_learner import Config, ToyLearner, TrainState
from train.driver import checkpoints
from train.driver.loop import Settings, run_training
from train.driver.run_folder import RunFolder

LEARNER = ToyLearner(Config(total_steps=40))  # ten iterations
SETTINGS = Settings(checkpoint_every=4, keep_every=3, evaluate_every=0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of ten iterations whose checkpoints at multiples of three stay."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    train_in(folder, LEARNER, SETTINGS)
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return shutil.copytree(trained, tmp_path / "run")


def opened(folder: Path) -> RunFolder:
    return RunFolder.open(folder, ToyLearner)


@functools.cache
def preferences() -> list[jax.Array]:
    """The changing parameters before the first iteration and after each of ten, without a folder."""
    train_state = jax.jit(LEARNER.init)(jax.random.key(LEARNER.config.seed))
    iterate, found = jax.jit(LEARNER.iterate), [train_state.params["preference"]]
    for _ in range(10):
        train_state, _ = iterate(train_state)
        found.append(train_state.params["preference"])
    return found


# -- which stay ----------------------------------------------------------------------------------------------------


def test_multiples_of_keep_every_stay_with_the_last_two(trained: Path) -> None:
    """Also 3 and 9, which are not multiples of checkpoint_every, and 0, before the first iteration."""
    assert opened(trained).checkpoints() == [0, 3, 6, 9, 10]


def test_another_keep_every_decides_on_the_last_two_checkpoints_of_a_resumed_run(folder: Path) -> None:
    run = opened(folder)
    run.extend_to(80)
    run_training(run.learner, [run], Settings(checkpoint_every=4, keep_every=5, evaluate_every=0))
    assert opened(folder).checkpoints() == [0, 3, 6, 10, 15, 16, 20]


def test_run_that_ends_before_its_first_iteration_has_the_untrained_parameters(tmp_path: Path) -> None:
    """A run that was killed at once restarts from the checkpoint of iteration 0."""
    run = RunFolder.create(tmp_path / "run", LEARNER)
    run.save(jax.jit(LEARNER.init)(jax.random.key(0)), keep_every=3)
    run.close()
    run_training(LEARNER, [opened(tmp_path / "run")], SETTINGS)
    assert opened(tmp_path / "run").checkpoints() == [0, 3, 6, 9, 10]
    np.testing.assert_array_equal(opened(tmp_path / "run").params()["preference"], preferences()[10])


def test_train_state_with_nodes_without_arrays_is_restored(tmp_path: Path) -> None:
    """Opponents such as `random` have no arrays."""
    env = Sticks()
    opponents = (with_epsilon(env, RandomAgent(env), 0.5), RandomAgent(env))
    train_state = {"opponents": opponents, "alone": (RandomAgent(env),), "none": None, "empty": (), "two": jnp.ones(2)}
    checkpoints.write(tmp_path / "checkpoints", 1, train_state)
    found = checkpoints.read(tmp_path / "checkpoints", 1, jax.eval_shape(lambda: train_state))
    assert jax.tree.structure(found) == jax.tree.structure(train_state)
    jax.tree.map(np.testing.assert_array_equal, found, train_state)


# -- damaged checkpoints, full disks ---------------------------------------------------------------------------------


def damage(checkpoint: Path) -> None:
    """Changes a byte of the parameters, behind the 128 bytes of their header."""
    content = bytearray(checkpoint.read_bytes())
    content[content.index(b"NUMPY", content.index(b"params/preference")) + 130] ^= 1
    checkpoint.write_bytes(content)


def test_damaged_checkpoint_is_refused_with_the_checkpoint_before_it(folder: Path) -> None:
    damage(folder / "checkpoints" / "10.npz")
    message = (
        r"checkpoints/10.npz is damaged: use the checkpoint before it, .*/run@9; .* remove .*checkpoints/10.npz and"
    )
    for read in (opened(folder).restore, opened(folder).params):
        with pytest.raises(ValueError, match=message):
            read()
    np.testing.assert_array_equal(opened(folder).params(9)["preference"], preferences()[9])
    (folder / "checkpoints" / "10.npz").unlink()
    restored = opened(folder).restore()
    assert restored is not None
    assert restored.iteration == 9
    damage(folder / "checkpoints" / "0.npz")
    with pytest.raises(ValueError, match=r"checkpoints/0\.npz is damaged: there is none before it"):
        opened(folder).params(0)


def test_changed_dtype_of_an_array_is_damage(tmp_path: Path) -> None:
    """The file is long enough that NumPy alone would not read the array to its end, where the checksum is compared."""
    checkpoints.write(tmp_path, 1, {"a": np.ones(100_000, np.float32)})
    path = checkpoints.path_of(tmp_path, 1)
    path.write_bytes(path.read_bytes().replace(b"'<f4'", b"'<f2'"))
    with pytest.raises(ValueError, match="is damaged"):
        checkpoints.read(tmp_path, 1, {"a": jax.ShapeDtypeStruct((100_000,), "float32")})


def test_bfloat16_is_restored_and_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    train_state = {"a": jnp.arange(5, dtype=jnp.bfloat16)}
    (tmp_path / "1.npz.0123abcd.part").touch()
    checkpoints.write(tmp_path, 1, train_state)
    assert [path.name for path in tmp_path.iterdir()] == ["1.npz"]
    found = checkpoints.read(tmp_path, 1, jax.eval_shape(lambda: train_state))
    jax.tree.map(np.testing.assert_array_equal, found, train_state)


def test_checkpoints_of_an_earlier_version_are_refused(folder: Path) -> None:
    (folder / "checkpoints" / "12").mkdir()
    with pytest.raises(ValueError, match=r"an earlier version wrote the checkpoints in .*: train the run again"):
        opened(folder).restore()


FAILING_CHECKPOINTS = """
import resource, sys
from pathlib import Path
import jax, numpy as np
from train.driver import checkpoints

folder = Path(sys.argv[1])
train_state = {f"array{number}": np.random.default_rng(number).random(4000) for number in range(40)}
checkpoints.write(folder, 1, train_state)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
try:
    checkpoints.write(folder, 2, train_state)
except OSError as error:
    print(error)
path = folder / "1.npz"
path.write_bytes(path.read_bytes()[:100])
try:
    checkpoints.read(folder, 1, jax.eval_shape(lambda: train_state))
except ValueError as error:
    print(error)
"""


def test_failure_of_a_checkpoint_is_one_error_without_tracebacks(tmp_path: Path) -> None:
    """A limit on the length of files stands for a full disk."""
    folder = tmp_path / "checkpoints"
    command = [sys.executable, "-c", FAILING_CHECKPOINTS, folder]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"JAX_ENABLE_X64": "1"})
    assert ran.stdout.splitlines() == [
        f"{folder / '2.npz'} cannot be written: File too large",
        f"the checkpoint {folder / '1.npz'} is damaged: there is none before it, so the run must be trained again",
    ]
    assert ran.stderr == ""


class FullDisk(RunFolder):
    """A run folder without room for another checkpoint."""

    def save(self, train_state: Any, keep_every: int = 0) -> None:
        raise OSError("no room")


def test_run_on_a_full_disk_ends_with_the_command_that_continues_it(tmp_path: Path) -> None:
    run = FullDisk.create(tmp_path / "run", LEARNER)
    with pytest.raises(
        OSError, match=r"no room; .* continue with: python -m tests.helpers.toy_learner --run-dir .*/run --resume"
    ):
        run_training(LEARNER, [run], Settings(checkpoint_every=4, evaluate_every=0))
    run.close()


# -- parameters ----------------------------------------------------------------------------------------------------


def test_parameters_are_those_of_the_iteration(trained: Path) -> None:
    run = opened(trained)
    for iteration in (0, 3, 9, 10):
        params = run.params(iteration)
        np.testing.assert_array_equal(params["preference"], preferences()[iteration])
        assert {leaf.sharding for leaf in jax.tree.leaves(params)} == {
            jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        }
    np.testing.assert_array_equal(run.params()["preference"], run.params(10)["preference"])


class OtherBoards(ToyLearner):
    """The same parameters, in a train state that is otherwise different."""

    def init(self, key: jax.Array) -> TrainState:
        return super().init(key)._replace(boards=jnp.zeros(7), nothing=jnp.zeros(2))  # pyright: ignore[reportArgumentType]


def test_parameters_are_read_without_the_rest_of_the_train_state(trained: Path) -> None:
    run = RunFolder(trained, OtherBoards(LEARNER.config))
    np.testing.assert_array_equal(run.params(3)["preference"], preferences()[3])
    with pytest.raises(ValueError, match=r"boards.* has shape .* in the checkpoint and"):
        run.restore()


class OtherParameters(ToyLearner):
    """One array of the parameters has another shape, one is new, and one is missing."""

    def init_params(self, key: jax.Array) -> dict[str, jax.Array]:
        return {"preference": jnp.zeros(4), "new": jnp.zeros(1)}


def test_parameters_of_other_shapes_are_refused(trained: Path) -> None:
    message = r"params/preference has shape \(3,\) in the checkpoint and \(4,\) in the learner, and 2 more arrays"
    with pytest.raises(ValueError, match=message):
        RunFolder(trained, OtherParameters(LEARNER.config)).params(3)
