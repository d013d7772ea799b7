"""The command train.export and the agent exported(FILE): it plays as its run, and other files are refused."""

import dataclasses
import functools
from pathlib import Path
from typing import Any, get_args

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, arena
from jaxgames.agents import Agent, analyse
from jaxgames.policies import file as exported
from jaxgames.policies.file import Platform
from jaxgames.solvers.exact.solution import solve
from tests.helpers.registrations import temporary_registrations
from tests.helpers.stored_runs import ROOT, store
from tests.train.conftest import Runs
from tests.train.models.test_networks import NETWORKS
from train import agents as agents_of_runs
from train import export
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.klent import KLENT
from train.models import networks
from train.models.policy import Sharing
from train.ppo import PPO, Config
from train.pretrained import stored_parts

BOXES = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
BOARDS: dict[str, Any] = {"num_envs": 2, "rollout_length": 4}

act = jax.jit(lambda agent, key, states: agent.act(key, states))
analysed = jax.jit(analyse)
assert_close = functools.partial(np.testing.assert_allclose, rtol=0, atol=1e-6)


def write(path: Path, run: Path | str, *platforms: Platform, **options: Any) -> dict[str, Any]:
    """Exports a run; returns the result that the command prints."""
    given: dict[str, Any] = {"platforms": platforms} if platforms else {}
    return export.export_run(export.Arguments(run=str(run), output=path, **given, **options))


