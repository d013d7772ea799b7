"""Sweeps: a cell equals its single run, a killed sweep continues to the same bits, and what the commands read."""

import dataclasses
import json
import signal
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.stored_runs import ends, equal_checkpoints, metrics_of, signal_when_training, start, train_in
from tests.helpers.toy_learner import ToyLearner
from train import evaluate, ppo, sweep
from train.agents import make
from train.driver.cell_folders import CellFolders
from train.driver.cells import Cells, CellsState, Group
from train.driver.learner import traced_copy
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ppo import PPO
from train.sweep import Sweep, changes, folder_name, run_sweep, sweep_of
from train.sweep_arguments import parse

jax.devices()  # JAX starts here, with the devices of the other tests

TINY: dict[str, Any] = {
    "env": ("dots_and_boxes(rows=1, cols=2)",),
    "total_steps": (96,),
    "num_envs": (4,),
    "rollout_length": (8,),
    "update_epochs": (2,),
    "num_minibatches": (2,),
    "hidden_sizes": ((4,),),
    "channels": ((),),
    "learning_rate": (0.01,),
}
CONFIG = ppo.config_for(**{name: value for name, (value,) in TINY.items()})
OTHER = {  # another value of every traced setting
    "learning_rate": 0.003,
    "gamma": 0.5,
    "gae_lambda": 0.3,
    "clip_coef": 0.001,
    "vf_coef": 2.0,
    "ent_coef": 0.5,
    "max_grad_norm": 0.01,
}
WATCHED = Settings(checkpoint_every=2, evaluate_every=2, evaluation_games=8)


def toy_sweep(**changed: Any) -> Sweep:
    """Two groups (num_envs) of four cells each."""
    cells = {
        f"num_envs={num_envs}+learning_rate={rate}/seed={seed}": ToyLearner(
            toy_learner.Config(num_envs=num_envs, learning_rate=rate, seed=seed, total_steps=10 * num_envs, **changed)
        )
        for num_envs in (2, 4)
        for rate in (0.25, 0.5)
        for seed in (0, 1)
    }
    return Sweep("toy", {"num_envs": (2, 4), "learning_rate": (0.25, 0.5)}, 0, 2, cells)


TOY = Settings(checkpoint_every=4, evaluate_every=4, evaluation_games=4)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted sweep of the toy learner."""
    folder = tmp_path_factory.mktemp("sweeps") / "whole"
    assert run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder))["finished"]
    return folder


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of PPO over two discounts and two seeds."""
    folder = tmp_path_factory.mktemp("sweeps") / "ppo"
    table = sweep_of("ppo", {**TINY, "gamma": (0.5, 0.99)}, seeds=2, seed=3)
    assert run_sweep(table, dataclasses.replace(WATCHED, run_dir=folder))["finished"]
    return folder


# -- a cell equals its single run ------------------------------------------------------------------------------------


def test_cell_equals_its_single_run(swept: Path, tmp_path: Path) -> None:
    """Parameters, metrics and evaluations, up to rounding."""
    single, cell = tmp_path / "single", swept / "gamma=0.5" / "seed=4"
    train_in(single, PPO(dataclasses.replace(CONFIG, gamma=0.5, seed=4)), WATCHED)
    assert json.loads((cell / "config.json").read_text()) == json.loads((single / "config.json").read_text())
    assert_close(RunFolder.open(cell, PPO).params(), RunFolder.open(single, PPO).params())
    rows, expected = metrics_of(cell), metrics_of(single)
    assert [[*row] for row in rows] == [[*row] for row in expected]
    for row, of_single in zip(rows, expected, strict=True):
        for name, value in of_single.items():
            assert row[name] == (None if value is None else pytest.approx(value, rel=1e-4, abs=1e-5)), name


def test_every_traced_setting_has_its_effect() -> None:
    """A cell with all other values equals its single run, and each value alone changes the parameters."""
    assert set(OTHER) == set(PPO.traced_settings)
    changed = [{}, OTHER, *({name: value} for name, value in OTHER.items())]
    cells = Cells(Group(tuple(PPO(dataclasses.replace(CONFIG, **each)) for each in changed)))
    state = iterated(cells)
    assert_close(params_of(state, 1), iterated(cells.config.learners[1]).params)
    for index, name in enumerate(OTHER, start=2):
        assert not equal(params_of(state, index), params_of(state, 0)), f"{name} has no effect"


