"""The files of a run: settings, metrics, result, lock, checkpoints; how damaged ones are refused; results."""

import errno
import fcntl
import json
import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.agents import RandomAgent, with_epsilon
from tests.helpers import toy_learner
from tests.helpers.commands import NAME, run_command
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import equal_checkpoints, metrics_of, train_in
from tests.helpers.toy_learner import Config, ToyLearner, TrainState
from train.driver.learner import load_learner, to_json
from train.driver.loop import Settings, run_training
from train.driver.result_file import ResultFile
from train.driver.run_folder import SWEEP_FILE, RunFolder
from train.ops.sharding import keys_to_data
from train.ppo import PPO

LEARNER = ToyLearner(Config(total_steps=40))  # ten iterations
SETTINGS = Settings(checkpoint_every=4, keep_every=3, evaluate_every=0)
TOY = "tests.helpers.toy_learner:ToyLearner"


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


def test_folder_holds_settings_metrics_checkpoints_and_result(trained: Path) -> None:
    stored = json.loads((trained / "config.json").read_text())
    numbers = {"total_steps": 40, "seed": 0, "num_envs": 4, "learning_rate": 0.5, "sizes": [3, 2]}
    settings = {"env": "sticks", **numbers}
    assert stored == {"learner": TOY, "jaxgames": stored["jaxgames"], "env_version": 1, "settings": settings}
    events = list(trained.glob("events.out.tfevents.*"))
    assert events
    assert all(b"noise" in path.read_bytes() for path in events)
    assert [(row["iteration"], row["undefined"]) for row in opened(trained).rows()] == [(n, None) for n in range(1, 11)]
    result = json.loads((trained / "result.json").read_text())
    assert (result["finished"], result["steps"], result["env"], result["learner"]) == (True, 40, "sticks", TOY)


@pytest.mark.parametrize("content", [None, "[", "[1]", "{}"])
def test_missing_or_damaged_result_is_no_result(content: str | None, folder: Path) -> None:
    (folder / "result.json").unlink()
    if content is not None:
        (folder / "result.json").write_text(content)
    assert opened(folder).result() is None


def test_folder_in_use_or_of_a_sweep_is_refused(tmp_path: Path) -> None:
    """With a run beside its cells, a sweep could not be continued."""
    (tmp_path / SWEEP_FILE).touch()
    with pytest.raises(FileExistsError, match=r"holds a sweep already: .* name another folder"):
        RunFolder.create(tmp_path, LEARNER)
    first = RunFolder.create(tmp_path / "run", LEARNER)
    second = opened(tmp_path / "run")
    holder = f"process {os.getpid()} on {socket.gethostname()}"
    with pytest.raises(BlockingIOError, match=f"run is in use by {holder}: wait for it to end, or stop it"):
        second.lock()
    first.close()
    second.lock()
    second.close()


def test_files_of_tensorboard_are_left_out(tmp_path: Path) -> None:
    options = ("--total-steps", 4, "--evaluate-every", 0)
    for name, more in (("with", ()), ("without", ("--no-tensorboard",))):
        assert run_command(toy_learner.main, "--run-dir", tmp_path / name, *options, *more) == 0
        assert bool([*(tmp_path / name).glob("events.*")]) == (name == "with")
        assert len(metrics_of(tmp_path / name)) == 1


# -- settings --------------------------------------------------------------------------------------------------------


