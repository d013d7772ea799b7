"""The files of a run's folder, how damaged ones are refused, its lock and its loggers."""

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import error_of, run_command
from tests.helpers.stored_runs import metrics_of
from tests.helpers.texts import NAME
from tests.helpers.toy_learner import Config, ToyLearner
from train.driver import checkpoints, loggers
from train.driver.run_folder import SWEEP_FILE, RunFolder
from train.driver.stored_config import load, to_json
from train.ppo import PPO

LEARNER = ToyLearner(Config(total_steps=20))


@pytest.fixture
def folder(toy_run: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(toy_run, tmp_path / "run")


def test_folder_holds_settings_metrics_checkpoints_and_result(folder: Path) -> None:
    stored = json.loads((folder / "config.json").read_text())
    assert stored == {
        "learner": "tests.helpers.toy_learner:ToyLearner",
        "jaxgames": stored["jaxgames"],
        "env_version": 1,
        "settings": {
            "env": "sticks",
            "total_steps": 20,
            "seed": 0,
            "num_envs": 4,
            "learning_rate": 0.5,
            "sizes": [3, 2],
        },
    }
    assert {path.name for path in (folder / "checkpoints").iterdir()} == {"4.npz", "5.npz"}
    events = list(folder.glob("events.out.tfevents.*"))
    assert events
    assert all(b"noise" in path.read_bytes() for path in events)
    result = json.loads((folder / "result.json").read_text())
    assert (result["finished"], result["steps"], result["env"]) == (True, 20, "sticks")
    assert result["learner"] == stored["learner"]


def test_folder_that_holds_a_sweep_takes_no_run(tmp_path: Path) -> None:
    """With a run beside its cells, the sweep could not be continued."""
    (tmp_path / SWEEP_FILE).touch()
    with pytest.raises(FileExistsError, match=r"holds a sweep, .*: name another folder"):
        RunFolder.create(tmp_path, LEARNER)


def test_checkpoints_are_read_in_a_folder_with_any_sign(tmp_path: Path) -> None:
    """Also in one that was renamed."""
    folder = tmp_path / "other"
    checkpoints.write(folder, 1, {"a": np.arange(3)})
    shutil.copytree(folder, tmp_path / NAME)
    for each in (folder, tmp_path / NAME):
        found = checkpoints.read(each, 1, {"a": jax.ShapeDtypeStruct((3,), np.arange(3).dtype)})
        assert found["a"].tolist() == [0, 1, 2]


def test_metrics_after_an_iteration_are_dropped(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", LEARNER)
    for iteration in (1, 2, 3):
        run.log({"iteration": iteration, "loss": float("nan") if iteration == 2 else 0.5})
    run.truncate_metrics(2)
    run.log({"iteration": 3, "loss": 0.25})
    run.close()
    assert metrics_of(tmp_path / "run") == [
        {"iteration": 1, "loss": 0.5},
        {"iteration": 2, "loss": None},
        {"iteration": 3, "loss": 0.25},
    ]


def test_unfinished_last_line_of_metrics_is_left_out(folder: Path) -> None:
    for ending in (b'{"iteration": 6, "st', b"\0" * 20):
        with (folder / "metrics.jsonl").open("ab") as file:
            file.write(ending)
        assert [row["iteration"] for row in RunFolder.open(folder, ToyLearner).rows()] == [1, 2, 3, 4, 5]


def test_files_of_a_run_are_read_as_editors_save_them(folder: Path) -> None:
    rows, learner = RunFolder.open(folder, ToyLearner).rows(), RunFolder.open(folder, ToyLearner).learner
    for name in ("metrics.jsonl", "config.json", "result.json"):
        content = (folder / name).read_bytes().replace(b"\n", b"\r\n")
        (folder / name).write_bytes(b"\xef\xbb\xbf" + content + b"\r\n")
    run = RunFolder.open(folder, ToyLearner)
    assert (run.rows(), run.learner) == (rows, learner)
    assert run.result() is not None


@pytest.mark.parametrize("line", [b"7", b'{"iteration": "2"}', b"", b"[" * 100_000])
def test_damaged_line_of_metrics_is_named(line: bytes, folder: Path) -> None:
    path = folder / "metrics.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], line, *lines[2:]]) + b"\n")
    with pytest.raises(ValueError, match=f"{path}, line 2 is not a row of metrics"):
        RunFolder.open(folder, ToyLearner).rows()


@pytest.mark.parametrize("content", [None, "[", "[1]", "{}"])
def test_missing_or_damaged_result_is_no_result(content: str | None, folder: Path) -> None:
    (folder / "result.json").unlink()
    if content is not None:
        (folder / "result.json").write_text(content)
    assert RunFolder.open(folder, ToyLearner).result() is None


# -- checkpoints ---------------------------------------------------------------------------------------------


def test_checkpoint_restores_every_array_and_key(tmp_path: Path) -> None:
    """Also empty arrays."""
    run = RunFolder.create(tmp_path / "run", LEARNER)
    assert run.restore() is None
    train_state = jax.jit(LEARNER.init)(jax.random.key(3))
    run.save(train_state)
    restored = run.restore()
    run.close()
    assert restored is not None
    assert jax.tree.structure(restored) == jax.tree.structure(train_state)
    for found, expected in zip(jax.tree.leaves(restored), jax.tree.leaves(train_state), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if not jax.dtypes.issubdtype(found.dtype, jax.dtypes.prng_key):  # pyright: ignore[reportPrivateImportUsage]
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(jax.random.key_data(restored.key), jax.random.key_data(train_state.key))


def test_run_without_a_newer_setting_says_its_default(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = json.loads((folder / "config.json").read_text())
    del stored["settings"]["sizes"]
    (folder / "config.json").write_text(json.dumps(stored))
    run = RunFolder.open(folder, ToyLearner)
    assert run.learner == LEARNER
    assert run.restore() is not None
    assert "config.json has no sizes, so the defaults of this version are taken\n" in capsys.readouterr().err


# -- lock ----------------------------------------------------------------------------------------------------


def test_folder_in_use_is_refused_with_process_and_host(tmp_path: Path) -> None:
    first = RunFolder.create(tmp_path / "run", LEARNER)
    second = RunFolder.open(tmp_path / "run", ToyLearner)
    holder = f"process {os.getpid()} on {socket.gethostname()}"
    with pytest.raises(BlockingIOError, match=f"run is in use by {holder}: wait for it to end, or stop it"):
        second.lock()
    first.close()
    second.lock()
    second.close()


STORED = to_json(ToyLearner(Config()))
TOY = "tests.helpers.toy_learner:ToyLearner"
SETTINGS_IN_A_LIST = '{"learner": "ppo", "settings": [1]}'


def loaded(tmp_path: Path, text: str) -> Any:
    (tmp_path / "config.json").write_text(text)
    return load(tmp_path / "config.json", [PPO, ToyLearner])


def test_settings_are_read_back_by_the_learner_that_wrote_them(tmp_path: Path) -> None:
    config = Config(learning_rate=0.125, sizes=(2, 2, 2), seed=5)
    assert loaded(tmp_path, json.dumps(to_json(ToyLearner(config)))) == ToyLearner(config)


def test_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"{tmp_path} holds no run: expected a folder that train.ppo wrote"):
        RunFolder.open(tmp_path, PPO)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, "has no learner and settings")
            for text in ("", "[" * 100_000, "null", '{"learner": "ppo", "settings": [1]}')
        ),
        ('{"learner": "other", "settings": {}}', f"learner must be one of ppo, {TOY}, not 'other'"),
    ],
)
def test_config_that_is_no_stored_run_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path / 'config.json'}.*{message}"):
        loaded(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("other", "or module:Class|module:Class, not 'other'"),
        ("no_module_of_ours:Mine", "a file imports none: to import it, add --import"),
        ("json:Mine", "json has no learner 'Mine'"),
        ("train.driver.learner:Learner", "has no learner 'Learner'"),
    ],
)
def test_learner_that_cannot_be_had_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"learner": text, "settings": {}}))
    with pytest.raises(ValueError, match=message):
        load(path, [PPO], or_own=True)
    with pytest.raises(ValueError, match="learner must be one of ppo, not"):
        load(path, [PPO])