def iterated(learner: Any) -> Any:
    """The train state after three iterations."""
    train_state = jax.jit(learner.init)(jax.random.key(learner.config.seed))
    iterate = jax.jit(learner.iterate)
    for _ in range(3):
        train_state, _ = iterate(train_state)
    return train_state


def params_of(state: CellsState, index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], state.params)


def assert_close(found: Any, expected: Any) -> None:
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), found, expected)


def equal(first: Any, second: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True))


@pytest.mark.parametrize("at_once", [1, 3, 5])
def test_cells_at_once_do_not_change_a_cell(at_once: int) -> None:
    """One after the other, in chunks with a remainder, and all at once."""
    configs = [toy_learner.Config(learning_rate=rate, seed=seed) for rate in (0.1, 0.2) for seed in (0, 1)]
    learners = tuple(map(ToyLearner, [*configs, toy_learner.Config(learning_rate=0.3)]))
    state = iterated(Cells(Group(learners, at_once=at_once)))
    for index, learner in enumerate(learners):
        assert_close(params_of(state, index), iterated(learner).params)


def test_only_traced_settings_can_be_numbers_of_a_trace() -> None:
    with pytest.raises(ValueError, match=r"only learning_rate can be traced, not num_envs"):
        traced_copy(ToyLearner(toy_learner.Config()), {"num_envs": jax.numpy.float32(3)})


# -- folders ---------------------------------------------------------------------------------------------------------


def test_folder_of_a_cell_is_that_of_a_run(swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Agents and evaluations read it, and `train.ppo` continues it."""
    cell = swept / "gamma=0.5" / "seed=3"
    run = RunFolder.open(cell, PPO)
    assert make(str(cell), run.learner.env).on_device
    result = run.result()
    assert result is not None
    assert (result["finished"], result["run_dir"], result["seed"], result["steps"]) == (True, str(cell), 3, 96)
    assert list(cell.glob("events.out.tfevents.*"))
    assert run_command(evaluate.main, cell, "--games", 4) is None
    assert last_json(capsys)["games"] == 4


def test_summary_has_median_and_range_over_seeds(swept: Path) -> None:
    stored = json.loads((swept / "summary.json").read_text())
    assert stored["varied"] == ["gamma"]
    assert [(row["settings"], row["seeds"]) for row in stored["rows"]] == [({"gamma": 0.5}, 2), ({"gamma": 0.99}, 2)]
    rates = [metrics_of(swept / "gamma=0.5" / f"seed={seed}")[-1]["win_rate"] for seed in (3, 4)]
    assert stored["rows"][0]["win_rate"] == {
        "median": pytest.approx(np.mean(rates), abs=1e-4),
        "lowest": pytest.approx(min(rates), abs=1e-4),
        "highest": pytest.approx(max(rates), abs=1e-4),
    }
    lines = (swept / "summary.md").read_text().splitlines()
    assert lines[0] == "| gamma | seeds | win_rate | mean_turns | mean_reward | episode_length |"
    assert [line.split(" | ")[:2] for line in lines[2:]] == [["| 0.5", "2"], ["| 0.99", "2"]]
    assert all((swept / f"summary.{ending}").stat().st_size > 1000 for ending in ("png", "svg"))


def test_group_has_the_cells_that_differ_in_seeds_and_traced_settings(whole: Path) -> None:
    assert [len(group) for group in toy_sweep().groups()] == [4, 4]
    assert (whole / "summary.svg").read_text().count("<image") >= 1  # a heat map of two settings
    assert {len(metrics_of(path.parent)) for path in whole.rglob("config.json")} == {10}


# -- stopped, killed, resumed ----------------------------------------------------------------------------------------


class Killed(Exception):
    """Stands for SIGKILL: nothing after it is executed."""


def test_killed_sweep_continues_to_the_same_bits(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed after the second group wrote a checkpoint of half of its cells."""
    folder, save = tmp_path / "killed", RunFolder.save

    def save_or_die(run: RunFolder, train_state: Any, keep_every: int = 0) -> None:
        if int(train_state.iteration) == 8 and str(run.folder).endswith("num_envs=4+learning_rate=0.5/seed=0"):
            raise Killed
        save(run, train_state, keep_every)

    monkeypatch.setattr(RunFolder, "save", save_or_die)
    with pytest.raises(Killed):
        run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder))
    monkeypatch.undo()
    newest = [max(int(each.name) for each in path.iterdir()) for path in folder.glob("num_envs=4*/*/checkpoints")]
    assert sorted(newest) == [4, 4, 8, 8]
    finished = folder / "num_envs=2+learning_rate=0.25" / "seed=0" / "result.json"
    before = finished.stat().st_mtime_ns
    assert run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder, resume=True))["finished"]
    assert finished.stat().st_mtime_ns == before, "a finished group was repeated"
    for path in sorted(whole.rglob("config.json")):
        twin = folder / path.parent.relative_to(whole)
        assert equal_checkpoints(twin, path.parent)
        assert metrics_of(twin) == metrics_of(path.parent)
    assert (folder / "summary.md").read_text() == (whole / "summary.md").read_text()


