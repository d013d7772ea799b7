"""A run is a folder that can be stopped, killed and gone on with, to the same bits; and what the commands say."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chex
import jax
import numpy as np
import pytest

from tests.helpers.stored_runs import last_of, rows, words
from train import evaluate, loop, match
from train.loop import Settings
from train.ppo import Config, Learner
from train.run import Run

ROOT = Path(__file__).parents[2]
ITERATIONS = 40
CONFIG = Config(
    env="chinese_checkers(size=1, num_players=2, max_rounds=5)",
    sharing="independent",  # the most that there is to store
    total_steps=ITERATIONS * 4 * 8,
    num_boards=4,
    rollout_length=8,
    epochs=2,
    minibatches=2,
    hidden=(8,),
    anneal=False,
    seed=3,
)
SETTINGS = Settings(checkpoint_every=2, evaluate_every=5, evaluation_games=8)


def run_in(folder: Path, config: Config = CONFIG, settings: Settings = SETTINGS) -> dict[str, Any]:
    return loop.train(Run.create(folder, config), settings)


def same(first: Path, second: Path) -> bool:
    """Whether the last checkpoints agree bit for bit: parameters, optimizer, boards, key."""
    a, b = (jax.tree.leaves(last_of(folder)) for folder in (first, second))
    return len(a) == len(b) and all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def call(command: Callable[[], None], *words: str) -> Any:
    """The exit status, or the message that stands for status 1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["command", *words])
        with pytest.raises(SystemExit) as end:
            command()
    return end.value.code


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert run_in(folder)["finished"]
    return folder


@pytest.fixture(scope="module")
def short() -> Config:
    """Settings of a run of four iterations."""
    return dataclasses.replace(CONFIG, total_steps=4 * CONFIG.steps_per_iteration)


# -- the folder ----------------------------------------------------------------------------------------------


def test_a_run_leaves_a_folder_that_tells_all(whole: Path) -> None:
    stored = json.loads((whole / "config.json").read_text())
    assert Config(**stored) == CONFIG == Run.open(whole).config
    assert {path.name for path in (whole / "checkpoints").iterdir()} == {str(ITERATIONS - 2), str(ITERATIONS)}
    events = list(whole.glob("events.out.tfevents.*"))
    assert events
    assert all(b"value_loss" in path.read_bytes() for path in events)
    result = json.loads((whole / "result.json").read_text())
    assert result["finished"]
    assert result["steps"] == CONFIG.total_steps
    assert result["run_dir"] == str(whole)


def test_a_line_of_metrics_is_an_iteration(whole: Path) -> None:
    lines = rows(whole)
    assert [line["iteration"] for line in lines] == list(range(1, ITERATIONS + 1))
    assert [line["steps"] for line in lines] == [CONFIG.steps_per_iteration * line["iteration"] for line in lines]
    evaluated = [line["iteration"] for line in lines if "win_rate" in line]
    assert evaluated == [1, 2, 4, *range(5, ITERATIONS + 1, 5)]  # often at first
    assert {"entropy", "value_loss", "policy_loss", "kl", "games", "return_seat_0", "return_seat_1"} <= set(lines[0])


def test_the_same_settings_give_the_same_run(tmp_path: Path, short: Config, whole: Path) -> None:
    """Where no rate is annealed the length of a run changes nothing on the way."""
    run_in(tmp_path / "again", short)
    assert rows(tmp_path / "again") == rows(whole)[:4]


# -- killed, stopped, gone on with ---------------------------------------------------------------------------


