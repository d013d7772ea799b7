"""Agents by text: one of the library, or a checkpoint of a run with parameters in brackets, and how it selects."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agents import EpsilonAgent, RandomAgent, analyse
from jaxgames.policies.agent import PolicyAgent, temperature_of
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import random_train_state, store
from tests.train.conftest import Runs
from train import agents
from train.agents import RunText
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.driver.run_folder import RunFolder
from train.imitation import Config as ImitationConfig
from train.imitation import Imitation
from train.ppo import PPO, Config

ENV = jaxgames.make("dots_and_boxes(rows=2, cols=2)")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a test find no run below the current folder, as `make demo` leaves one in runs/."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def kept(untrained: Runs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """A run with the checkpoints of iterations 0, 20 and 40; its parameters grow by the iteration."""
    folder = tmp_path_factory.mktemp("runs") / "kept"
    run = RunFolder.open(shutil.copytree(untrained.first, folder), PPO)
    start = run.restore()
    assert start is not None
    for iteration in (20, 40):
        params = jax.tree.map(lambda leaf, by=iteration: leaf + by, start.params)
        run.save(start._replace(params=params, iteration=jnp.int32(iteration)), keep_every=20)
    with (folder / "metrics.jsonl").open("w") as file:
        file.write('{"iteration": 20, "win_rate": 0.75}\n{"iteration": 40}\n')
    yield run
    run.close()


# -- texts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "folder", "iteration", "parameters"),
    [
        ("runs/first", "runs/first", None, {}),
        ("runs/first/@40", "runs/first/", 40, {}),
        (" runs/first@40 ( epsilon=0.1, top=5 ) ", "runs/first", 40, {"epsilon": 0.1, "top": 5}),
        ("./random", "./random", None, {}),
        ("random@20", "random", 20, {}),  # agents of the library have no iterations
        ("a@40@20", "a@40", 20, {}),
        ("x(top=3)@20", "x(top=3)", 20, {}),
        ("x(top=3)(top=5)", "x(top=3)", None, {"top": 5}),
        ("my run (copy)@20(temperature=0)", "my run (copy)", 20, {"temperature": 0}),
        ("module:name(top=3)", "module:name", None, {"top": 3}),
        (r"C:\runs\first@20", r"C:\runs\first", 20, {}),
    ],
)
def test_text_names_a_run_in_a_folder_with_any_characters(
    text: str,
    folder: str,
    iteration: int | None,
    parameters: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir(parents=True)
    (Path(folder) / "config.json").touch()
    assert agents.parse(text) == RunText(Path(folder), iteration, parameters)


@pytest.mark.parametrize("text", ["random", "greedy(epsilon=0.1)", " first ", "mypackage.mymodule:myagent(depth=2)"])
def test_text_of_a_library_agent_names_no_run(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside a folder of that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random").mkdir()
    (tmp_path / "random" / "config.json").touch()
    assert agents.parse(text) is None
    assert agents.env_of(text) is None
    assert agents.name_of(text) == text.strip()


def test_library_makes_its_agents() -> None:
    assert agents.make("random", ENV) == RandomAgent(ENV)
    with pytest.raises(jaxgames.ParameterError, match="first has no parameter 'depth'; its parameters are epsilon"):
        agents.make("first(depth=2)", ENV)
    with pytest.raises(jaxgames.ParameterError, match="no module 'mypackage' was found"):
        agents.make("mypackage.mymodule:myagent(depth=2)", ENV)


def test_name_has_the_iteration_that_plays_and_names_the_same_agent(kept: RunFolder) -> None:
    assert agents.name_of(str(kept.folder)) == f"{kept.folder}@40"
    for text in (f"{kept.folder}@20", f"{kept.folder}@0(temperature=0.5, epsilon=0.1, top=5)"):
        assert agents.name_of(text) == text
    assert agents.name_of(f"{kept.folder}/@020( top=5 )") == f"{kept.folder}@20(top=5)"


# -- agents of runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("behind", "iteration"), [("", 40), ("@40", 40), ("@20", 20), ("@0", 0)])
def test_iteration_behind_the_folder_names_a_checkpoint(behind: str, iteration: int, kept: RunFolder) -> None:
    agent = agents.make(f"{kept.folder}{behind}", ENV)
    assert isinstance(agent, PolicyAgent)
    for found, first in zip(jax.tree.leaves(agent.params), jax.tree.leaves(kept.params(0)), strict=True):
        np.testing.assert_array_equal(found, first + iteration)


def test_parameters_in_brackets_are_those_of_the_learners_agent(kept: RunFolder) -> None:
    agent = agents.make(f"{kept.folder}@20(temperature=0.5, epsilon=0.1, top=5)", ENV)
    assert isinstance(agent, EpsilonAgent)
    assert isinstance(agent.agent, PolicyAgent)
    assert (agent.agent.temperature, agent.agent.top, float(agent.epsilon)) == (0.5, 5, np.float32(0.1))


def test_text_of_a_run_has_its_env(kept: RunFolder) -> None:
    assert agents.env_of(f"{kept.folder}@20(top=5)") == ENV


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behind", "error", "message"),
    [
        ("@41", FileNotFoundError, r"no checkpoint of iteration 41, only of 0, 20, 40: .* --keep-every N"),
        ("@last", ValueError, r"expected the number of an iteration behind the @ .*@last', such as .*kept@40"),
        ("@-1", ValueError, "expected the number of an iteration behind the @"),
        ("(depth=2)", ValueError, "has no parameter 'depth'; its parameters are temperature, top, .*, epsilon"),
        ("(top=5.0)", ValueError, r"top must be of type int \| None, not 5\.0"),
        ("(top=0)", ValueError, "top must be an integer from 1 "),
        ("(temperature=hot)", ValueError, r"temperature must be of type float \| None, not 'hot'"),
        ("(epsilon=1.5)", ValueError, "epsilon must be .* 0 to 1"),
        ("(top=)", ValueError, r"expected an agent such as random or runs/first\(top=5\), not"),
        ("@20(top=5, top=6)", ValueError, "expected an agent such as|top given twice"),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(
    behind: str, error: type[Exception], message: str, kept: RunFolder
) -> None:
    with pytest.raises(error, match=message):
        agents.make(f"{kept.folder}{behind}", ENV)


@pytest.mark.parametrize("behind", ["", "@20(top=5)"])
def test_unknown_name_is_refused_with_the_runs_and_the_agents(behind: str, kept: RunFolder) -> None:
    runs = r"keptt holds no run: expected .* train.ppo or train.alphazero or train.imitation wrote \(such as .*kept\), "
    message = runs + r"a level \(easy, medium, hard\) or .* agents alphabeta, baseline, exported, first, .*random"
    with pytest.raises(FileNotFoundError, match=message):
        agents.make(f"{kept.folder}t{behind}", ENV)
    assert not Path(f"{kept.folder}t").exists()


@pytest.mark.parametrize("text", ["", "@20", "gredy(epsilon=0.1)"])
def test_text_without_a_folder_is_refused_with_the_agents(text: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no run: .* or one of the agents alphabeta, baseline, exported"):
        agents.make(text, ENV)


def test_run_without_a_checkpoint_is_refused(untrained: Runs) -> None:
    for behind in ("", "@20"):
        with pytest.raises(FileNotFoundError, match="other_game has no checkpoint yet"):
            agents.make(f"{untrained.other_game}{behind}", agents.open_run(untrained.other_game).learner.env)


# -- actions: the most probable one, a random one at times, a draw among the best N --------------------------------

GAME = Sticks(num_players=2, sticks=9)  # a mover takes 1, 2 or 3 sticks
TEXT = "sticks(num_players=2, sticks=9)"
NUM_BOARDS = 8
LEARNERS = ("ppo", "alphazero", "imitation")
EVERY = [
    ("ppo", ""),
    ("alphazero", ""),
    pytest.param("imitation", "", marks=pytest.mark.slow),
    *(pytest.param(name, "simulations=8, ", marks=pytest.mark.slow) for name in LEARNERS),  # compiles searches
]


analysed = jax.jit(analyse)
act = jax.jit(lambda agent, keys, boards: jax.vmap(agent.act, in_axes=(0, None))(keys, boards))
legal_action_mask = jax.jit(jax.vmap(GAME.legal_action_mask))


@pytest.fixture(scope="module")
def greedy_runs(tmp_path_factory: pytest.TempPathFactory, sticks: None) -> dict[str, Path]:
    """Runs of all learners with the same parameters, whose settings play greedily."""
    size: Any = {"env": TEXT, "hidden_sizes": (8,), "temperature": 0.0}
    boards: Any = {"num_envs": 2, "rollout_length": 4}
    learners: dict[str, Any] = {
        "ppo": PPO(Config(**size, **boards, num_minibatches=1)),
        "alphazero": AlphaZero(AlphaZeroConfig(**size, **boards, replay_size=8, minibatch_size=8)),
        "imitation": Imitation(ImitationConfig(**size, num_minibatches=1)),
    }
    params, parent = random_train_state(learners["ppo"]).params, tmp_path_factory.mktemp("runs")
    return {
        name: store(parent / name, learner, random_train_state(learner)._replace(params=params))
        for name, learner in learners.items()
    }


@pytest.fixture(scope="module")
def boards() -> Any:
    left = np.arange(NUM_BOARDS)
    return jax.jit(jax.vmap(GAME.at))(left + 2, left % 2)


@pytest.mark.parametrize(("learner", "search"), EVERY)
def test_greedy_epsilon_and_the_best_n_are_those_of_the_policy(
    learner: str, search: str, greedy_runs: dict[str, Path], boards: Any
) -> None:
    mask = np.asarray(legal_action_mask(boards))

    def probabilities(parameters: str) -> np.ndarray:
        agent: Any = agents.make(f"{greedy_runs[learner]}({search}{parameters})", GAME)
        return np.asarray(analysed(agent, boards).probabilities)

    policy, greedy = probabilities("temperature=1"), probabilities("temperature=0")
    np.testing.assert_array_equal(np.sort(greedy, 1)[:, -2:], [[0, 1]] * NUM_BOARDS)
    assert mask[greedy == 1].all()
    if not search:  # a search chooses by other numbers than those that it samples by
        np.testing.assert_array_equal(greedy.argmax(1), policy.argmax(1))

    explored = probabilities("epsilon=0.1")  # the settings have temperature 0
    np.testing.assert_allclose(explored, 0.9 * greedy + 0.1 * mask / mask.sum(1, keepdims=True), atol=1e-6)

    best_two = policy * (policy >= np.sort(policy, 1)[:, -2:-1])
    found = probabilities("top=2")
    np.testing.assert_allclose(found, best_two / best_two.sum(1, keepdims=True), atol=1e-5)
    assert ((found > 0).sum(1) == 2).any()


@pytest.mark.parametrize("learner", LEARNERS)
def test_draw_among_the_best_n_plays_all_of_them_and_no_others(
    learner: str, greedy_runs: dict[str, Path], boards: Any
) -> None:
    agent: Any = agents.make(f"{greedy_runs[learner]}(top=2)", GAME)
    keys = jax.random.split(jax.random.key(0), 400)
    played = np.asarray(act(agent, keys, boards))
    shares = (played[:, :, None] == np.arange(GAME.num_actions)).mean(0)
    expected = np.asarray(analysed(agent, boards).probabilities)
    np.testing.assert_array_equal(shares[expected == 0], 0)
    np.testing.assert_allclose(shares, expected, atol=4 * 0.5 / np.sqrt(400))


def test_draw_among_the_best_n_has_temperature_1_where_the_settings_are_greedy() -> None:
    assert temperature_of(None, 0.0, None) == 0
    assert temperature_of(None, 0.0, 5) == 1
    assert temperature_of(None, 0.5, 5) == 0.5
    assert temperature_of(0.0, 0.5, 5) == 0
