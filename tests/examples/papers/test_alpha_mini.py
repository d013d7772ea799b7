"""Minichess of a study: placements, its rules, settings and measures, beside a slow reference or by hand."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.alpha_mini import discounts, policy_improvement, pretraining, rules, runs, sampling
from examples.papers.alpha_mini.placements import random_placements
from jaxgames import Env
from jaxgames.games.minichess import Minichess
from tests.games.minichess.cases import make_reference
from tests.games.minichess.reference import from_fen
from tests.helpers.positions import board, stacked
from train.data.positions import Positions
from train.ppo import PPO, config_for

GAMES = [Minichess(), Minichess(board="mallet", rules="king_capture")]
NUMBER = 200
ARMIES = {"gardner": ("PPPPPRNBQ", "ppppprnbq"), "mallet": ("PPPPPRNQN", "ppppprbqb")}


def texts(env: Env[Any], boards: Any) -> list[str]:
    boards = jax.device_get(boards)
    return [env.to_string(board(boards, number)) for number in range(len(boards.current_player))]


@pytest.mark.parametrize("env", GAMES, ids=str)
def test_placement_is_live_and_the_side_that_moved_is_not_in_check(env: Minichess) -> None:
    reference = make_reference(env)
    found = texts(env, random_placements(env, NUMBER))
    for text in found:
        position = reference.from_string(text)
        assert not position.over
        assert not reference.can_take_king(position), text
        white, black = ("".join(filter(side, position.board.values())) for side in (str.isupper, str.islower))
        assert len(white) == len(black) > 1
        for pieces, army in zip((white, black), ARMIES[env.board], strict=True):
            assert not Counter(pieces) - Counter(army + "Kk")
            assert Counter(pieces.upper())["K"] == 1
        assert all(0 < rank < 4 for (_, rank), letter in position.board.items() if letter in "pP")
    assert len({*found}) > 0.95 * NUMBER
    assert texts(env, random_placements(env, 7)) == found[:7], "a longer list begins with a shorter one"
    assert texts(env, random_placements(env, 7, 1)) != found[:7]
    numbers = Counter(len(from_fen(text).board) for text in found)
    assert {*numbers} == {*range(4, 21, 2)}
    assert 0.35 < np.mean([" w " in text for text in found]) < 0.65


@pytest.mark.slow  # compiles the rules of a game
def test_only_pawns_of_white_become_queens_on_their_last_rank() -> None:
    """White is paid for it; the last pawn of Black is paid for the rook that it captures only."""
    variant = rules.OnlyWhitePromotes(reward="material")
    for text, move, after, paid in (
        ("k4/3P1/5/5/K4 w - - 0 1", "d4d5q", "k2Q1/5/5/5/K4", 0.829),
        ("k4/5/5/3p1/K4 b - - 0 1", "d2d1q", "k4/5/5/5/K2p1", 0),
        ("k4/5/3p1/5/K4 b - - 0 1", "d3d2", "k4/5/5/3p1/K4", 0),
        ("k4/5/5/3q1/K4 b - - 0 1", "d2d1", "k4/5/5/5/K2q1", 0),
        ("k4/5/5/3p1/K3R b - - 0 1", "d2e1q", "k4/5/5/5/K3p", -0.479),
    ):
        state = variant.from_string(text)
        state = variant.step(state, variant.action_from_string(state, move))
        assert variant.to_string(state).startswith(after)
        np.testing.assert_allclose(state.rewards, [paid, -paid], atol=1e-6)


CAPTURES = "minichess(rules=king_capture, reward=material)"


def test_star_stands_for_the_seeds_of_runs(tmp_path: Path) -> None:
    """The folder of seed 2 has no run."""
    for seed in range(3):
        (tmp_path / f"seed={seed}" / ("config.json" if seed < 2 else "empty")).mkdir(parents=True)
    star, alone = f"{tmp_path}/seed=*", "alphabeta(depth=1)"
    found = runs.of_sets((star, alone), lambda text: {"text": text})
    assert found == {star: [{"text": f"{tmp_path}/seed={seed}"} for seed in (0, 1)], alone: [{"text": alone}]}


@pytest.mark.slow  # plays games and searches positions
def test_uniform_policy_has_the_entropy_and_the_best_moves_of_a_random_player(tmp_path: Path) -> None:
    config = config_for(CAPTURES, network="mlp(hidden_sizes=[4])", temperature=0.0, seed=0)
    run = runs.store_untrained(PPO(config), tmp_path / "run")
    arguments = sampling.Arguments(output=tmp_path, judge="alphabeta(depth=1)", positions=100)
    found = sampling.measured(arguments, f"{run}(temperature=1e6)")
    assert 30 < found["decisions"] < 70
    assert found["best"] == pytest.approx(found["random_is_best"], abs=1e-3)
    assert found["entropy"] <= math.log(found["legal"]) + 1e-3  # the logarithm is concave
    assert found["entropy"] > 0.8 * math.log(found["legal"])


def test_study_estimates_the_win_rate_from_the_reward_of_kings_alone() -> None:
    assert runs.rate_from_reward(60.0) == 1
    assert runs.rate_from_reward(-60.0) == 0
    # 0.6 wins and 0.3 losses are 18 on average: the estimate counts half of the other games as won
    assert runs.rate_from_reward(18.0) == pytest.approx(0.6 + 0.1 / 2)


def test_sweep_has_the_nine_pairs_of_the_study_in_one_program() -> None:
    sweep = discounts.sweep_for(discounts.Arguments(seeds=2, network=runs.NARROW))
    assert {discounts.pair_of(cell.config) for cell in sweep.cells.values()} == set(discounts.THEIRS)
    assert len(sweep.cells) == 2 * len(discounts.THEIRS)
    assert len(sweep.groups()) == 1


def test_new_white_plays_the_last_black_and_begins_with_the_last_white(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_improvement, "PPO", lambda config: config)
    arguments = policy_improvement.Arguments(Path("out"))
    config: Any = policy_improvement.learner_of(arguments, "last", 0, 3, "white")
    assert config.opponents == ("out/last/seed=0/black_2",)
    assert config.init_from == "out/last/seed=0/white_2"
    assert (config.learn_seats, config.opponent_epsilon, config.total_steps) == ((0,), 0.5, 25_000)
    of_all: Any = policy_improvement.learner_of(arguments, "all", 0, 3, "black")
    assert of_all.opponents == tuple(f"out/all/seed=0/white_{step}" for step in range(3))
    assert of_all.learn_seats == (1,)


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


def test_positions_of_standard_rules_keep_their_boards_under_king_capture() -> None:
    standard, captures = jaxgames.make("minichess"), jaxgames.make("minichess(rules=king_capture, reward=material)")
    texts = ["k4/2K2/2Q2/5/5 w - - 0 1", standard.to_string(standard.init(jax.random.key(0)))]
    states = stacked(map(standard.from_string, texts))
    found = pretraining.with_king_capture(Positions(standard, states), captures)
    assert [captures.to_string(board(found.states, row)) for row in range(2)] == texts