def test_setting_that_learners_no_longer_have_is_left_out(tmp_path: Path) -> None:
    for name, value in {"proofs": True, "fast_searches": 0.5}.items():
        assert loaded(tmp_path, json.dumps(with_setting(name, value))) == ToyLearner(Config())


def with_setting(name: str, value: Any) -> dict[str, Any]:
    return STORED | {"settings": STORED["settings"] | {name: value}}


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (with_setting("num_envs", "4"), "num_envs must be of type int, not '4'"),
        (with_setting("num_envs", True), "num_envs must be of type int, not True"),
        (with_setting("learning_rate", [1]), r"learning_rate must be of type float, not \[1\]"),
        (with_setting("sizes", ["a"]), r"sizes must be of type tuple\[int, ...\]"),
        (with_setting("num_boards", 4), "unknown settings: num_boards"),
        (STORED | {"env_version": 2}, "trained on version 2 of sticks, .* this is version 1"),
    ],
)
def test_setting_that_does_not_fit_is_named(stored: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        loaded(tmp_path, json.dumps(stored))


def test_loggers_are_left_out_or_refused_without_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/distribution meets the real package of Weights & Biases."""
    options = ("--total-steps", 4, "--evaluate-every", 0, "--logger")
    assert run_command(toy_learner.main, "--run-dir", tmp_path / "none", *options, "none") == 0
    assert not list((tmp_path / "none").glob("events.*"))
    assert len(metrics_of(tmp_path / "none")) == 1
    monkeypatch.setitem(loggers.PACKAGES, "wandb", ("no_such_package", "wandb"))
    message = error_of(toy_learner.main, "--run-dir", tmp_path / "other", *options, "wandb")
    assert 'pip install -e ".[wandb]"' in message
    assert not (tmp_path / "other").exists()
