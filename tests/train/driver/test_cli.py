"""The command of a learner: defaults, --resume, its memory, and where compiled programs are kept."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import last_json, run_command
from tests.helpers.stored_runs import arguments_of, equal_checkpoints, metrics_of, train_in
from tests.helpers.toy_learner import ToyLearner
from train.driver import cli, compilation
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ops.sharding import mesh_for
from train.ppo import PPO, Config, config_for
from train.recipes import RECIPES

SETTINGS = Settings(checkpoint_every=2, evaluate_every=0)
CONFIG = toy_learner.Config(total_steps=20)


@pytest.fixture(scope="module")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run of five iterations; no test changes it."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    assert train_in(folder, ToyLearner(CONFIG), SETTINGS)["finished"]
    return folder


# -- defaults --------------------------------------------------------------------------------------------------------


def parsed(*arguments: str) -> Any:
    return cli.parse(PPO, list(arguments)).config


def test_defaults_are_the_recipe_of_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever --env stands among the arguments."""
    monkeypatch.setitem(RECIPES, "chinese_checkers", {"hidden_sizes": (7,), "update_epochs": 2})
    game = "chinese_checkers(size=3)"
    expected = Config(env=game, hidden_sizes=(7,), update_epochs=5)
    assert parsed("--env", game, "--update-epochs", "5") == expected
    assert parsed("--update-epochs", "5", f"--env={game}") == expected
    assert parsed() == Config(hidden_sizes=(7,), update_epochs=2)


def test_network_and_preset_determine_the_defaults_of_the_other_settings() -> None:
    game = "chinese_checkers_diamond(size=3, pieces=1)"
    found = parsed("--learning-rate", "0.5", "--env", game, "--network", "resnet(blocks=1)")
    assert found == config_for(game, network="resnet(blocks=1)", learning_rate=0.5)
    assert found.channels == ()
    assert parsed("--preset", "alpha_mini", "--gamma", "0.5") == config_for(preset="alpha_mini", gamma=0.5)


def test_resumed_run_has_its_own_settings_by_default(toy_run: Path) -> None:
    arguments = cli.parse(ToyLearner, ["--resume", "--run-dir", str(toy_run), "--seed", "4"])
    assert arguments.config == toy_learner.Config(total_steps=20, seed=4)
    assert arguments.settings == Settings(run_dir=toy_run, resume=True)


# -- resume ----------------------------------------------------------------------------------------------------------


def test_longer_run_continues_a_shorter_one(tmp_path: Path, toy_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "grown"
    train_in(folder, ToyLearner(toy_learner.Config(total_steps=12)), SETTINGS)
    assert run_command(toy_learner.main, *arguments_of(CONFIG, SETTINGS, folder), "--resume") == 0
    assert last_json(capsys)["steps"] == CONFIG.total_steps
    assert RunFolder.open(folder, ToyLearner).config == CONFIG
    assert equal_checkpoints(folder, toy_run)
    assert metrics_of(folder) == metrics_of(toy_run)


def test_finished_run_keeps_its_result(toy_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the same settings are written out."""
    before = (toy_run / "result.json").read_text()
    for arguments in (("--run-dir", toy_run), arguments_of(CONFIG, SETTINGS, toy_run)):
        assert run_command(toy_learner.main, *arguments, "--resume") == 0
        assert capsys.readouterr().out == before == (toy_run / "result.json").read_text()


def test_resume_of_an_empty_folder_starts_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new"
    assert run_command(toy_learner.main, *arguments_of(CONFIG, SETTINGS, folder), "--resume") == 0
    printed = capsys.readouterr().out  # one line of JSON, and nothing else
    assert json.loads(printed)["steps"] == CONFIG.total_steps
    assert printed == (folder / "result.json").read_text()


# -- programs --------------------------------------------------------------------------------------------------------


class Rollout(ToyLearner):
    """Its metrics need 4 TB of steps."""

    def iterate(self, train_state: toy_learner.TrainState) -> tuple[toy_learner.TrainState, dict[str, jax.Array]]:
        steps = jax.lax.map(lambda step: jnp.full(1000, step), jnp.arange(10**9))
        after, metrics = super().iterate(train_state)
        return after, metrics | {"step": jnp.float32(steps[train_state.iteration].sum())}


def test_steps_of_a_rollout_count_as_memory() -> None:
    message = r"needs 4,0\d\d\.\d GB of memory; there are .* GB: reduce num_envs = 4"
    with pytest.raises(ValueError, match=message):
        compilation.compiled_iteration(Rollout(CONFIG), mesh_for(1, {}))


def test_memory_is_compared_with_what_an_iteration_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state once, and little more: an iteration reuses its memory."""
    for factor, fits in ((1, False), (2, True)):
        learner = ToyLearner(toy_learner.Config(sizes=(1000, 1000), seed=factor))
        monkeypatch.setattr(compilation, "memory_of", lambda _, factor=factor: factor * 4_000_000)
        with contextlib.nullcontext() if fits else pytest.raises(ValueError, match="reduce sizes = 1,000 or num_envs"):
            compilation.compiled_iteration(learner, mesh_for(1, {}))


JAX_CONFIG: Any = jax.config


@pytest.fixture
def no_folder() -> Iterator[None]:
    """JAX as in a new process, without a folder for programs."""
    before = JAX_CONFIG.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.usefixtures("no_folder")
def test_programs_are_kept_in_the_checkout_unless_the_user_or_the_disk_forbids_it(tmp_path: Path) -> None:
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        compilation.keep_programs(tmp_path)
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    (tmp_path / "file").touch()
    compilation.keep_programs(tmp_path / "file")
    assert JAX_CONFIG.jax_compilation_cache_dir is None
    compilation.keep_programs(tmp_path)
    assert JAX_CONFIG.jax_compilation_cache_dir == str(tmp_path / ".jax_cache" / compilation.processor())
    jax.config.update("jax_compilation_cache_dir", "somewhere")
    compilation.keep_programs(tmp_path)
    assert JAX_CONFIG.jax_compilation_cache_dir == "somewhere"
