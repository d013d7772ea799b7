"""Any learner can be driven: the driver names none, and trains a toy one of a few lines."""

import ast
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import train
from tests.helpers import toy_learner
from tests.helpers.commands import last_json, run_command
from tests.helpers.stored_runs import ROOT, last_train_state, metrics_of
from train.driver.learner import Learner

DRIVER = sorted((ROOT / "train" / "driver").glob("*.py"))
LEARNERS = {path.stem for path in (ROOT / "train").glob("*.py")} - {"__init__"}  # and what stands above them


def test_toy_learner_is_trained_by_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    arguments = ("--run-dir", folder, "--learning-rate", 0.25, "--evaluation-games", 8, "--evaluate-every", 5)
    assert run_command(toy_learner.main, *arguments) == 0
    result = last_json(capsys)
    assert (result["env"], result["steps"]) == ("sticks", 40)
    assert result["learner"] == "tests.helpers.toy_learner:ToyLearner"
    rows = metrics_of(folder)
    assert [row["iteration"] for row in rows] == list(range(1, 11))
    assert [row["iteration"] for row in rows if "win_rate" in row] == [1, 2, 4, 5, 10]

    key, preference = jax.random.key(0), jnp.zeros(3)
    for _ in rows:
        key, noise_key = jax.random.split(key)
        preference += 0.25 * jax.random.normal(noise_key, (3,))
    assert jnp.allclose(last_train_state(folder).params["preference"], preference, atol=1e-6)


@pytest.mark.parametrize("path", DRIVER, ids=lambda path: path.stem)
def test_driver_names_no_learner(path: Path) -> None:
    """Its code imports nothing of the upper floors of train/; examples in docstrings are not code."""
    tree = ast.parse(path.read_text())
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    upper = {f"{train.__name__}.{name}" for name in LEARNERS} | {f"{train.__name__}.models"}
    assert not {module for module in modules if any(f"{module}.".startswith(f"{name}.") for name in upper)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"PPO", "Policy", "RECIPES"}


def test_toy_learner_writes_no_more_than_a_learner_must() -> None:
    """It has the members that the docstring of `Learner` names, and two for many devices."""
    written = {name for name in vars(toy_learner.ToyLearner) if not name.startswith("_")} | {"config"}
    required = {*re.findall(r"`(\w+)`", str(Learner.__doc__).partition("The rest")[0])}
    assert len(required) == 7
    assert written == required | {"init_params", "partition_specs", "batch_sizes", "numbers"}
