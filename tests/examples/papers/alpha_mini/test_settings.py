"""The settings and measures of the experiments on minichess, on results made by hand."""

from pathlib import Path
from typing import Any, get_args

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.alpha_mini import discounts, policy_improvement, pretraining, runs, win_rates
from train.data.positions import Positions
from train.ppo import PPO, config_for
from train.recipes import PRESETS

RESULT = {"games": 100, "won": 60, "lost": 30, "drawn": 4, "truncated": 6, "mean_reward": 18.0, "mean_length": 20.0}


def test_study_estimates_the_win_rate_from_the_reward_of_kings_alone() -> None:
    assert runs.rate_from_reward(60.0) == 1
    assert runs.rate_from_reward(-60.0) == 0
    # 0.6 wins and 0.3 losses are 18 on average: the estimate counts half of the other games as won
    assert runs.rate_from_reward(RESULT["mean_reward"]) == pytest.approx(0.6 + 0.1 / 2)


def test_sweep_has_the_nine_pairs_of_the_study_and_its_settings() -> None:
    sweep = discounts.sweep_for(discounts.Arguments(seeds=2, network=runs.NARROW))
    assert {discounts.pair_of(cell.config) for cell in sweep.cells.values()} == set(discounts.THEIRS)
    assert len(sweep.cells) == 2 * len(discounts.THEIRS)
    assert len(sweep.groups()) == 1
    for name, value in PRESETS["alpha_mini"].items():
        if name not in ("network", "gamma", "gae_lambda"):
            assert {getattr(cell.config, name) for cell in sweep.cells.values()} == {value}


def test_settings_of_ours_have_the_opponent_of_the_study_and_the_network_of_the_recipe() -> None:
    study, ours = (
        config_for(**runs.TrainingArguments(settings=kind).settings_of_runs()) for kind in get_args(runs.Kind)
    )
    assert study == config_for(preset="alpha_mini")
    for name in runs.OF_STUDY:
        assert getattr(ours, name) == getattr(study, name)
    assert ours.channels == (16, 16)
    assert ours.network is None
    other = config_for(**runs.TrainingArguments(network="mlp", learning_rate=0.5).settings_of_runs())
    assert (other.channels, other.learning_rate) == ((), 0.5)


def learner(way: Any, step: int, colour: str) -> PPO:
    return policy_improvement.learner_of(policy_improvement.Arguments(Path("out")), way, 0, step, colour)


@pytest.fixture
def without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_improvement, "PPO", lambda config: config)


@pytest.mark.usefixtures("without_files")
def test_new_white_plays_the_last_black_and_begins_with_the_last_white() -> None:
    config: Any = learner("last", 3, "white")
    assert config.opponents == ("out/last/seed=0/black_2",)
    assert config.init_from == "out/last/seed=0/white_2"
    assert (config.learn_seats, config.opponent_epsilon, config.total_steps) == ((0,), 0.5, 25_000)
    other: Any = learner("last", 3, "black")
    assert (other.opponents, other.learn_seats) == (("out/last/seed=0/white_2",), (1,))


@pytest.mark.usefixtures("without_files")
def test_all_earlier_policies_of_the_other_colour_are_opponents() -> None:
    config: Any = learner("all", 3, "black")
    assert config.opponents == tuple(f"out/all/seed=0/white_{step}" for step in range(3))


@pytest.mark.usefixtures("without_files")
def test_every_run_of_the_procedure_has_a_seed_of_its_own() -> None:
    seeds = {learner("last", step, colour).seed for step in range(5) for colour in ("white", "black")}  # pyright: ignore[reportAttributeAccessIssue]  # a config
    assert len(seeds) == 10


def test_measures_of_policy_improvement_see_a_peak_and_the_fall_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reward = np.array([*range(10), *[7.0] * 5])  # the best batch is the tenth; then it falls
    columns = {policy_improvement.REWARD: reward, policy_improvement.PLIES: 30.0 - np.arange(15)}
    monkeypatch.setattr(
        policy_improvement, "curves", lambda arguments, way, column: np.tile(columns[column], (2, 10, 1))
    )
    rates = np.array([[(70 - abs(step - 8) - seed) / 100 for step in range(11)] for seed in (0, 1)])
    found = policy_improvement.measures(policy_improvement.Arguments(steps=10, seeds=2), "last", rates)
    assert found["step of the best win rate"] == [8, 8]
    assert found["win rate after step 10, less after step 1"] == pytest.approx([0.05, 0.05])
    assert found["win rate after step 10, less after step 8"] == pytest.approx([-0.02, -0.02])
    assert found["best batch of a step by mean reward"] == [10, 10]
    assert found["mean reward of the last 5 batches of a step, less of the 5 before"] == pytest.approx([0, 0])
    assert found["mean reward of the last 5 batches of a step, less of the first 5"] == pytest.approx([5, 5])
    assert found["plies of the last 5 batches of step 1, less of the first 5"] == pytest.approx([-10, -10])
    assert "| 8.00 (8.00 to 8.00) |" in policy_improvement.measure_table({"last": found})


def test_loss_is_shown_relative_to_that_of_a_constant_value() -> None:
    losses = {"value_error/train": [10.0, 5.0], "value_error/validation": [20.0, 10.0]}
    header, _, *lines = pretraining.loss_table({"alphabeta": losses}).splitlines()
    assert header == "| epoch | train, alphabeta | validation, alphabeta | the study |"
    assert lines == ["| 0 | 1.000 | 1.000 | 1.000 |", "| 1 | 0.250 | 0.250 | 0.210 |"]


def test_difference_of_pretraining_is_that_of_means_over_seeds() -> None:
    def run(reward: float, won: int) -> dict[str, Any]:
        return RESULT | {"steps": [1000.0, 2000.0], "reward": [reward, reward + 1], "won": won}

    text = pretraining.table({"random start": [run(0, 50), run(2, 50)], "pretrained": [run(5, 70), run(7, 70)]})
    lines = {line.split(" | ")[0]: line for line in text.splitlines()}
    assert lines["| mean reward of all batches"].endswith("| 5.000 (3.000 to 7.000) |")
    assert lines["| win rate after training"].endswith("| 0.200 (0.200 to 0.200) |")
    assert "| 2,000 (2,000 to 2,000) |" in lines["| steps of the best batch"]


ONE_MOVE_BEFORE = "k4/2K2/2Q2/5/5 w - - 0 1"


def test_positions_of_standard_rules_keep_their_boards_under_king_capture() -> None:
    standard, captures = jaxgames.make("minichess"), jaxgames.make("minichess(rules=king_capture, reward=material)")
    texts = [ONE_MOVE_BEFORE, standard.to_string(standard.init(jax.random.key(0)))]
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *map(standard.from_string, texts))
    found = pretraining.with_king_capture(
        Positions(standard, states), captures
    )  # which checks the arrays of the states
    rows = [jax.tree.map(lambda leaf, row=row: leaf[row], found.states) for row in range(2)]
    assert [captures.to_string(row) for row in rows] == texts


def test_runs_of_win_rates_learn_both_seats_and_begin_with_a_run_before() -> None:
    for settings in win_rates.RUNS.values():
        assert config_for(**settings).learn_seats == ()
    chain = ["minichess_standard_again"]
    while chain[-1] in win_rates.FIRST:
        chain.append(win_rates.FIRST[chain[-1]])
    assert chain[1:] == ["minichess_standard", "minichess_mate", "minichess_king_capture"]
