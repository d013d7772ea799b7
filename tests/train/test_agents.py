"""Agents by text: a text names an agent of the library, or a checkpoint of a run with parameters in brackets."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agents import EpsilonAgent, RandomAgent
from jaxgames.policies.agent import PolicyAgent
from tests.train.conftest import Runs
from train import agents
from train.agents import RunText
from train.driver.run_folder import RunFolder
from train.ppo import PPO

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
        (" runs/first@40 ( temperature=0.5, epsilon=0.1, top=5 ) ", "runs/first", 40, None),
        ("runs/first(top=5)", "runs/first", None, {"top": 5}),
        ("./random", "./random", None, {}),
        ("random@20", "random", 20, {}),  # agents of the library have no iterations
        ("a@40", "a@40", None, {}),
        ("a@40@20", "a@40", 20, {}),
        ("x(top=3)", "x(top=3)", None, {}),
        ("x(top=3)@20", "x(top=3)", 20, {}),
        ("x(top=3)(top=5)", "x(top=3)", None, {"top": 5}),
        ("my run (copy)@20(temperature=0)", "my run (copy)", 20, {"temperature": 0}),
        ("module:name", "module:name", None, {}),
        ("module:name(top=3)", "module:name", None, {"top": 3}),
        (r"C:\runs\first@20", r"C:\runs\first", 20, {}),
    ],
)
def test_text_names_a_run_in_a_folder_with_any_characters(
    text: str,
    folder: str,
    iteration: int | None,
    parameters: dict[str, object] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir(parents=True)
    (Path(folder) / "config.json").touch()
    if parameters is None:
        parameters = {"temperature": 0.5, "epsilon": 0.1, "top": 5}
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
        ("@", ValueError, "expected the number of an iteration behind the @"),
        ("(depth=2)", ValueError, "has no parameter 'depth'; its parameters are temperature, top, .*, epsilon"),
        ("(top=5.0)", ValueError, r"top must be of type int \| None, not 5\.0"),
        ("(top=True)", ValueError, r"top must be of type int \| None, not True"),
        ("(top=0)", ValueError, "top must be an integer from 1 "),
        ("(temperature=hot)", ValueError, r"temperature must be of type float \| None, not 'hot'"),
        ("(temperature=-1)", ValueError, "temperature must be a finite number from 0 on, not -1"),
        ("(epsilon=None)", ValueError, "epsilon must be of type float, not None"),
        ("(epsilon=1.5)", ValueError, "epsilon must be .* 0 to 1"),
        ("(epsilon=-0.1)", ValueError, "epsilon must be .* 0 to 1"),
        ("(5)", ValueError, r"expected an agent such as random or runs/first\(top=5\), not"),
        ("(top=)", ValueError, r"expected an agent such as random or runs/first\(top=5\), not"),
        ("@20(top=5, top=6)", ValueError, "expected an agent such as|top given twice"),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(
    behind: str, error: type[Exception], message: str, kept: RunFolder
) -> None:
    with pytest.raises(error, match=message):
        agents.make(f"{kept.folder}{behind}", ENV)


@pytest.mark.parametrize("behind", ["", "@20", "(top=5)", "@20(top=5)"])
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
