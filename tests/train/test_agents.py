"""Runs by text: their agents with parameters in brackets, and their parameters as the start of other runs."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import arena
from jaxgames.agents import EpsilonAgent, analyse
from jaxgames.mcts import SearchAgent
from jaxgames.policies import file as policy_file
from jaxgames.policies.agent import PolicyAgent
from tests.helpers.commands import run_command
from tests.helpers.stored_runs import random_train_state, store
from tests.train.conftest import Runs
from train import agents, export
from train.agents import LEARNERS, RunText
from train.driver import loop
from train.driver.run_folder import RunFolder
from train.imitation import Config as ImitationConfig
from train.imitation import Imitation
from train.ops import sharding
from train.ops.sharding import keys_to_data
from train.ppo import PPO, Config

ENV = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
CONFIG = Config(env=str(ENV), hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1)
KEPT = PPO(CONFIG)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a test find no run below the current folder, as `make demo` leaves one in runs/."""
    monkeypatch.chdir(tmp_path)


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
    for text in ("first", f"{kept}(temperature=1)"):
        assert agents.with_temperature(text, 0.5) == text
    assert agents.with_temperature(f"{kept}@20", 0.5) == f"{kept}@20(temperature=0.5)"


@pytest.mark.parametrize(("behind", "iteration"), [("", 40), ("@40", 40), ("@20", 20), ("@0", 0)])
def test_iteration_behind_the_folder_names_a_checkpoint(behind: str, iteration: int, kept: Path) -> None:
    agent = agents.make(f"{kept}{behind}", ENV)
    assert isinstance(agent, PolicyAgent)
    jax.tree.map(np.testing.assert_array_equal, agent.params, random_train_state(KEPT, iteration).params)


# -- what is refused -----------------------------------------------------------------------------------------------

NO_RUN = r"holds no run: .*train.ppo or train.alphazero or .* a level \(easy, .*\) or .* first, "


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("KEPT@41", FileNotFoundError, r"no checkpoint of iteration 41, only of 0, 20, 40: .* --keep-every N"),
        ("KEPT@last", ValueError, r"expected the number of an iteration behind the @ .*@last', such as .*kept@40"),
        ("KEPT(depth=2)", ValueError, "has no parameter 'depth'; its parameters are temperature, top, .*, epsilon"),
        ("KEPT(top=5.0)", ValueError, r"top must be of type int \| None, not 5\.0"),
        ("KEPT(epsilon=1.5)", ValueError, "epsilon must be .* 0 to 1"),
        ("KEPT(top=)", ValueError, r"expected an agent such as random or runs/first\(top=5\), not"),
        ("KEPT@20(top=5, top=6)", ValueError, "expected an agent such as|top given twice"),
        ("KEPTt", FileNotFoundError, r"keptt holds no run: .* wrote \(such as .*kept\), "),
        ("gredy(epsilon=0.1)", FileNotFoundError, NO_RUN),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(
    text: str, error: type[Exception], message: str, kept: Path
) -> None:
    with pytest.raises(error, match=message):
        agents.make(text.replace("KEPT", str(kept)), ENV)
    assert not Path(f"{kept}t").exists()


# -- how a run plays -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose settings play greedily."""
    return store(tmp_path_factory.mktemp("runs") / "greedy", PPO(dataclasses.replace(CONFIG, temperature=0.0)))


@pytest.mark.parametrize("search", ["", "simulations=8"])
def test_run_plays_by_its_parameters(search: str, greedy: Path) -> None:
    """A draw among the best N has temperature 1 where the settings are greedy."""
    for parameters, temperature, top in (
        ("", None, None),
        ("temperature=0", None, None),
        ("temperature=0.5", 0.5, None),
        ("temperature=0.5, top=2", 0.5, 2),
        ("top=2", 1, 2),
    ):
        given = ", ".join(filter(None, (search, parameters)))
        agent: Any = agents.make(f"{greedy}({given})", ENV)
        assert isinstance(agent, SearchAgent if search else PolicyAgent)
        assert (agent.temperature, agent.top) == (temperature, top)
    with_epsilon = agents.make(f"{greedy}({', '.join(filter(None, (search, 'epsilon=0.25')))})", ENV)
    assert isinstance(with_epsilon, EpsilonAgent)
    assert (type(with_epsilon.agent), float(with_epsilon.epsilon)) == (type(agent), 0.25)


