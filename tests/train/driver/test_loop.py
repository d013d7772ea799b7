"""The loop of a run: its evaluations and lines, and that an interrupted run continues to the same bits."""

import json
import shlex
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames import agents, arena
from tests.helpers import toy_learner
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.stored_runs import (
    arguments_of,
    end,
    equal_checkpoints,
    last_train_state,
    metrics_of,
    random_train_state,
    start,
    train_in,
)
from tests.helpers.toy_learner import ToyLearner
from train.driver import cli, loop
from train.driver.loop import Settings, run_training
from train.driver.metrics import format_row, to_floats
from train.driver.run_folder import RunFolder
from train.ppo import PPO, Config


def test_toy_learner_is_trained_by_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is compiled once, and ends with commands that use the run."""
    folder = tmp_path / "my run"
    arguments = ("--run-dir", folder, "--learning-rate", 0.25, "--evaluation-games", 8, "--evaluate-every", 3)
    assert run_command(toy_learner.main, *arguments) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err.count("compiling") == 1
    assert (result["env"], result["steps"]) == ("sticks", 40)
    assert result["learner"] == "tests.helpers.toy_learner:ToyLearner"
    assert (result["evaluation_opponent"], result["evaluation_games"]) == ("random", 8)
    module = "--import tests.helpers.toy_learner"
    assert f"next: python -m train.match '{folder}' greedy {module}; python -m train.play '{folder}' {module}\n" in err
    rows = metrics_of(folder)
    assert [row["iteration"] for row in rows] == list(range(1, 11))
    assert [row["iteration"] for row in rows if "win_rate" in row] == [1, 2, 3, 6, 9, 10]


TOY = ToyLearner(toy_learner.Config(total_steps=80))
TOY_SETTINGS = Settings(checkpoint_every=4, evaluate_every=0)


@pytest.fixture(scope="module")
def whole_toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    assert train_in(folder, TOY, TOY_SETTINGS)["finished"]
    return folder


# -- killed, stopped, resumed --------------------------------------------------------------------------------


class Killed(Exception):
    """Stands for SIGKILL: nothing after it is executed."""


def stopped_run(folder: Path, iteration: int, *signals: signal.Signals) -> RunFolder:
    """A new run that gets these signals after an iteration; without any, it is killed there."""

    class StoppedRun(RunFolder):
        def log(self, row: Mapping[str, float]) -> None:
            super().log(row)
            if row["iteration"] == iteration:
                for number in signals:
                    signal.raise_signal(number)  # handled at once; two of os.kill can count as one
                if not signals:
                    raise Killed

    return StoppedRun.create(folder, TOY)


def test_killed_run_continues_to_the_same_bits(
    whole_toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same of every learner is in tests/train/test_runs.py."""
    folder, numbers = tmp_path / "killed", (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in numbers]
    with pytest.raises(Killed):
        run_training(TOY, [stopped_run(folder, 7)], TOY_SETTINGS)
    assert [signal.getsignal(number) for number in numbers] == handlers
    assert not (folder / "result.json").exists()
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 7, "ste')  # as if it had been killed in the middle of a line
    run = RunFolder.open(folder, ToyLearner)
    run.lock()  # which the error has left free
    with_long_iterations = (folder / "metrics.jsonl").read_text().replace('"seconds": ', '"seconds": 1')
    (folder / "metrics.jsonl").write_text(with_long_iterations)
    result = run_training(run.learner, [run], TOY_SETTINGS)
    assert result["finished"]
    assert result["seconds"] == round(run.rows()[-1]["seconds"], 1) >= 10  # of both starts
    assert "resumed after iteration" in capsys.readouterr().err
    assert equal_checkpoints(folder, whole_toy)
    assert metrics_of(folder) == metrics_of(whole_toy)