def test_signal_stops_after_an_iteration_with_checkpoints(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, log = tmp_path / "stopped", CellFolders.log

    def log_and_interrupt(cells: CellFolders, row: dict[str, Any]) -> None:
        log(cells, row)
        if row["iteration"] == 3:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(CellFolders, "log", log_and_interrupt)
    result = run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder))
    monkeypatch.undo()
    assert not result["finished"]
    assert f"stopped; continue with: python -m train.sweep --run-dir {folder} --resume" in capsys.readouterr().err
    assert {len(metrics_of(path.parent)) for path in folder.rglob("config.json")} == {3}
    assert run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder, resume=True))["finished"]
    cell = Path("num_envs=4+learning_rate=0.5") / "seed=1"
    assert equal_checkpoints(folder / cell, whole / cell)


@pytest.mark.slow  # starts JAX twice
def test_command_killed_by_the_system_continues_to_the_same_bits(tmp_path: Path) -> None:
    table = [f"--{name.replace('_', '-')}={value}" for name, (value,) in TINY.items() if isinstance(value, int | str)]
    table = [*(each for each in table if "total" not in each), "--total-steps=1280", "--hidden-sizes=4", "--channels="]
    table += ["--gamma", "0.5", "0.9", "--seeds=2", "--checkpoint-every=2", "--evaluate-every=0"]
    (whole,) = [start("train.sweep", [*table, f"--run-dir={tmp_path / 'whole'}"])]
    assert ends([whole])[0][0] == 0
    killed = start("train.sweep", [*table, f"--run-dir={tmp_path / 'killed'}"])
    signal_when_training(tmp_path / "killed" / "gamma=0.9" / "seed=1", [killed], 0, signal.SIGKILL)
    assert ends([killed])[0][0] == -signal.SIGKILL
    time.sleep(0.1)
    assert not (tmp_path / "killed" / "summary.json").exists(), "over before the signal came"
    resumed = start("train.sweep", [f"--run-dir={tmp_path / 'killed'}", "--resume", "--evaluate-every=0"])
    ((status, out, _),) = ends([resumed])
    assert status == 0
    assert json.loads(out.splitlines()[-1])["finished"]
    for path in (tmp_path / "whole").rglob("config.json"):
        twin = tmp_path / "killed" / path.parent.relative_to(tmp_path / "whole")
        assert equal_checkpoints(twin, path.parent)
        assert metrics_of(twin) == metrics_of(path.parent)


# -- the command line and its errors ---------------------------------------------------------------------------------


def test_setting_takes_one_or_more_values() -> None:
    words = "--gamma 0.3 0.5 --sharing shared independent --hidden-sizes 8,8 16 --anneal-lr False --seeds 3 --seed 2"
    parsed = parse(words.split())
    assert parsed.values == {
        "gamma": (0.3, 0.5),
        "sharing": ("shared", "independent"),
        "hidden_sizes": ((8, 8), (16,)),
        "anneal_lr": (False,),
    }
    assert (parsed.learner, parsed.seeds, parsed.seed) == ("ppo", 3, 2)
    table = sweep_of("ppo", parsed.values, 1)
    assert len(table.cells) == 8
    assert set(table.varied) == {"gamma", "sharing", "hidden_sizes"}