@pytest.mark.slow  # compiles searches
def test_search_draws_among_the_best_moves_of_its_policy(greedy: Path) -> None:
    boards = arena.random_openings(ENV, jax.random.key(0), 8, 3).boards

    def probabilities(parameters: str) -> np.ndarray:
        agent = agents.make(f"{greedy}(simulations=8, {parameters})", ENV)
        return np.asarray(jax.jit(analyse)(agent, boards).probabilities)

    policy, best, found = map(probabilities, ("temperature=1", "temperature=0", "top=2"))
    np.testing.assert_array_equal(np.sort(best, 1)[:, -2:], [[0, 1]] * 8)
    best_two = policy * (policy >= np.sort(policy, 1)[:, -2:-1])
    np.testing.assert_allclose(found, best_two / best_two.sum(1, keepdims=True), atol=1e-5)
    assert ((found > 0).sum(1) == 2).any()


# -- the start of other runs ---------------------------------------------------------------------------------------


def params_of(folder: Path) -> Any:
    return jax.device_get(agents.open_run(folder).params())


def start(config: Config) -> Any:
    """The parameters of a run before its first iteration."""
    learner = PPO(config)
    return jax.device_get(learner.load(jax.eval_shape(learner.init, jax.random.key(7))).params)


def equal(a: Any, b: Any) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, *jax.device_get((a, b))))


