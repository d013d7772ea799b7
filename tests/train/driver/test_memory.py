"""Settings that cannot fit in memory are refused before anything is compiled or a folder is made."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import error_of
from tests.helpers.toy_learner import ToyLearner
from train.driver import memory
from train.ppo import PPO, Config

GAME = Config(env="dots_and_boxes(rows=1, cols=1)", hidden_sizes=(8,))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"num_envs": 10**11}, "reduce num_envs = 100,000,000,000 or rollout_length = 200"),
        ({"rollout_length": 10**10}, "reduce rollout_length = 10,000,000,000 or num_envs = 20"),
        ({"hidden_sizes": (10**7, 10**7)}, "reduce hidden_sizes = 10,000,000"),
    ],
)
def test_setting_that_makes_a_run_too_large_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"needs at least [\d,]+\.\d GB of memory; there are .* GB.*{named}"):
        memory.check_memory(PPO(dataclasses.replace(GAME, **changes)), 1)


def test_more_iterations_than_are_counted_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 2,147,483,647 iterations, not 25,000,000,000: reduce total_steps"):
        memory.check_memory(PPO(dataclasses.replace(GAME, total_steps=10**14)), 1)


def test_memory_is_compared_with_the_arrays_of_the_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = jax.eval_shape(ToyLearner(toy_learner.Config()).largest_arrays, jax.eval_shape(lambda: jax.random.key(0)))
    needed = sum(memory.num_bytes(leaf) for leaf in jax.tree.leaves(arrays))
    for there, fits in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr(memory, "memory_of", lambda device, there=there: there)
        if fits:
            memory.check_memory(ToyLearner(toy_learner.Config()), 1)
        else:
            with pytest.raises(ValueError, match="needs at least"):
                memory.check_memory(ToyLearner(toy_learner.Config()), 1)


@pytest.mark.parametrize(("form", "is_counted"), [("cpu", True), ("library", False)])
def test_observed_rollout_of_ppo_counts_where_its_update_observes_all_boards_at_once(
    form: str, is_counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXGAMES_FORMS", form)
    learner = PPO(GAME)
    arrays = jax.eval_shape(learner.largest_arrays, jax.eval_shape(lambda: jax.random.key(0)))
    shapes = {leaf.shape for leaf in jax.tree.leaves(arrays)}
    assert ((GAME.rollout_length, GAME.num_envs, *learner.env.observation_shape) in shapes) == is_counted


def test_command_that_cannot_fit_makes_no_folder(tmp_path: Path) -> None:
    message = error_of(toy_learner.main, "--run-dir", tmp_path / "run", "--num-envs", 10**12)
    assert "reduce num_envs = 1,000,000,000,000" in message
    assert not (tmp_path / "run").exists()