def test_settings_that_are_left_out_are_those_of_the_games_recipe() -> None:
    table = sweep_of("ppo", {"env": ("minichess", "chinese_checkers(size=1)"), "gamma": (0.5,)}, seeds=1)
    chess, star = table.cells.values()
    assert chess.config == ppo.config_for("minichess", gamma=0.5)
    assert star.config == ppo.config_for("chinese_checkers(size=1)", gamma=0.5)


def test_stored_table_is_the_default_of_a_resumed_sweep(swept: Path) -> None:
    parsed = parse(["--run-dir", str(swept), "--resume"])
    assert sweep_of(parsed.learner, parsed.values, parsed.seeds, parsed.seed).to_json() == json.loads(
        (swept / "sweep.json").read_text()
    )


def test_folder_names_have_no_character_that_an_agents_text_splits_at() -> None:
    assert folder_name({"gamma": 0.3, "gae_lambda": 1.0}, ["gamma", "gae_lambda"], 5) == "gamma=0.3+gae_lambda=1.0"
    assert folder_name({"env": "a(b=1, c=2)"}, ["env"], 5) == "env=a_b=1_c=2__5"
    assert folder_name({"hidden_sizes": (64, 64)}, ["hidden_sizes"], 5) == "hidden_sizes=64_64_5"
    assert len(folder_name({"env": "x" * 500}, ["env"], 5)) < 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gamma", "0.5", "1.5"], "gamma must be from 0 to 1, not 1.5"),
        (["--gamma", "0.5", "0.5"], "gamma has the value 0.5 twice"),
        (["--hidden-sizes", "8,x"], "a value of hidden_sizes must be a list of int such as 64,64, not '8,x'"),
        (["--seeds", "0"], "seeds must be at least 1, not 0"),
        (["--learner", "dqn"], "learner must be one of ppo, not 'dqn'"),
        (["--resume"], "--resume needs the --run-dir of the sweep to continue"),
        (["--cells-at-once", "-1"], "cells_at_once must be 0 or more, not -1"),
        (["--devices", "100"], "devices must be at most"),
        (["--coordinator", "localhost:9000", "--processes", "2"], "a sweep runs in one process"),
        (["--num-envs", "400000000", "--cells-at-once", "2", "--seeds", "2"], "reduce cells_at_once = 2"),
    ],
)
def test_wrong_argument_is_named(arguments: list[str], message: str, tmp_path: Path) -> None:
    assert message in error_of(sweep.main, *arguments, *(["--run-dir", tmp_path] * ("--resume" not in arguments)))
    assert not any(tmp_path.iterdir())


def test_sweep_with_other_settings_is_refused(whole: Path, swept: Path) -> None:
    with pytest.raises(FileExistsError, match="holds a sweep already: add --resume"):
        run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=whole))
    with pytest.raises(ValueError, match=r"sizes of num_envs=2.*seed=0 was \[3, 2\] and is \[3, 5\]"):
        run_sweep(toy_sweep(sizes=(3, 5)), dataclasses.replace(TOY, run_dir=whole, resume=True))
    message = error_of(sweep.main, "--run-dir", swept, "--resume", "--gamma", 0.5, 0.9)
    assert "was started with other settings: gamma was [0.5, 0.99] and is [0.5, 0.9]" in message


def test_changes_name_the_settings_with_both_values() -> None:
    before = toy_sweep().to_json()
    assert changes(before, before) == []
    assert changes(before, before | {"seeds": 3}) == ["seeds was 2 and is 3"]


def test_cell_that_was_continued_alone_is_refused(tmp_path: Path) -> None:
    """Its group would not be at the same iteration any more."""
    table = toy_sweep()
    name, learner = next(iter(table.cells.items()))
    assert isinstance(learner, ToyLearner)
    RunFolder.create(tmp_path / name, ToyLearner(dataclasses.replace(learner.config, total_steps=400))).close()
    with pytest.raises(ValueError, match="continued with other settings: total_steps is 400 there and 20 here"):
        run_sweep(table, dataclasses.replace(TOY, run_dir=tmp_path))
