"""Sweeps: a cell equals its single run, a killed sweep continues to the same bits, and what the command line makes."""

import dataclasses
import json
import signal
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import error_of
from tests.helpers.stored_runs import equal_checkpoints, metrics_of, train_in
from tests.helpers.toy_learner import ToyLearner
from tests.train.conftest import Runs
from train import ppo
from train.agents import make
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.sweep import Sweep, run_sweep, sweep_of
from train.sweep.__main__ import main, parse
from train.sweep.batched_runs import BatchedRuns
from train.sweep.runs import folder_name

jax.devices()  # JAX starts here, with the devices of the other tests

TOY = Settings(checkpoint_every=4, evaluate_every=4, evaluation_games=4)
TOY_LEARNER = "tests.helpers.toy_learner:ToyLearner"
TOY_TABLE: dict[str, Any] = {"num_envs": (2, 4), "learning_rate": (0.25, 0.5), "total_steps": (40,)}


def toy_sweep(**more: Any) -> Sweep:
    """Two groups (num_envs) of four cells each, of 20 and of 10 iterations."""
    return sweep_of(TOY_LEARNER, TOY_TABLE | more, seeds=2, seed=3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted sweep of the toy learner."""
    folder = tmp_path_factory.mktemp("sweeps") / "whole"
    settings = dataclasses.replace(TOY, run_dir=folder, checkpoint_every=20)
    assert run_sweep(toy_sweep(), settings)["finished"]
    return folder


# -- a cell equals its single run ------------------------------------------------------------------------------------


def test_cell_of_the_toy_learner_has_the_bits_of_its_single_run(whole: Path, tmp_path: Path) -> None:
    """Its folder is that of a run: an agent reads it."""
    cell, single = whole / "num_envs=4+learning_rate=0.25" / "seed=4", tmp_path / "single"
    config = toy_learner.Config(num_envs=4, learning_rate=0.25, total_steps=40, seed=4)
    result = train_in(single, ToyLearner(config), dataclasses.replace(TOY, checkpoint_every=20))
    assert metrics_of(cell) == metrics_of(single)
    assert equal_checkpoints(cell, single)
    of_cell = RunFolder.open(cell, ToyLearner).result()
    assert of_cell is not None
    assert {name for name in result if of_cell[name] != result[name]} <= {"run_dir", "seconds", "steps_per_second"}
    assert make(str(cell), ToyLearner(config).env).on_device


def params_of_three_iterations(learner: Any) -> Any:
    train_state, iterate = jax.jit(learner.init)(jax.random.key(learner.config.seed)), jax.jit(learner.iterate)
    for _ in range(3):
        train_state, _ = iterate(train_state)
    return train_state.params


def test_cells_at_once_do_not_change_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on an accelerator; the other tests have one cell at a time."""
    monkeypatch.setenv("JAXGAMES_FORMS", "library")
    configs = [toy_learner.Config(learning_rate=rate, seed=seed) for rate in (0.1, 0.2) for seed in (0, 1)]
    learners = tuple(map(ToyLearner, [*configs, toy_learner.Config(learning_rate=0.3)]))
    cells = params_of_three_iterations(BatchedRuns(learners))
    for index, learner in enumerate(learners):
        single = params_of_three_iterations(learner)
        for name, expected in single.items():
            np.testing.assert_allclose(cells[name][index], expected, rtol=1e-5, atol=1e-6)


# -- folders ---------------------------------------------------------------------------------------------------------


def test_summary_has_median_and_range_over_seeds(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=whole, resume=True))
    assert f"picture  {whole / 'learning_curve.png'}" in capsys.readouterr().err
    stored = json.loads((whole / "summary.json").read_text())
    assert stored["varied"] == ["num_envs", "learning_rate"]
    settings = [{"num_envs": number, "learning_rate": rate} for number in (2, 4) for rate in (0.25, 0.5)]
    assert [(row["settings"], row["seeds"]) for row in stored["rows"]] == [(each, 2) for each in settings]
    for row in stored["rows"]:
        name = "num_envs={num_envs}+learning_rate={learning_rate}".format(**row["settings"])
        rates = [metrics_of(whole / name / f"seed={seed}")[-1]["win_rate"] for seed in (3, 4)]
        expected = {"median": np.mean(rates), "lowest": min(rates), "highest": max(rates)}
        assert row["win_rate"] == {each: pytest.approx(value, abs=1e-4) for each, value in expected.items()}


def test_runs_with_and_without_a_divergence_are_different_groups() -> None:
    fixed = {"env": ("dots_and_boxes(rows=1, cols=1)",), "init_from": ("a",)}
    groups = sweep_of("ppo", fixed | {"kl_coef": (None, 0.0, 0.1, 0.2)}).groups()
    assert [len(group) for group in groups] == [1, 3]


