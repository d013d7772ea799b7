"""Further training: runs from a pretrained policy, rows that are measured once, and what they count."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from examples.papers.checkers_imitation import reinforcement as example
from examples.papers.checkers_imitation.reinforcement import Arguments, agent_text, learner_of
from jaxgames import arena, make
from tests.helpers.stored_runs import store
from train import agents
from train.alphazero import AlphaZero
from train.data.positions import Positions
from train.imitation import Config, Imitation
from train.ppo import PPO

ENV = make("checkers")
NETWORK: dict[str, Any] = {"network": "mlp", "hidden_sizes": (8,)}


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a run of imitation with random parameters."""
    folder = tmp_path_factory.mktemp("runs") / "imitation"
    learner = Imitation(Config(env="checkers", num_minibatches=1, **NETWORK))
    store(folder, learner)
    return f"{folder}@0"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of positions: after each first move of Black, the reply 22-18."""
    start, step = ENV.init(), jax.jit(ENV.step)
    moves = ("9-13", "9-14", "10-14", "10-15", "11-15", "11-16", "12-16")
    states = [step(start, ENV.action_from_string(start, move)) for move in moves]
    replies = [ENV.action_from_string(state, "22-18") for state in states]
    size, path = len(states), tmp_path_factory.mktemp("data") / "pairs.npz"
    Positions(
        env=ENV,
        states=jax.tree.map(lambda *leaves: np.stack(leaves), *states),
        action=np.array(replies),
        value=np.zeros(size),
        probabilities=None,
        game=np.arange(size),
        ply=np.ones(size),
        split=np.zeros(size),
        splits=("test",),
    ).save(path)
    return path


# -- runs ----------------------------------------------------------------------------------------------------------


def test_runs_have_the_network_of_the_pretrained_one_and_half_of_them_its_parameters(pretrained: str) -> None:
    arguments = Arguments(pretrained, Path("pairs.npz"), seed=3)
    learners: dict[str, Any] = {name: learner_of(name, pretrained, arguments) for name in arguments.runs}
    assert [type(learner) for learner in learners.values()] == [PPO, PPO, AlphaZero, AlphaZero]
    expected: Any = agents.open_run(Path(pretrained.removesuffix("@0"))).learner
    for name, learner in learners.items():
        assert learner.policy.network == expected.policy.network, name
        assert learner.config.init_from == (None if "scratch" in name else pretrained)
        assert learner.config.seed == 3
    assert (learners["alphazero"].config.search, learners["alphazero_scratch"].config.search) == ("puct", "gumbel")
    assert (learners["ppo"].config.kl_coef, learners["ppo_scratch"].config.kl_coef) == (0.1, None)
    with pytest.raises(ValueError, match="expected a run such as runs/imitation"):
        learner_of("ppo", f"{pretrained}(temperature=0)", arguments)


def test_dropout_is_left_out_of_the_network() -> None:
    def of(network: str | None) -> str | None:
        return example.without_dropout(Imitation(Config(env="checkers", num_minibatches=1, network=network)))

    assert of("diagonal_mlp(dropout=0.3, blocks=1)") == "diagonal_mlp(dropout=0.0, blocks=1)"
    assert of("residual_mlp(blocks=1)") == "residual_mlp(blocks=1)"
    assert of(None) is None


# -- results -------------------------------------------------------------------------------------------------------


@pytest.mark.slow  # compiles for three seconds
def test_prediction_of_moves_is_that_computed_by_hand(pretrained: str, data: Path, tmp_path: Path) -> None:
    arguments = Arguments(pretrained, data, tmp_path, num_positions=100)
    sampled = agent_text(pretrained, temperature=1)
    found = example.predict({"agent": sampled}, ENV, arguments, pretrained)
    assert found["positions"] == 7
    assert found["kl"] == 0  # from itself
    agent: Any = agents.make(sampled, ENV)
    people = example.people(arguments)
    probabilities = np.asarray(agent.analyse(people.states).probabilities)
    of_moves = probabilities[np.arange(7), people.action]
    assert found["log_loss"] == pytest.approx(-np.log(of_moves).mean(), abs=1e-4)
    hits = int((probabilities.argmax(1) == people.action).sum())
    assert found["top_1"] == pytest.approx(hits / 7, abs=1e-4)
    assert found["top_1_interval"] == pytest.approx(arena.wilson(hits, 7), abs=1e-4)

    @jax.jit
    def uniform(states: Any) -> Any:  # of the legal actions, which are seven after each first move but one
        mask = jax.vmap(ENV.legal_action_mask)(states)
        return mask / mask.sum(1, keepdims=True)

    random, reference = agents.make("random", ENV), agent
    _, _, divergence = example.predicted(random, reference, people.states, people.action)
    p = np.asarray(uniform(people.states), np.float64)
    expected = (p * np.log(np.where(p > 0, p / np.where(p > 0, probabilities, 1), 1))).sum()
    assert divergence == pytest.approx(expected, rel=1e-3)


def test_depths_end_with_the_first_one_that_scores_less_than_half(
    pretrained: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {"alphabeta(depth=1)": 0.8, "alphabeta(depth=2)": 0.49, "alphabeta(depth=3)": 0.6}
    monkeypatch.setattr(example, "play", lambda row, *_: {"score": scores[row["opponent"]]})
    monkeypatch.setattr(example, "predict", lambda *_: {})
    rows = example.report(Arguments(pretrained, Path("pairs.npz"), tmp_path, runs=(), depths=(1, 2, 3))).result["cells"]
    assert [row["score"] for row in rows if row["table"] == "depth"] == [0.8, 0.49]


@pytest.mark.slow  # trains four runs
def test_command_trains_and_measures_and_a_second_call_only_reads(
    pretrained: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ppo", "alphazero"):
        small = {"num_envs": 4, "rollout_length": 8, "num_minibatches" if name == "ppo" else "num_updates": 1}
        if name == "alphazero":
            small |= {"simulations": 2, "minibatch_size": 8, "replay_size": 32}
        module: Any = getattr(example, name)
        config_for = module.config_for
        monkeypatch.setattr(
            module, "config_for", lambda *given, made=config_for, small=small, **more: made(*given, **more | small)
        )
    numbers: Any = {"ppo_steps": 64, "alphazero_steps": 64, "games": 8, "simulations": 2, "depth_games": 2}
    arguments = Arguments(pretrained, data, tmp_path / "out", depths=(1, 2), **numbers)
    rows = example.report(arguments).result["cells"]
    assert {row["table"] for row in rows} == {"games", "depth", "people"}
    for row in rows:
        if row["table"] != "people":
            assert row["wins"] + row["losses"] + row["draws"] + row["truncated"] == row["size"]
            assert row["score"] == pytest.approx((row["wins"] + (row["draws"] + row["truncated"]) / 2) / row["size"])
    named = {(row["agent"].partition("(")[0], row["opponent"].partition("(")[0]) for row in rows}
    assert {("alphazero", "ppo"), ("ppo", "pretrained"), ("pretrained", "alphabeta")} <= named

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a stored row is measured again")

    monkeypatch.setattr(arena, "play", refuse)
    monkeypatch.setattr(example, "predict", refuse)
    assert example.report(arguments).result["cells"] == rows
