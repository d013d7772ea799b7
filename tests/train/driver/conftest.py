"""A run of the toy learner that several tests read."""

from pathlib import Path

import pytest

from tests.helpers.stored_runs import train_in
from tests.helpers.toy_learner import Config, ToyLearner
from train.driver.loop import Settings


@pytest.fixture(scope="session")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run of five iterations; no test changes it."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    settings = Settings(checkpoint_every=2, evaluate_every=0)
    assert train_in(folder, ToyLearner(Config(total_steps=20)), settings)["finished"]
    return folder