def test_setting_that_is_newer_than_a_run_has_its_default(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = json.loads((folder / "config.json").read_text())
    del stored["settings"]["sizes"]
    (folder / "config.json").write_text(json.dumps(stored))
    assert opened(folder).learner == LEARNER
    assert opened(folder).restore() is not None
    assert "config.json has no sizes, so the defaults of this version are taken\n" in capsys.readouterr().err


def stored(learner: str = TOY, env_version: int = 1, **settings: Any) -> str:
    """The content of a config.json with other values of some entries and settings."""
    content: dict[str, Any] = {**to_json(LEARNER), "learner": learner, "env_version": env_version}
    content["settings"] |= settings
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "or_own", "message"),
    [
        ("", False, "has no learner and settings"),
        ("null", False, "has no learner and settings"),
        ('{"learner": "ppo", "settings": [1]}', False, "has no learner and settings"),
        (stored("other"), False, f"learner must be one of ppo, {TOY}, not 'other'"),
        (stored("other"), True, f"learner must be one of ppo, {TOY}, module:Class, not 'other'"),
        (stored("no_module_of_ours:Mine"), True, "a file imports none: to import it, add --import"),
        (stored("json:Mine"), True, "json has no learner 'Mine'"),
        (stored(num_envs="4"), False, "num_envs must be of type int, not '4'"),
        (stored(sizes=["a"]), False, r"sizes must be of type tuple\[int, ...\]"),
        (stored(num_boards=4), False, "unknown settings: num_boards"),
        (stored(env_version=2), False, "trained on version 2 of sticks, .* this is version 1"),
    ],
)
def test_config_that_is_no_stored_run_is_refused(text: str, or_own: bool, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{path}.*{message}"):
        load_learner(path, [PPO, ToyLearner], or_own)


# -- checkpoints -----------------------------------------------------------------------------------------------------


def test_multiples_of_keep_every_stay_with_the_last_two(folder: Path) -> None:
    """Also 3 and 9, which are not multiples of checkpoint_every, and 0, before the first iteration.

    Of a resumed run with another keep_every, this one decides from the last two checkpoints on.
    """
    assert opened(folder).checkpoints() == [0, 3, 6, 9, 10]
    run = opened(folder)
    run.extend_to(80)
    run_training(run.learner, [run], Settings(checkpoint_every=4, keep_every=5, evaluate_every=0))
    assert opened(folder).checkpoints() == [0, 3, 6, 10, 15, 16, 20]


class Everything(NamedTuple):
    """A train state with keys, empty arrays, a type that NumPy lacks, and agents without arrays, such as `random`."""

    iteration: jax.Array = jnp.int32(1)
    opponents: Any = (with_epsilon(Sticks(), RandomAgent(Sticks()), 0.5), RandomAgent(Sticks()))
    nothing: Any = (None, ())
    arrays: Any = (jnp.ones(2), jnp.zeros((2, 0)), jnp.arange(5, dtype=jnp.bfloat16), jnp.int8(3))
    key: jax.Array = jax.random.key(3)


class StoresEverything(ToyLearner):
    def init(self, key: jax.Array) -> Any:
        return Everything()


def test_every_array_is_restored_from_a_folder_with_any_sign(tmp_path: Path) -> None:
    """The folder was renamed, and has what a killed writer left."""
    learner, train_state, written = StoresEverything(LEARNER.config), Everything(), tmp_path / "other" / "checkpoints"
    written.mkdir(parents=True)
    (written / "1.npz.0123abcd.part").touch()
    RunFolder(tmp_path / "other", learner).save(train_state)
    assert [path.name for path in written.iterdir()] == ["1.npz"]
    found = RunFolder((tmp_path / "other").rename(tmp_path / NAME), learner).restore()
    assert jax.tree.structure(found) == jax.tree.structure(train_state)
    for one, other in zip(*(jax.tree.leaves(keys_to_data(each)) for each in (found, train_state)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


class OtherBoards(ToyLearner):
    """The same parameters, in a train state that is otherwise different."""

    def init(self, key: jax.Array) -> TrainState:
        return super().init(key)._replace(boards=jnp.zeros(7), nothing=jnp.zeros(2))  # pyright: ignore[reportArgumentType]


class OtherParameters(ToyLearner):
    """One array of the parameters has another shape, one is new, and one is missing."""

    def init_params(self, key: jax.Array) -> dict[str, jax.Array]:
        return {"preference": jnp.zeros(4), "new": jnp.zeros(1)}


def test_parameters_of_an_iteration_are_read_alone_and_other_shapes_are_refused(trained: Path) -> None:
    run = RunFolder(trained, OtherBoards(LEARNER.config))
    sums = np.cumsum([0.0, *(row["noise"] for row in run.rows())])  # of all that was added since they were 0
    for iteration in (0, 3, 9, 10, None):
        params = run.params(iteration)
        assert params["preference"].sum() == pytest.approx(sums[-1 if iteration is None else iteration], abs=1e-4)
        one_device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        assert {leaf.sharding for leaf in jax.tree.leaves(params)} == {one_device}
    with pytest.raises(ValueError, match=r"boards.* has shape .* in the checkpoint and"):
        run.restore()
    message = r"params/preference has shape \(3,\) in the checkpoint and \(4,\) in the learner, and 2 more arrays"
    with pytest.raises(ValueError, match=message):
        RunFolder(trained, OtherParameters(LEARNER.config)).params(3)


# -- damaged checkpoints, full disks ---------------------------------------------------------------------------------


def damage(checkpoint: Path) -> None:
    """Changes a byte of the parameters, behind the 128 bytes of their header."""
    content = bytearray(checkpoint.read_bytes())
    content[content.index(b"NUMPY", content.index(b"params/preference")) + 130] ^= 1
    checkpoint.write_bytes(content)


def test_damaged_checkpoint_is_refused_with_the_checkpoint_before_it(folder: Path) -> None:
    damage(folder / "checkpoints" / "10.npz")
    message = r"10\.npz is damaged: use the checkpoint before it, .*/run@9; .* remove .*checkpoints/10\.npz and"
    for read in (opened(folder).restore, opened(folder).params):
        with pytest.raises(ValueError, match=message):
            read()
    (folder / "checkpoints" / "10.npz").unlink()
    restored = opened(folder).restore()
    assert restored is not None
    assert restored.iteration == 9
    (folder / "checkpoints" / "0.npz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"checkpoints/0\.npz is damaged: there is none before it"):
        opened(folder).params(0)


def test_changed_dtype_of_an_array_is_damage(tmp_path: Path) -> None:
    """The file is long enough that NumPy alone would not read the array to its end, where the checksum is compared."""
    run = RunFolder(tmp_path, ToyLearner(Config(sizes=(1000, 100))))
    run.save(run.learner.init(jax.random.key(0)))
    path = tmp_path / "checkpoints" / "0.npz"
    before, weights, after = path.read_bytes().partition(b"params/weights")
    path.write_bytes(before + weights + after.replace(b"'<f4'", b"'<f2'", 1))
    with pytest.raises(ValueError, match="is damaged"):
        run.restore()


def test_run_on_a_full_disk_ends_with_the_command_that_continues_it(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run restarts from its only checkpoint, before training."""

    def write_in_part(file: Any, **_: Any) -> None:
        file.write(b"PK")
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = tmp_path / "run"
    run = RunFolder.create(folder, LEARNER)
    run.save(LEARNER.init(jax.random.key(LEARNER.config.seed)))
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", write_in_part)
        with pytest.raises(OSError, match="No space left on device; ") as error:
            run_training(run.learner, [run], SETTINGS)
    assert f"{folder / 'checkpoints' / '3.npz'} cannot be written" in str(error.value)
    assert f"continue with: python -m tests.helpers.toy_learner --run-dir {folder} --resume" in str(error.value)
    run = opened(folder)
    assert run.checkpoints() == [0]
    run_training(run.learner, [run], SETTINGS)
    assert opened(folder).checkpoints() == [0, 3, 6, 9, 10]
    assert equal_checkpoints(folder, trained)


# -- results of other commands ---------------------------------------------------------------------------------------

KEY = ("agent", "games")
FIRST = {"agent": "first", "games": 8}


@pytest.mark.parametrize("settings", [None, {"seed": 1}])
def test_unfinished_last_result_is_replaced(settings: dict[str, int] | None, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for number in (1, 2):
        ResultFile(path, KEY, settings).add(FIRST | {"games": number}, {"wins": number})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        for number in (1, 2):
            ResultFile(path, KEY, settings).once(FIRST | {"games": number}, lambda number=number: {"wins": number})
        assert path.read_bytes() == whole


@pytest.mark.parametrize("line", ["{", "7", '{"agent": "first"}', "\xff", "[" * 100_000])
def test_damaged_result_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    ResultFile(path, KEY).add(FIRST, {})
    path.write_bytes(path.read_bytes() + line.encode("latin-1") + b"\n")
    for settings, number in ((None, 2), ({"seed": 1}, 1)):
        with pytest.raises(ValueError, match=f"results.jsonl, line {number} is not a result of this command"):
            ResultFile(path, KEY, settings)


def test_result_that_another_writer_has_begun_is_waited_for(tmp_path: Path) -> None:
    """The last result under a key is the one that counts."""
    path, file = tmp_path / "results.jsonl", ResultFile(tmp_path / "results.jsonl", KEY)
    file.add(FIRST, {"wins": [0]})
    with path.open("ab") as other, ThreadPoolExecutor(1) as threads:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(b'{"agent": "other", "games": 8, ')
        other.flush()
        adding = threads.submit(file.add, FIRST, {"wins": [1]})
        with pytest.raises(TimeoutError):
            adding.result(timeout=0.1)
        other.write(b'"wins": [2]}\n')
        other.flush()
        fcntl.flock(other, fcntl.LOCK_UN)
        adding.result(timeout=60)
    stored = ResultFile(path, KEY)
    assert (stored.get(FIRST), stored.get(FIRST | {"agent": "other"})) == ({"wins": [1]}, {"wins": [2]})