def interrupted(folder: Path, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """The command, sent a signal once it has a checkpoint and a later iteration that is in none."""
    command = [sys.executable, "-m", "train.ppo", *words(CONFIG, SETTINGS, folder)]
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(ROOT / ".jax_cache")}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 100
        metrics = folder / "metrics.jsonl"
        while not (metrics.exists() and metrics.read_text().count("\n") > 6):
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                pytest.fail(f"no run to interrupt: {process.communicate()[1]}")
            time.sleep(0.002)
        process.send_signal(number)
        out, err = process.communicate(timeout=100)
    assert len(rows(folder)) < ITERATIONS, "over before the signal came"
    assert not (folder / "result.json").exists()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def go_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The command with --resume, to its end; what it printed."""
    options = ("--evaluate-every", "5", "--evaluation-games", "8")  # how a run is watched is not stored with it
    assert call(loop.main, "--run-dir", str(folder), "--resume", *options) == 0
    return json.loads(capsys.readouterr().out)  # one line of JSON and nothing else


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "killed"
    assert interrupted(folder, signal.SIGKILL).returncode == -signal.SIGKILL
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 7, "ste')  # as if it had been killed in the middle of a line
    result = go_on(folder, capsys)
    assert result["finished"]
    assert result == json.loads((folder / "result.json").read_text())
    assert same(folder, whole)
    assert rows(folder) == rows(whole)


def test_ctrl_c_ends_with_a_checkpoint_and_goes_on_to_the_same_bits(
    tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "stopped"
    stopped = interrupted(folder, signal.SIGINT)
    assert stopped.returncode == 130
    assert "--resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    result = json.loads(stopped.stdout.splitlines()[-1])
    assert not result["finished"]
    done = int(last_of(folder).iteration)
    assert result["steps"] == done * CONFIG.steps_per_iteration
    assert [row["iteration"] for row in rows(folder)] == list(range(1, done + 1))  # nothing is lost
    assert go_on(folder, capsys)["finished"]
    assert same(folder, whole)
    assert rows(folder) == rows(whole)


def test_metrics_after_the_last_checkpoint_are_forgotten(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG)
    for iteration in (1, 2, 3):
        run.log({"iteration": iteration, "loss": float("nan") if iteration == 2 else 0.5})
    run.drop_rows_after(2)
    run.log({"iteration": 3, "loss": 0.25})
    run.close()
    assert rows(tmp_path / "run") == [
        {"iteration": 1, "loss": 0.5},
        {"iteration": 2, "loss": None},  # JSON has no NaN
        {"iteration": 3, "loss": 0.25},
    ]


# -- the command train.ppo, with and without --resume --------------------------------------------------------


def test_a_longer_run_goes_on_from_a_shorter_one(
    tmp_path: Path, short: Config, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_in(tmp_path / "grown", short)
    options = words(CONFIG, SETTINGS, tmp_path / "grown")
    assert call(loop.main, *options, "--resume") == 0
    assert json.loads(capsys.readouterr().out)["steps"] == CONFIG.total_steps
    assert Run.open(tmp_path / "grown").config == CONFIG
    assert same(tmp_path / "grown", whole)
    assert rows(tmp_path / "grown") == rows(whole)


def test_a_finished_run_keeps_its_result(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (whole / "result.json").read_text()
    assert call(loop.main, "--run-dir", str(whole), "--resume") == 0
    assert capsys.readouterr().out == before == (whole / "result.json").read_text()


def test_a_run_cannot_be_made_shorter(whole: Path) -> None:
    before = (whole / "config.json").read_text()
    message = call(loop.main, "--run-dir", str(whole), "--resume", "--total-steps", "32")
    assert "can only grow" in message
    assert (whole / "config.json").read_text() == before


def test_a_run_spread_over_devices_learns_the_same_and_is_read_on_one(tmp_path: Path, short: Config) -> None:
    """Two devices made of one processor; sums are taken in another order there, hence the tolerance."""
    folder = tmp_path / "spread"
    command = [sys.executable, "-m", "train.ppo", *words(short, SETTINGS, folder), "--devices", "2"]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = os.environ | {"XLA_FLAGS": flags}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=100)
    run_in(tmp_path / "one", short)
    spread, one = (jax.tree.leaves(last_of(folder).params) for folder in (folder, tmp_path / "one"))
    for a, b in zip(spread, one, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_more_devices_than_there_are_is_refused(tmp_path: Path, short: Config) -> None:
    message = call(loop.main, *words(short, SETTINGS, tmp_path / "run"), "--devices", "3")
    assert "devices must be at most 1" in message


def test_a_folder_that_holds_a_run_is_refused(whole: Path) -> None:
    before = last_of(whole)
    message = call(loop.main, *words(CONFIG, SETTINGS, whole))
    assert f"{whole} holds a run already: add --resume" in message
    jax.tree.map(np.testing.assert_array_equal, last_of(whole), before)


def test_other_settings_are_refused_by_name(whole: Path) -> None:
    message = call(loop.main, "--run-dir", str(whole), "--resume", "--learning-rate", "0.5", "--seed", "9")
    assert "other settings" in message
    assert "learning_rate" in message
    assert "seed" in message
    assert "num_boards" not in message
    assert Run.open(whole).config == CONFIG


def test_resume_with_the_same_settings_written_out_is_taken(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finished run has nothing left to do."""
    assert call(loop.main, *words(CONFIG, SETTINGS, whole), "--resume") == 0
    assert json.loads(capsys.readouterr().out)["finished"]
    assert len(rows(whole)) == ITERATIONS


