"""Checkers learned from people: ranks, baselines, blunders, facts and predictions, by hand and on small collections."""

import dataclasses
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from examples.papers.checkers_imitation import positions as checkers_data
from examples.papers.checkers_imitation import reinforcement as example
from examples.papers.checkers_imitation.__main__ import among_best, by_ply, legality, lookup_scores, measure_all
from examples.papers.checkers_imitation.blunders import Arguments, captures, stages
from examples.papers.checkers_imitation.blunders import recorded as read_positions
from examples.papers.checkers_imitation.positions import is_jump
from examples.papers.checkers_imitation.reinforcement import agent_text, learner_of
from examples.papers.checkers_imitation.shuffle import SHARES, shuffle_splits
from jaxgames import arena
from jaxgames.policies.agent import PolicyAgent
from tests.helpers.commands import run_command
from tests.helpers.solved import ENV, random_positions
from tests.helpers.stored_runs import store
from train import agents
from train.alphazero import AlphaZero
from train.analyse.annotation import Turn
from train.data import __main__ as data_command
from train.data import positions
from train.data.positions import Positions
from train.imitation import Config as ImitationConfig
from train.imitation import Imitation
from train.ppo import PPO

LEGAL = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.bool_)
SPLITS = ("train", "validation", "test", "external")


@pytest.fixture(scope="module")
def recorded() -> Positions:
    """Two copies of 60 positions: 30 of them in all splits, so that some test positions are in training."""
    once = random_positions(60)
    twice = once.take(np.arange(120) % 60)
    split = np.where(np.arange(120) < 60, 0, 2)
    split[[70, 71]], split[[107, 108, 109]] = 1, 3  # 107 is the start of a second game
    split[30:60] = 1
    return dataclasses.replace(twice, split=split, splits=SPLITS)


def test_action_among_the_k_best_shares_ranks_with_equal_scores() -> None:
    scores = np.array([[2, 1, 1, 9], [0, 0, 0, 0]], np.float32)  # the 9 is illegal
    action = np.array([2, 3])
    expected = {1: [0, 0.25], 2: [0.5, 0.5], 3: [1, 0.75], 5: [1, 1]}
    for k, chances in expected.items():
        np.testing.assert_allclose(among_best(scores, LEGAL, action, k), chances)


def test_measures_of_rows_are_those_by_hand() -> None:
    """The best of all actions is illegal in the first row. The probabilities are n / 10, and 1, 1, 1 and 5 of 8."""
    logits = np.log(np.array([[1, 2, 3, 4], [1, 1, 1, 5]], np.float32))
    found = legality(logits, LEGAL)
    assert found["raw legal"] == 0.5
    assert found["legal mass"] == pytest.approx((0.6 + 1) / 2)
    ply, right = np.array([0, 9, 10, 19, 20, 80, 300]), np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    assert by_ply(right, ply) == {"0-9": 0.5, "10-19": 1, "20-39": 0, "80+": 0.5}


def test_lookup_counts_the_moves_of_the_same_position(recorded: Positions) -> None:
    some = recorded.take(np.array([3, 3, 4]))
    keys = positions.keys(some)[[0, 1, 2, 2]]
    scores = lookup_scores(keys, np.array([7, 7, 5, 6], np.int32), some.take(np.array([2, 0])))
    expected = np.zeros((2, ENV.num_actions))
    expected[0, [5, 6]], expected[1, 7] = 1, 2
    np.testing.assert_array_equal(scores, expected)


def test_shuffled_splits_have_the_shares_of_the_study_and_leave_the_second_collection_out(recorded: Positions) -> None:
    found = shuffle_splits(recorded, seed=1)
    assert found.splits == tuple(SHARES)
    assert np.bincount(found.split).tolist() == [99, 12, 6]  # of 117
    np.testing.assert_array_equal(found.action, recorded.action[recorded.split != 3])
    assert (shuffle_splits(recorded, seed=2).split != found.split).any()


def test_baselines_are_measured_on_every_set(recorded: Positions) -> None:
    found = measure_all(recorded, ())
    assert found["positions"] == {"train": 30, "test": 55, "unseen": 27, "seen": 28, "external": 3}
    uniform, lookup = (found["models"][name]["sets"] for name in ("uniform", "lookup"))
    test = recorded.of("test")
    number_legal = positions.legal_actions(test).sum(1)
    assert uniform["test"]["top-1"] == pytest.approx((1 / number_legal).mean())
    assert uniform["test"]["top-2"] == pytest.approx(np.minimum(1, 2 / number_legal).mean())
    assert lookup["seen"]["top-1"] == 1  # each position was played once, and with the same move
    assert lookup["unseen"] == uniform["unseen"]
    assert found["models"]["hindsight"]["sets"]["test"]["top-1"] == 1


CAPTURE = '[FEN "W:W14,32:B9,1"]\n\n1... 14x5 1-6 2. 32-28 *\n'


class Steps:
    """A policy whose best action is the first step of a man on 9: its logits are known."""

    def apply(self, params: Any, observation: Any, seat: Any) -> Any:
        return jnp.broadcast_to(params, (len(seat), ENV.num_actions)), jnp.zeros(len(seat))


def test_predicted_capture_is_a_legal_action_where_a_capture_is_compulsory(tmp_path: Path) -> None:
    """In the first position of the game only."""
    pdn = tmp_path / "game.pdn"
    pdn.write_text(CAPTURE)
    found = read_positions(pdn, 10, ENV)
    assert is_jump(found.states, positions.legal_actions(found).argmax(1)).tolist() == [True, False, False]
    best = np.zeros(ENV.num_actions)
    best[found.action[0]] = 1  # 14x5, which no later position allows
    result = captures(PolicyAgent(best, ENV, Steps()), Arguments(data=pdn))
    assert (result["captures"], result["captures_right"]) == (1, 1)
    assert (result["steps"], result["steps_right"]) == (2, 0)


