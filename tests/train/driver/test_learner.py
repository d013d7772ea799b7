"""Any learner can be driven: a toy one of a few lines is."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import last_json, run_command
from tests.helpers.stored_runs import last_train_state, metrics_of
from train.driver.learner import Learner


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


def test_toy_learner_writes_no_more_than_a_learner_must() -> None:
    """It has the members that the docstring of `Learner` names, and two for many devices."""
    written = {name for name in vars(toy_learner.ToyLearner) if not name.startswith("_")} | {"config"}
    required = {*re.findall(r"`(\w+)`", str(Learner.__doc__).partition("The rest")[0])}
    assert len(required) == 7
    assert written == required | {"init_params", "partition_specs", "batch_sizes", "numbers"}
