"""The command of a learner: defaults, --resume, its memory, and where compiled programs are kept."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import run_command
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


# -- resume ----------------------------------------------------------------------------------------------------------


def test_run_is_started_by_resume_made_longer_and_keeps_its_result(
    tmp_path: Path, toy_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last command is repeated with and without its settings."""
    folder = tmp_path / "new"
    short, longer = (arguments_of(config, SETTINGS, folder) for config in (toy_learner.Config(total_steps=12), CONFIG))
    printed = list[str]()  # one line of JSON each, and nothing else
    for arguments in (short, longer, longer, ("--run-dir", folder)):
        assert run_command(toy_learner.main, *arguments, "--resume") == 0
        printed.append(capsys.readouterr().out)
        assert printed[-1] == (folder / "result.json").read_text()
    assert [json.loads(each)["steps"] for each in printed] == [12, 20, 20, 20]
    assert printed[1] == printed[2] == printed[3]
    assert RunFolder.open(folder, ToyLearner).config == CONFIG
    assert equal_checkpoints(folder, toy_run)
    assert metrics_of(folder) == metrics_of(toy_run)


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
            program = compilation.compiled_iteration(learner, mesh_for(1, {}))
            needed = compilation.memory_needed(program, mesh_for(1, {}))
            on_four_devices: Any = SimpleNamespace(size=4)  # of a CPU, which share its memory
            assert compilation.memory_needed(program, on_four_devices) == 4 * needed > 4 * 4_000_000


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
    (tmp_path / "file").touch()
    compilation.keep_programs(tmp_path / "file")
    assert JAX_CONFIG.jax_compilation_cache_dir is None
    compilation.keep_programs(tmp_path)
    assert JAX_CONFIG.jax_compilation_cache_dir == str(tmp_path / ".jax_cache" / compilation.processor())
    jax.config.update("jax_compilation_cache_dir", "somewhere")
    compilation.keep_programs(tmp_path)
    assert JAX_CONFIG.jax_compilation_cache_dir == "somewhere"