def of_stage(number: int, pieces: int, lost: float, before: float = 0.0) -> Turn:
    return Turn(number, number - 1, 0, "", before, before, lost, "", blunder=lost > 0.5, pieces=pieces)


def test_stages_count_own_turns_and_pieces_and_even_boards() -> None:
    """Turns 20 and 21 of a game are the tenth and the eleventh of their seats. Two men of a lead are not even."""
    turns = [of_stage(20, 21, 1.0), of_stage(21, 20, 0.0), of_stage(81, 4, 3.0, -2.0), of_stage(83, 2, 0.8, 1.9)]
    names = ("by", "stage", "turns", "blunders", "even", "even_blunders")
    rows = stages(turns)
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("all", "all", 4, 3, 3, 2),
        ("turn", "1-10", 1, 1, 1, 1),
        ("turn", "11-20", 1, 0, 1, 0),
        ("turn", "41+", 2, 2, 1, 1),
        ("pieces", "21-24", 1, 1, 1, 1),
        ("pieces", "17-20", 1, 0, 1, 0),
        ("pieces", "2-4", 2, 2, 1, 1),
    ]
    assert rows[0]["lost"] == pytest.approx(1.2)


GAMES = """\
1. 11-15 22-18 15x22 26x17 1-0
1. 11-15 22-18 15x22 25x18 1/2-1/2
"""


def test_facts_are_those_of_two_games_and_the_share_that_is_seen_is_counted_by_ply(tmp_path: Path) -> None:
    """7 and 7 steps, then a forced capture, then 25x18 or 26x17. The games share their four positions."""
    (tmp_path / "games.pdn").write_text(GAMES)
    (tmp_path / "others.pdn").write_text("1. 11-15 23-19 *\n1. 9-13 *")
    files = (tmp_path / "games.pdn", "--external", tmp_path / "others.pdn")
    sizes = ("--train", 100, "--validation", 0)
    assert run_command(data_command.main, *files, *sizes, "--output", tmp_path / "pairs.npz") is None
    result = checkers_data.report(checkers_data.Arguments(tmp_path / "pairs.npz")).result
    assert [*result["splits"]["train"].values()] == [2, 8, 4, 1.0, 4.25, 0.25, 0.5, 0.5]
    assert result["splits"]["external"]["seen in training"] == 1.0
    assert result["seen"] == {"external": {"0-9": 1.0}, "validation": {}, "test": {}}


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a run of imitation with random parameters."""
    folder = tmp_path_factory.mktemp("runs") / "imitation"
    config = ImitationConfig(env="checkers", num_minibatches=1, network="mlp", hidden_sizes=(8,))
    return f"{store(folder, Imitation(config))}@0"


def test_runs_have_the_network_of_the_pretrained_one_and_half_of_them_its_parameters(pretrained: str) -> None:
    arguments = example.Arguments(pretrained, Path("pairs.npz"), seed=3)
    learners: dict[str, Any] = {name: learner_of(name, pretrained, arguments) for name in arguments.runs}
    assert [type(learner) for learner in learners.values()] == [PPO, PPO, AlphaZero, AlphaZero]
    expected: Any = agents.open_run(Path(pretrained.removesuffix("@0"))).learner
    for name, learner in learners.items():
        assert learner.policy.network == expected.policy.network, name
        assert learner.config.init_from == (None if "scratch" in name else pretrained)
        assert learner.config.seed == 3
    assert (learners["alphazero"].config.search, learners["alphazero_scratch"].config.search) == ("puct", "gumbel")
    assert (learners["ppo"].config.kl_coef, learners["ppo_scratch"].config.kl_coef) == (0.1, None)


@pytest.mark.slow  # compiles for three seconds
def test_predictions_of_a_run_are_those_computed_by_hand(pretrained: str, recorded: Positions, tmp_path: Path) -> None:
    """By the experiments on imitation and on reinforcement."""
    recorded.save(tmp_path / "pairs.npz")
    arguments = example.Arguments(pretrained, tmp_path / "pairs.npz", tmp_path, num_positions=100)
    sampled = agent_text(pretrained, temperature=1)
    found = example.predict({"agent": sampled}, ENV, arguments, pretrained)
    people, agent = recorded.of("test"), agents.make(sampled, ENV)
    assert found["positions"] == len(people) == 55
    assert found["kl"] == 0  # from itself
    analysis: Any = agent.analyse(people.states)  # pyright: ignore[reportAttributeAccessIssue]  # of a run's agent
    probabilities = np.asarray(analysis.probabilities)
    assert found["log_loss"] == pytest.approx(-np.log(probabilities[np.arange(55), people.action]).mean(), abs=1e-4)
    hits = int((probabilities.argmax(1) == people.action).sum())
    assert found["top_1"] == pytest.approx(hits / 55, abs=1e-4)
    of_run = measure_all(recorded, [pretrained])["models"][pretrained]["sets"]["test"]
    assert of_run["top-1"] == pytest.approx(hits / 55, abs=1e-6)
    assert found["top_1_interval"] == pytest.approx(arena.wilson(hits, 55), abs=1e-4)
    *_, divergence = example.predicted(agents.make("random", ENV), agent, people.states, people.action)
    legal = positions.legal_actions(people)
    uniform = legal / legal.sum(1, keepdims=True)
    expected = (uniform * np.log(np.where(legal, uniform / np.where(legal, probabilities, 1), 1))).sum()
    assert divergence == pytest.approx(expected, rel=1e-3)