def test_resume_of_an_empty_folder_begins(
    tmp_path: Path, short: Config, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And another seed gives another run."""
    other = dataclasses.replace(short, seed=short.seed + 1)
    assert call(loop.main, *words(other, SETTINGS, tmp_path / "new"), "--resume") == 0
    assert json.loads(capsys.readouterr().out)["steps"] == short.total_steps
    assert rows(tmp_path / "new")[-1]["value_loss"] != rows(whole)[3]["value_loss"]


def test_resume_wants_a_folder() -> None:
    assert "--resume needs the --run-dir" in call(loop.main, "--resume")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--env", "chess"), "chinese_checkers"),
        (("--env", "chinese_checkers(size=9)"), "size must be an integer from 1 to 8, not 9"),
        (("--env", "chinese_checkers(size=2"), "chinese_checkers"),
        (("--num-boards", "0"), "num_boards must be positive, not 0"),
        (("--discount", "2"), "discount must be from 0 to 1, not 2"),
        (("--checkpoint-every", "0"), "checkpoint_every must be at least 1, not 0"),
        (("--evaluate-every", "-1"), "evaluate_every must be at least 0, not -1"),
        (("--evaluation-games", "0"), "evaluation_games must be at least 1, not 0"),
        (("--temperature", "-1"), "temperature must be 0 or more, not -1"),
        (("--sharing", "some"), "shared_encoder"),
        (("--total-steps", "many"), "total-steps"),
        (("--nonsense", "1"), "nonsense"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(
    option: tuple[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a message and a status that is not 0, before a folder is made."""
    code = call(loop.main, "--run-dir", str(tmp_path / "run"), *option)
    assert code not in (0, None)
    said = f"{code} {capsys.readouterr().err}"
    assert message in said
    assert "Traceback" not in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("command", "option"),
    [(loop.main, "--total-steps"), (evaluate.main, "--opponents"), (match.main, "--seats-each")],
)
def test_help_tells_the_options(command: Callable[[], None], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(command, "--help") == 0
    assert option in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("module", ["train.ppo", "train.evaluate", "train.match"])
def test_every_command_is_a_module(module: str) -> None:
    """Run as people run it; above they are called."""
    for option, status in (("--help", 0), ("--nonsense", 2)):
        done = subprocess.run(
            [sys.executable, "-m", module, option], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == status
        assert "Traceback" not in done.stderr


def test_a_checkpoint_holds_boards_with_empty_arrays(tmp_path: Path) -> None:
    """Which orbax refuses: a game without repetitions has a history of size 0."""
    config = dataclasses.replace(CONFIG, env="minichess(rules=king_capture)", sharing="shared")
    runner = jax.jit(Learner(config).init)(jax.random.key(0))
    assert any(leaf.size == 0 for leaf in jax.tree.leaves(runner.boards))
    run = Run.create(tmp_path / "run", config)
    run.save(runner)
    restored = run.restore()
    run.close()
    assert restored is not None
    chex.assert_trees_all_equal_shapes_and_dtypes(restored, runner)
    words = [runner._replace(key=jax.random.key_data(runner.key)) for runner in (restored, runner)]
    chex.assert_trees_all_equal(*words)
