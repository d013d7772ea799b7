"""The loggers of a run: a stand-in for Weights & Biases gets what TensorBoard gets."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import error_of, run_command
from tests.helpers.stored_runs import metrics_of
from train.driver import loggers


class UsageError(Exception):
    pass


class Runs:
    """Stands for the module `wandb`: keeps what it is called with."""

    errors = SimpleNamespace(UsageError=UsageError)
    __spec__ = SimpleNamespace()  # `find_spec` reads it

    def __init__(self) -> None:
        self.begun: list[dict[str, Any]] = []
        self.rows: list[tuple[int, Mapping[str, float]]] = []
        self.finished = 0
        self.refusal = ""

    def init(self, **arguments: Any) -> Any:
        if self.refusal:
            raise UsageError(self.refusal)
        self.begun.append(arguments)
        return self

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        self.rows.append((step, numbers))

    def finish(self) -> None:
        self.finished += 1


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Runs:
    module = Runs()
    monkeypatch.setitem(sys.modules, "wandb", module)  # pyright: ignore[reportArgumentType]  # stands for a module
    return module


def test_wandb_gets_the_numbers_of_every_iteration_under_one_id(wandb: Runs, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ("--run-dir", folder, "--evaluate-every", 2, "--evaluation-games", 4, "--logger", "wandb")
    assert run_command(toy_learner.main, *options, "--total-steps", 8) == 0
    assert run_command(toy_learner.main, *options, "--total-steps", 16, "--resume") == 0
    first, second = wandb.begun
    assert first["config"]["settings"]["total_steps"] == 8
    assert (first["id"], first["resume"], first["name"]) == (second["id"], "allow", "run")
    assert [step for step, _ in wandb.rows] == [1, 2, 3, 4]
    assert wandb.finished == 2
    stored = {name: value for name, value in metrics_of(folder)[1].items() if isinstance(value, int | float)}
    assert "win_rate" in stored
    assert stored.items() <= ({"iteration": 2} | dict(wandb.rows[1][1])).items()
    assert not list(folder.glob("events.*"))


def test_loggers_are_chosen_together_or_left_out(wandb: Runs, tmp_path: Path) -> None:
    options = ("--total-steps", 4, "--evaluate-every", 0)
    assert (
        run_command(toy_learner.main, "--run-dir", tmp_path / "both", *options, "--logger", "tensorboard", "wandb") == 0
    )
    assert list((tmp_path / "both").glob("events.*"))
    assert len(wandb.rows) == 1
    for name, words in (("none", ["none"]), ("empty", [])):
        assert run_command(toy_learner.main, "--run-dir", tmp_path / name, *options, "--logger", *words) == 0
        assert not list((tmp_path / name).glob("events.*"))
        assert len(metrics_of(tmp_path / name)) == 1
    assert run_command(toy_learner.main, "--run-dir", tmp_path / "mixed", "--logger", "none", "wandb") == 2
    assert not (tmp_path / "mixed").exists()


def test_wandb_without_its_package_or_a_login_is_refused_in_words(
    wandb: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    wandb.refusal = "No API key configured."
    options = ("--run-dir", folder, "--evaluate-every", 0, "--logger", "wandb")
    message = error_of(toy_learner.main, *options)
    assert message.startswith("tests.helpers.toy_learner: wandb: No API key configured. Or set WANDB_MODE=offline")
    monkeypatch.setitem(loggers.PACKAGES, "wandb", ("no_such_package", "wandb"))
    assert 'pip install -e ".[wandb]"' in error_of(toy_learner.main, *options[2:], "--run-dir", tmp_path / "other")
    assert not (tmp_path / "other").exists()