def test_cell_that_diverges_ends_the_sweep_and_is_named(tmp_path: Path) -> None:
    options = ("--learner", TOY_LEARNER, "--learning-rate", 0.5, "1e38", "--total-steps", 400, "--evaluate-every", 0)
    message = error_of(main, "--run-dir", tmp_path / "sweep", *options)
    assert f"the parameters of {tmp_path / 'sweep' / 'learning_rate=1e+38' / 'seed=0'} are no longer finite" in message
    assert not list((tmp_path / "sweep").rglob("result.json"))


# -- stopped, killed, resumed ----------------------------------------------------------------------------------------


class Killed(Exception):
    """Stands for SIGKILL: nothing after it is executed."""


def test_killed_sweep_continues_to_the_same_bits(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed after the second group wrote a checkpoint of half of its cells."""
    folder, save = tmp_path / "killed", RunFolder.save

    def save_or_die(run: RunFolder, train_state: Any, keep_every: int = 0) -> None:
        if int(train_state.iteration) == 8 and str(run.folder).endswith("num_envs=4+learning_rate=0.5/seed=3"):
            raise Killed
        save(run, train_state, keep_every)

    monkeypatch.setattr(RunFolder, "save", save_or_die)
    with pytest.raises(Killed):
        run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder))
    monkeypatch.undo()
    newest = [max(int(each.stem) for each in path.iterdir()) for path in folder.glob("num_envs=4*/*/checkpoints")]
    assert sorted(newest) == [4, 4, 8, 8]
    finished = folder / "num_envs=2+learning_rate=0.25" / "seed=3" / "result.json"
    before = finished.stat().st_mtime_ns
    assert run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder, resume=True))["finished"]
    assert finished.stat().st_mtime_ns == before, "a finished group was repeated"
    for path in sorted(whole.rglob("config.json")):
        twin = folder / path.parent.relative_to(whole)
        assert equal_checkpoints(twin, path.parent)
        assert metrics_of(twin) == metrics_of(path.parent)
    assert (folder / "summary.md").read_text() == (whole / "summary.md").read_text()


def test_signal_stops_all_groups_after_an_iteration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, log = tmp_path / "stopped", RunFolder.log

    def log_and_interrupt(run: RunFolder, row: dict[str, Any]) -> None:
        log(run, row)
        if row["iteration"] == 3 and str(run.folder).endswith("learning_rate=0.5/seed=4"):
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(RunFolder, "log", log_and_interrupt)
    result = run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=folder))
    assert not result["finished"]
    err = capsys.readouterr().err
    assert err.count("compiling") == 2  # once per group
    assert f"stopped; continue with: python -m train.sweep --run-dir {folder} --resume" in err
    assert [len(metrics_of(path.parent)) for path in folder.rglob("config.json")] == [3] * 4  # of the first group
    assert [path.name for path in folder.rglob("*.npz")] == ["3.npz"] * 4


# -- the command line and its errors ---------------------------------------------------------------------------------


def test_sweep_with_other_settings_is_refused(whole: Path) -> None:
    """The stored table is the default of all settings that are not given."""
    with pytest.raises(FileExistsError, match="holds a sweep already: add --resume"):
        run_sweep(toy_sweep(), dataclasses.replace(TOY, run_dir=whole))
    message = error_of(main, "--run-dir", whole, "--resume", "--learning-rate", 0.25, 0.75)
    assert "was started with other settings: learning_rate was [0.25, 0.5] and is [0.25, 0.75]" in message


def test_setting_takes_one_or_more_values() -> None:
    words = "--gamma 0.3 0.5 --sharing shared independent --hidden-sizes 8,8 16 --seeds 3 --seed 2"
    parsed = parse([*words.split(), "--opponents", "random,a(top=3)"])
    assert parsed.values == {
        "gamma": (0.3, 0.5),
        "sharing": ("shared", "independent"),
        "hidden_sizes": ((8, 8), (16,)),
        "opponents": (("random", "a(top=3)"),),
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


def test_folder_names_have_no_character_that_an_agents_text_splits_at() -> None:
    assert folder_name({"gamma": 0.3, "gae_lambda": 1.0}, ["gamma", "gae_lambda"], 5) == "gamma=0.3+gae_lambda=1.0"
    assert folder_name({"env": "a(b=1, c=2)"}, ["env"], 5) == "env=a_b=1_c=2__5"
    assert folder_name({"hidden_sizes": (64, 64)}, ["hidden_sizes"], 5) == "hidden_sizes=64_64_5"
    assert len(folder_name({"env": "x" * 500}, ["env"], 5)) < 130


def test_parameters_that_do_not_fit_a_later_group_are_refused_before_there_is_a_folder(
    untrained: Runs, tmp_path: Path
) -> None:
    """Otherwise the error comes when the groups before are trained."""
    games = ("dots_and_boxes(rows=2, cols=2)", "dots_and_boxes(rows=1, cols=2)")
    network = ("--hidden-sizes", 8, "--channels", "", "--init-from", untrained.first)
    message = error_of(main, "--env", *games, *network, "--run-dir", tmp_path / "sweep")
    assert f"the parameters of {untrained.first} do not fit this run" in message
    assert not (tmp_path / "sweep").exists()