@pytest.fixture(scope="module")
def result(untrained: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result of an export of the first run."""
    return write(tmp_path_factory.mktemp("exported") / "new" / "first.policy", f"{untrained.first}@0")


@pytest.fixture(scope="module")
def file(result: dict[str, Any]) -> Path:
    """The policy of the first run."""
    return Path(result["file"])


@pytest.fixture(scope="module")
def boards() -> Any:
    return arena.random_openings(BOXES, jax.random.key(0), 5, 6).boards


def assert_equal_play(first: Agent, second: Agent, states: Any) -> None:
    """Actions are equal, probabilities and values to 1e-6."""
    for seed in range(3):
        key = jax.random.key(seed)
        np.testing.assert_array_equal(act(first, key, states), act(second, key, states))
    one, other = analysed(first, states), analysed(second, states)
    assert_close(one.probabilities, other.probabilities)
    assert_close(one.values, other.values)


# -- play ----------------------------------------------------------------------------------------------------------


def test_agent_of_a_file_plays_as_that_of_its_run(file: Path, untrained: Runs, boards: Any) -> None:
    parameters = "temperature=0.5, top=3, epsilon=0.1"
    text = f"exported({file}, {parameters})"
    agent = agents.make(text, BOXES)
    assert_equal_play(agent, agents_of_runs.make(f"{untrained.first}({parameters})", BOXES), boards)
    assert str(agent) == text


def test_files_of_one_network_share_a_program(file: Path, untrained: Runs, boards: Any, tmp_path: Path) -> None:
    """The parameters are leaves, and the program has no trace of where it was made."""
    second = tmp_path / "second.policy"
    write(second, untrained.second)
    of_first, of_second = (agents.make(f"exported({path})", BOXES) for path in (file, second))
    assert jax.tree.structure(of_first) == jax.tree.structure(of_second)
    _, content = exported.read(file)
    assert str(ROOT).encode() not in content.module
    assert content.module == exported.read(second)[1].module
    assert not np.array_equal(analysed(of_first, boards).values, analysed(of_second, boards).values)


OF_STICKS: dict[str, tuple[Any, dict[str, Any]]] = {  # every sharing, and values for search
    **{sharing: (PPO, {"sharing": sharing, "num_minibatches": 1}) for sharing in get_args(Sharing)},
    "klent": (KLENT, {"num_minibatches": 1}),
    "search": (AlphaZero, {"env": "sticks(num_players=2)", "evaluation_simulations": 1}),
    "search of three": (AlphaZero, {"temperature": 1.0, "simulations": 1}),
}


@pytest.mark.slow
@pytest.mark.usefixtures("sticks")
@pytest.mark.parametrize("batch", [3, 150])  # runs divide the larger batch into tiles
@pytest.mark.parametrize("name", OF_STICKS)
def test_every_sharing_and_learner_plays_as_its_run(name: str, batch: int, tmp_path: Path) -> None:
    learner_type, settings = OF_STICKS[name]
    learner = learner_type(learner_type.config_type(**{"env": "sticks", "hidden_sizes": (8,), **BOARDS, **settings}))
    folder, path = store(tmp_path / "run", learner), tmp_path / "run.policy"
    write(path, folder, "cpu", "tpu")
    run = agents_of_runs.open_run(folder)
    of_run = agents_of_runs.agent_of_run(run, None, learner.env, **agents_of_runs.without_search(run.learner))
    states = arena.random_openings(learner.env, jax.random.key(0), batch, 3).boards
    assert_equal_play(agents.make(f"exported({path})", learner.env), of_run, states)


def test_table_of_networks_has_all_but_those_of_tests() -> None:
    assert {*networks.list_networks()} - {"noisy", "patch"} == {*NETWORKS}


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_can_be_exported(network: str, tmp_path: Path) -> None:
    env, sizes = NETWORKS[network]
    learner = PPO(Config(env=env, network=f"{network}({sizes})", num_minibatches=1, **BOARDS))
    folder = store(tmp_path / "run", learner, jax.jit(learner.init)(jax.random.key(0)))
    result = write(tmp_path / "run.policy", folder)
    assert result["network"]["network"].startswith(network)
    states = arena.random_openings(learner.env, jax.random.key(0), 7, 40).boards
    of_file, of_run = agents.make(f"exported({result['file']})", learner.env), agents_of_runs.open_run(folder)
    assert_equal_play(of_file, agents_of_runs.agent_of_run(of_run), states)


# -- the command ---------------------------------------------------------------------------------------------------


def test_result_has_header_and_size(untrained: Runs, result: dict[str, Any], file: Path) -> None:
    game = {"env": str(BOXES), "env_version": BOXES.version, "num_actions": BOXES.num_actions}
    run = {"learner": "ppo", "run": str(untrained.first), "iteration": 0, "sharing": "shared"}
    expected: dict[str, Any] = game | run | {"bytes": file.stat().st_size}
    assert {name: result[name] for name in expected} == expected
    _, content = exported.read(file)
    assert result["sha256"] == content.header.sha256 == exported.digest_of(content.module, content.params)


def test_search_on_a_file_is_that_on_its_run(untrained: Runs, file: Path, boards: Any) -> None:
    of_file: Any = agents.make(f"exported({file}, simulations=4, seats=max_n)", BOXES)
    of_run: Any = agents_of_runs.make(f"{untrained.first}(simulations=4, seats=max_n)", BOXES)
    assert of_file.config == of_run.config
    assert_close(of_file.evaluate(of_file.params, boards).values, of_run.evaluate(of_run.params, boards).values)


# -- refused files -------------------------------------------------------------------------------------------------


def refusal(path: Path, game: Any = BOXES) -> str:
    with pytest.raises(jaxgames.ParameterError) as error:
        agents.make(f"exported({path})", game)
    return str(error.value)


def test_file_that_is_not_for_this_game_platform_or_jax_is_refused(file: Path, tmp_path: Path) -> None:
    for text in ("checkers", "dots_and_boxes(rows=2, cols=3)", "dots_and_boxes(rows=2, cols=2, reward=boxes)"):
        other = jaxgames.make(text)
        assert refusal(file, other) == f"{file} has a policy for {BOXES}, not for {other}"
    game, content = exported.read(file)
    changed: dict[str, dict[str, Any]] = {
        "--platforms cuda tpu cpu": {"platforms": ("cuda", "tpu")},
        "JAX 9.9 and its calling convention 99": {"calling_convention_version": 99, "jax_version": "9.9"},
    }
    for words, entries in changed.items():
        header = dataclasses.replace(content.header, **entries)
        exported.write(tmp_path / "file", game, content._replace(header=header))
        assert words in refusal(tmp_path / "file")


def test_other_or_missing_files_are_refused(tmp_path: Path) -> None:
    """tests/test_game_files.py damages files of every kind."""
    path = tmp_path / "file"
    solve(jaxgames.make("dots_and_boxes(rows=1, cols=1)"), progress=False).save(path)
    assert f"{path} is not an exported policy: write one with" in refusal(path)
    assert "cannot be read (No such file or directory)" in refusal(tmp_path / "missing")


# -- fewer bits, another board -------------------------------------------------------------------------------------


def test_parameter_that_is_too_large_for_half_precision_is_refused() -> None:
    number, halved = stored_parts({"n": np.int32(9), "w": np.full(2, 6e4, np.float32)}, 16)
    assert (number[0].dtype, halved[0].dtype) == (np.int32, np.float16)
    for value in (1e5, np.nan):
        with pytest.raises(ValueError, match="too large for half precision: export the run with --bits 32"):
            stored_parts({"w": np.full(2, value, np.float32)}, 16)


def test_eight_bits_are_within_half_a_step_of_every_weight() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(50, 7)) * [1e-9, 1e-5, 1e-3, 0.1, 1, 1e4, 0]).astype(np.float32)
    (whole, scales), (vector,) = stored_parts([matrix, matrix[0]], 8)
    assert (whole.dtype, scales.dtype, vector.dtype) == (np.int8, np.float32, np.float16)
    assert scales.shape == (1, 7)
    steps = np.abs(matrix).max(0) / 127
    assert (np.abs(whole * scales - matrix) <= 0.501 * steps).all()


def test_network_of_a_search_is_exported_for_another_board(tmp_path: Path) -> None:
    run, file, env = tmp_path / "run", tmp_path / "file", jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    network: dict[str, Any] = {"network": "tests.helpers.networks:patch(width=4)", "evaluation_simulations": 1}
    with temporary_registrations():
        learner = AlphaZero(AlphaZeroConfig(env="dots_and_boxes(rows=1, cols=1)", **network, **BOARDS))
        store(run, learner, iterations=(0, 1))
        write(file, f"{run}@0", "cpu", env=str(env))
        of_run = agents_of_runs.make(f"{run}@0(simulations=0)", env)
    states = arena.random_openings(env, jax.random.key(0), 5, 3).boards
    assert_equal_play(agents.make(f"exported({file})", env), of_run, states)
