"""Agents by text: one of the library, or a checkpoint of a run with parameters in brackets, and how it selects."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agents import EpsilonAgent, analyse
from jaxgames.mcts import SearchAgent
from jaxgames.policies.agent import PolicyAgent
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import random_train_state, store
from tests.train.conftest import Runs
from train import agents
from train.agents import RunText
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.imitation import Config as ImitationConfig
from train.imitation import Imitation
from train.ppo import PPO, Config

ENV = jaxgames.make("dots_and_boxes(rows=2, cols=2)")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a test find no run below the current folder, as `make demo` leaves one in runs/."""
    monkeypatch.chdir(tmp_path)


KEPT = PPO(Config(env=str(ENV), hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the checkpoints of iterations 0, 20 and 40, which have different parameters."""
    return store(tmp_path_factory.mktemp("runs") / "kept", KEPT, iterations=(0, 20, 40))


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
    text: str, folder: str, iteration: int | None, parameters: dict[str, object]
) -> None:
    Path(folder).mkdir(parents=True)
    (Path(folder) / "config.json").touch()
    assert agents.parse(text) == RunText(Path(folder), iteration, parameters)


@pytest.mark.parametrize("text", ["random", "greedy(epsilon=0.1)", " first ", "mypackage.mymodule:myagent(depth=2)"])
def test_text_of_a_library_agent_names_no_run(text: str) -> None:
    """Also beside a folder of that name."""
    Path("random").mkdir()
    Path("random/config.json").touch()
    assert agents.parse(text) is None
    assert agents.env_of(text) is None
    assert agents.name_of(text) == text.strip()


def test_name_has_the_iteration_that_plays_and_names_the_same_agent(kept: Path) -> None:
    assert agents.name_of(str(kept)) == f"{kept}@40"
    for text in (f"{kept}@20", f"{kept}@0(temperature=0.5, epsilon=0.1, top=5)"):
        assert agents.name_of(text) == text
        assert agents.env_of(text) == ENV
    assert agents.name_of(f"{kept}/@020( top=5 )") == f"{kept}@20(top=5)"


@pytest.mark.parametrize(("behind", "iteration"), [("", 40), ("@40", 40), ("@20", 20), ("@0", 0)])
def test_iteration_behind_the_folder_names_a_checkpoint(behind: str, iteration: int, kept: Path) -> None:
    agent = agents.make(f"{kept}{behind}", ENV)
    assert isinstance(agent, PolicyAgent)
    jax.tree.map(np.testing.assert_array_equal, agent.params, random_train_state(KEPT, iteration).params)


def test_parameters_in_brackets_are_those_of_the_learners_agent(kept: Path) -> None:
    agent = agents.make(f"{kept}@20(temperature=0.5, epsilon=0.1, top=5)", ENV)
    assert isinstance(agent, EpsilonAgent)
    assert isinstance(agent.agent, PolicyAgent)
    assert (agent.agent.temperature, agent.agent.top, float(agent.epsilon)) == (0.5, 5, np.float32(0.1))


# -- what is refused -----------------------------------------------------------------------------------------------

NO_RUN = r"holds no run: .*train.ppo or train.alphazero or train.imitation.* a level \(easy, .*\) or .* first, "


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("KEPT@41", FileNotFoundError, r"no checkpoint of iteration 41, only of 0, 20, 40: .* --keep-every N"),
        ("KEPT@last", ValueError, r"expected the number of an iteration behind the @ .*@last', such as .*kept@40"),
        ("KEPT@-1", ValueError, "expected the number of an iteration behind the @"),
        ("KEPT(depth=2)", ValueError, "has no parameter 'depth'; its parameters are temperature, top, .*, epsilon"),
        ("KEPT(top=5.0)", ValueError, r"top must be of type int \| None, not 5\.0"),
        ("KEPT(top=0)", ValueError, "top must be an integer from 1 "),
        ("KEPT(temperature=hot)", ValueError, r"temperature must be of type float \| None, not 'hot'"),
        ("KEPT(epsilon=1.5)", ValueError, "epsilon must be .* 0 to 1"),
        ("KEPT(top=)", ValueError, r"expected an agent such as random or runs/first\(top=5\), not"),
        ("KEPT@20(top=5, top=6)", ValueError, "expected an agent such as|top given twice"),
        ("KEPTt@20(top=5)", FileNotFoundError, rf"keptt {NO_RUN}"),
        ("KEPTt", FileNotFoundError, r"keptt holds no run: .* wrote \(such as .*kept\), "),
        ("@20", FileNotFoundError, NO_RUN),
        ("gredy(epsilon=0.1)", FileNotFoundError, NO_RUN),
        ("EMPTY", FileNotFoundError, "other_game has no checkpoint yet"),
        ("EMPTY@20", FileNotFoundError, "other_game has no checkpoint yet"),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(
    text: str, error: type[Exception], message: str, kept: Path, untrained: Runs
) -> None:
    env = jaxgames.make("dots_and_boxes(rows=2, cols=3)") if "EMPTY" in text else ENV
    with pytest.raises(error, match=message):
        agents.make(text.replace("KEPT", str(kept)).replace("EMPTY", str(untrained.other_game)), env)
    assert not Path(f"{kept}t").exists()


# -- how a run plays -----------------------------------------------------------------------------------------------

GAME = Sticks(num_players=2, sticks=9)  # a mover takes 1, 2 or 3 sticks
LEARNERS = ("ppo", "alphazero", "imitation")


@pytest.fixture(scope="module")
def greedy_runs(tmp_path_factory: pytest.TempPathFactory, sticks: None) -> dict[str, Path]:
    """Runs of all learners, whose settings play greedily."""
    size: Any = {"env": "sticks(num_players=2, sticks=9)", "hidden_sizes": (8,), "temperature": 0.0}
    boards: Any = {"num_envs": 2, "rollout_length": 4}
    learners: dict[str, Any] = {
        "ppo": PPO(Config(**size, **boards, num_minibatches=1)),
        "alphazero": AlphaZero(AlphaZeroConfig(**size, **boards, replay_size=8, minibatch_size=8)),
        "imitation": Imitation(ImitationConfig(**size, num_minibatches=1)),
    }
    parent = tmp_path_factory.mktemp("runs")
    return {name: store(parent / name, learner) for name, learner in learners.items()}


@pytest.mark.parametrize("search", ["", "simulations=8"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_run_of_every_learner_plays_by_its_parameters(learner: str, search: str, greedy_runs: dict[str, Path]) -> None:
    """A draw among the best N has temperature 1 where the settings are greedy."""
    for parameters, temperature, top in (
        ("", None, None),
        ("temperature=0", None, None),
        ("temperature=0.5", 0.5, None),
        ("temperature=0.5, top=2", 0.5, 2),
        ("top=2", 1, 2),
    ):
        given = ", ".join(filter(None, (search, parameters)))
        agent: Any = agents.make(f"{greedy_runs[learner]}({given})", GAME)
        assert isinstance(agent, SearchAgent if search else PolicyAgent)
        assert (agent.temperature, agent.top) == (temperature, top)


@pytest.mark.slow  # compiles searches
def test_search_draws_among_the_best_moves_of_its_policy(greedy_runs: dict[str, Path]) -> None:
    boards = jax.vmap(GAME.at)(jnp.arange(8) + 2, jnp.arange(8) % 2)

    def probabilities(parameters: str) -> np.ndarray:
        agent = agents.make(f"{greedy_runs['ppo']}(simulations=8, {parameters})", GAME)
        return np.asarray(jax.jit(analyse)(agent, boards).probabilities)

    policy, greedy, found = map(probabilities, ("temperature=1", "temperature=0", "top=2"))
    np.testing.assert_array_equal(np.sort(greedy, 1)[:, -2:], [[0, 1]] * 8)
    best_two = policy * (policy >= np.sort(policy, 1)[:, -2:-1])
    np.testing.assert_allclose(found, best_two / best_two.sum(1, keepdims=True), atol=1e-5)
    assert ((found > 0).sum(1) == 2).any()