def test_signal_ends_a_run_with_a_checkpoint_from_which_it_continues(
    tmp_path: Path,
    whole_toy: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "stopped"
    with monkeypatch.context() as patch:
        patch.setattr(cli, "create_or_resume", lambda *_: stopped_run(folder, 6, signal.SIGINT))
        assert run_command(toy_learner.main, *arguments_of(TOY.config, TOY_SETTINGS, folder)) == 130
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert (result["finished"], result["steps"]) == (False, 6 * 4)
    advice = err.partition("stopped; continue with: ")[2].strip()
    assert int(last_train_state(folder).iteration) == 6
    assert not (folder / "result.json").exists()
    words = shlex.split(advice)
    assert words[:3] == ["python", "-m", "tests.helpers.toy_learner"]
    assert run_command(toy_learner.main, *words[3:]) == 0  # with the settings of the first start
    assert RunFolder.open(folder, ToyLearner).checkpoints() == [16, 20]
    assert last_json(capsys)["finished"]
    assert equal_checkpoints(folder, whole_toy)
    assert metrics_of(folder) == metrics_of(whole_toy)
    rows = RunFolder.open(folder, ToyLearner).rows()
    for row in rows:  # the seconds of a resumed run continue from its last row
        before = rows[5] if row["iteration"] > 6 else {"steps": 0, "seconds": 0.0}
        since = (row["steps"] - before["steps"]) / row["steps_per_second"]
        assert row["seconds"] == pytest.approx(before["seconds"] + since)


@pytest.mark.slow  # a start of JAX
def test_run_continues_on_two_devices_and_then_on_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It equals a run that was never stopped. The same of the learners' iterations is in tests/train/test_runs.py."""
    folder, settings = tmp_path / "run", Settings(checkpoint_every=4, evaluate_every=4, evaluation_games=8)
    four, eight, all_steps = (toy_learner.Config(total_steps=steps) for steps in (16, 32, 80))
    train_in(folder, ToyLearner(four), settings)
    arguments = [*arguments_of(eight, settings, folder), "--resume", "--devices", "2"]
    two_devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    status, out, err = end(start("tests.helpers.toy_learner", arguments, **two_devices))
    assert status == 0, err
    assert json.loads(out)["steps"] == 32  # one line of JSON and nothing else
    assert f"run folder {folder}; devices: 2" in err
    assert run_command(toy_learner.main, *arguments_of(all_steps, settings, folder), "--resume") == 0
    assert "resumed after iteration 8" in capsys.readouterr().err
    train_in(tmp_path / "whole", ToyLearner(all_steps), settings)
    assert equal_checkpoints(folder, tmp_path / "whole")
    assert metrics_of(folder) == metrics_of(tmp_path / "whole")


def test_run_in_another_thread_needs_no_signals(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(train_in, tmp_path / "run", TOY, TOY_SETTINGS).result()["finished"]


def test_run_whose_parameters_are_not_finite_stops_with_its_last_finite_checkpoint(tmp_path: Path) -> None:
    """The toy learner adds noise of this size in every iteration, and the largest number is 3.4e38."""
    folder = tmp_path / "run"
    options = ("--learning-rate", 5e37, "--total-steps", 4000, "--checkpoint-every", 1, "--evaluate-every", 1)
    message = error_of(toy_learner.main, "--run-dir", folder, "--evaluation-games", 4, *options)
    rows = metrics_of(folder)
    assert f"the parameters of {folder} are no longer finite numbers after iteration {len(rows)}" in message
    assert "win_rate" not in rows[-1]
    assert not (folder / "result.json").exists()
    run = RunFolder.open(folder, ToyLearner)
    assert run.checkpoints() == [len(rows) - 2, len(rows) - 1]
    assert all(np.isfinite(run.params(each)["preference"]).all() for each in run.checkpoints())


@pytest.fixture
def ctrl_c_raises() -> Iterator[None]:
    """Python's own handler of Ctrl-C. A shell starts commands in the background with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_raises")
def test_second_ctrl_c_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = signal.SIGINT, signal.SIGINT
    monkeypatch.setattr(cli, "create_or_resume", lambda *_: stopped_run(tmp_path / "run", 6, *twice))
    assert run_command(toy_learner.main, *arguments_of(TOY.config, TOY_SETTINGS, tmp_path / "run")) == 130
    assert [row["iteration"] for row in metrics_of(tmp_path / "run")] == [*range(1, 7)]


# -- evaluations and lines -------------------------------------------------------------------------------------------

SHORT = ToyLearner(toy_learner.Config(total_steps=12))


def test_evaluation_is_played_against_the_chosen_agent(tmp_path: Path) -> None:
    settings = Settings(evaluate_every=3, evaluation_games=50, evaluation_opponent="first")
    result = train_in(tmp_path / "run", SHORT, settings)
    agent = SHORT.agent(last_train_state(tmp_path / "run").params)
    key = jax.random.fold_in(jax.random.key(loop.EVALUATION_SEED), 3)
    expected = jax.jit(lambda: arena.evaluate(SHORT.env, agent, agents.make("first", SHORT.env), key, 50))()
    last = metrics_of(tmp_path / "run")[-1]
    for name, number in expected.items():
        np.testing.assert_allclose(last[name], number, rtol=1e-6)
    assert result["win_rate"] == round(float(expected["win_rate"]), 4)


def test_random_agent_that_is_beaten_is_followed_by_the_greedy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one box, whoever has the second seat draws the last edge and wins."""

    class First(PPO):
        def agent(self, params: Any, *_: Any, **__: Any) -> agents.Agent:
            return agents.make("first", self.env)

    learner = First(Config(env="dots_and_boxes(rows=1, cols=1)", hidden_sizes=(4,), num_minibatches=1))
    settings, train_state = Settings(evaluation_games=4), random_train_state(learner)

    def columns() -> dict[str, float]:
        return dict(loop.evaluation(learner, settings, loop.evaluation_opponent(learner, settings), train_state, 3))

    found = columns()
    assert found["win_rate"] < loop.BEATEN
    assert "win_rate/greedy" not in found
    monkeypatch.setattr(loop, "BEATEN", found["win_rate"])
    beaten = columns()
    assert (beaten["win_rate/greedy"], beaten["draw_rate/greedy"]) == (found["win_rate"], 0)


def test_line_of_progress_has_draws_the_next_opponent_and_the_games_of_all_runs() -> None:
    row: dict[str, Any] = {"steps": 20, "steps_per_second": 4.0, "mean_turns": 4.89, "evaluation_games": 100}
    rates, row["evaluation_opponent"] = np.array([0.5, 0.25, 0.75]), "random"
    row |= {"win_rate": rates, "draw_rate": rates / 2, "win_rate/greedy": rates / 5, "draw_rate/greedy": rates * 0}
    line = format_row(row, TOY.config, num_runs=3)
    assert "won 150, drawn 75 of 300 against random (44-56 %)   won 30 of 300 against greedy (7-14 %)   4.9 tu" in line


def test_metrics_in_single_precision_have_six_digits_and_whole_numbers_are_exact() -> None:
    metrics = {"rate": np.float32(0.67), "games": np.float32(2_000_001), "runs": np.array([0.1, np.nan], np.float32)}
    numbers = to_floats(metrics)
    assert (numbers["rate"], numbers["games"], numbers["runs"][0]) == (0.67, 2_000_001, 0.1)
    assert np.isnan(numbers["runs"][1])
    assert to_floats({"exact": np.float64(1 / 3)})["exact"] == 1 / 3