@pytest.fixture(scope="module")
def texts(untrained: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs and files with the parameters of the first run, or of networks that do not fit."""
    folder = tmp_path_factory.mktemp("others")
    file, small, other = (folder / f"{name}.policy" for name in ("file", "small", "other"))
    for path, bits in ((file, 32), (small, 8)):
        run_command(export.main, untrained.first, "--output", path, "--bits", bits, "--platforms", "cpu")
    game, content = policy_file.read(file)  # arrays of the same shapes
    header = dataclasses.replace(content.header, network={"network": "other(width=8)"})
    policy_file.write(other, game, content._replace(header=header))
    seats = store(folder / "seats", PPO(dataclasses.replace(CONFIG, sharing="independent")))
    return {"first": untrained.first, "file": file, "small": small, "other": other, "seats": seats}


REWARD: dict[str, Any] = {"env": "dots_and_boxes(rows=2, cols=2, reward=boxes)", "activation": "relu"}


@pytest.mark.parametrize(
    ("text", "settings", "per_seat", "error"),
    [
        ("{first}@0", {}, (), 0.0),
        ("{first}", {"sharing": "shared_encoder"}, ("heads",), 0.0),
        ("{first}", {"sharing": "independent"}, ("encoder", "heads"), 0.0),
        ("{file}", {"sharing": "independent", **REWARD}, ("encoder", "heads"), 0.0),
        ("{small}", {}, (), 1 / 127),
    ],
)
def test_shared_parameters_are_copied_to_every_seat(
    text: str, settings: dict[str, Any], per_seat: tuple[str, ...], error: float, texts: dict[str, Path]
) -> None:
    found = start(dataclasses.replace(CONFIG, **settings, init_from=text.format(**texts)))
    for part, stored in params_of(texts["first"]).items():
        for ours, leaf in zip(jax.tree.leaves(found[part]), jax.tree.leaves(stored), strict=True):
            assert ours.shape == (2,) * (part in per_seat) + leaf.shape
            np.testing.assert_allclose(ours, ours * 0 + leaf, rtol=0, atol=error * np.abs(leaf).max(initial=0))


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("{first}(temperature=0)", {}, "init_from must be the folder of a run, such as runs/first"),
        ("{first}@3", {}, "keeps its last 2 checkpoints"),
        ("nowhere", {}, "nowhere holds no run"),
        ("{seats}", {}, r"Dense_0/bias has shape \(2, 8\) there and \(8,\) here.*sharing independent"),
        ("{first}", {"hidden_sizes": (8, 8)}, r"Dense_1/bias has shape None there and \(8,\) here"),
        ("{file}", {"hidden_sizes": (9,)}, r"file\.policy do not fit .* the same network, mlp, hidden_sizes 8"),
        ("{other}", {}, r"other\.policy do not fit .* the same network, other\(width=8\)"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(
    text: str, settings: dict[str, Any], message: str, texts: dict[str, Path]
) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        start(dataclasses.replace(CONFIG, **settings, init_from=text.format(**texts)))


def branch(folder: Path, name: str, seed: int) -> str:
    """The text of a run of one branch of `larson_text`, with random parameters."""
    network = f"larson_text(branch={name}, maps=2, hidden_sizes=4)"
    learner = Imitation(ImitationConfig(env="checkers", num_minibatches=1, network=network))
    return str(store(folder / name, learner, random_train_state(learner, seed)))


@pytest.mark.slow  # compiles three networks
def test_branches_that_were_trained_apart_are_joined(tmp_path: Path) -> None:
    """The heads, which all of them have, and the layer on the branches, which none has, are those of a new run."""
    texts = [branch(tmp_path, name, seed) for seed, name in enumerate(("conv2", "conv3", "dense"), start=1)]
    network = "larson_text(maps=2, hidden_sizes=4)"
    joined = ImitationConfig(env="checkers", num_minibatches=1, network=network, init_from=",".join(texts))
    before = random_train_state(Imitation(joined), seed=7)
    after = jax.device_get(Imitation(joined).load(before).params)
    encoder, fresh = after["encoder"]["params"], jax.device_get(before.params)
    for text in texts:
        stored = params_of(Path(text))["encoder"]["params"]
        assert equal({name: encoder[name] for name in stored}, stored)
    assert equal(encoder["joined"], fresh["encoder"]["params"]["joined"])
    assert equal(after["heads"], fresh["heads"])


def test_resumed_run_does_not_read_the_other_run(untrained: Runs, tmp_path: Path) -> None:
    learner = PPO(dataclasses.replace(CONFIG, init_from=str(tmp_path / "removed")))
    run = RunFolder.create(tmp_path / "run", learner)
    saved = random_train_state(learner, seed=5)
    run.save(saved)
    restored = loop.restore_or_init(learner, [run], sharding.mesh_for(1, learner.batch_sizes))
    run.close()
    assert equal(restored.params, saved.params)
    with pytest.raises(FileNotFoundError, match="removed holds no run"):
        learner.load(saved)


@pytest.mark.parametrize("name", LEARNERS)
def test_run_of_every_learner_starts_with_the_parameters_of_the_other_run_and_nothing_else(
    name: str, untrained: Runs, tmp_path: Path
) -> None:
    """The average of the parameters begins with them too; the optimizer, the replay buffer and the boards are new.

    The other run of KLENT, whose network has more heads, is of KLENT too.
    """
    settings = {each: getattr(CONFIG, each) for each in ("env", "hidden_sizes")}
    settings |= {"imitation": {"num_minibatches": 1}}.get(name, {"num_envs": 2, "rollout_length": 4})
    settings |= {"alphazero": {"replay_size": 8}}.get(name, {"num_minibatches": 1})
    of_learner: Any = agents.learner_type(name)
    other = untrained.second
    if name == "klent":
        other = store(tmp_path / "other", of_learner(of_learner.config_type(**settings)))
    learner = of_learner(of_learner.config_type(**settings, init_from=str(other)))
    before = random_train_state(learner, seed=7)
    after = learner.load(before)
    for field in before._fields:
        expected = params_of(other) if field in ("params", "learning") else getattr(before, field)
        assert equal(keys_to_data(getattr(after, field)), keys_to_data(expected)), field
