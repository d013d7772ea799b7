"""The tables of predicted moves: ranks with ties, baselines, legality, groups and splits by hand; and a small run."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.papers.checkers_imitation.__main__ import (
    among_best,
    by_ply,
    legality,
    lookup_scores,
    markdown,
    measure_all,
)
from examples.papers.checkers_imitation.shuffle import SHARES, shuffle_splits
from tests.helpers.labelled import random_positions
from tests.helpers.stored_runs import train_in
from train.data import positions
from train.data.positions import Positions, evenly_spaced
from train.driver.loop import Settings
from train.imitation import Config, Imitation, resolve

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


def test_legality_is_that_of_the_softmax_over_all_actions() -> None:
    logits = np.log(np.array([[1, 2, 3, 4], [1, 1, 1, 5]], np.float32))
    found = legality(logits, LEGAL)
    assert found["raw legal"] == 0.5  # the best action of the first row is illegal
    assert found["legal mass"] == pytest.approx((0.6 + 1) / 2)


def test_plies_are_grouped_by_their_number() -> None:
    ply = np.array([0, 9, 10, 19, 20, 80, 300])
    right = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    assert by_ply(right, ply) == {"0-9": 0.5, "10-19": 1, "20-39": 0, "80+": 0.5}


def test_lookup_counts_the_moves_of_the_same_position(recorded: Positions) -> None:
    some = recorded.take(np.array([3, 3, 4]))
    keys = positions.keys(some)
    action = np.array([7, 7, 5], np.int32)
    scores = lookup_scores(np.concatenate([keys, keys[2:]]), np.append(action, 6), some.take(np.array([2, 0])))
    np.testing.assert_array_equal(np.flatnonzero(scores[0]), [5, 6])
    assert scores[0, [5, 6]].tolist() == [1, 1]
    assert np.flatnonzero(scores[1]).tolist() == [7]
    assert scores[1, 7] == 2


def test_shuffled_splits_have_the_shares_of_the_study_and_leave_the_second_collection_out(recorded: Positions) -> None:
    found = shuffle_splits(recorded, seed=1)
    assert found.splits == tuple(SHARES)
    assert np.bincount(found.split).tolist() == [99, 12, 6]  # of 117
    np.testing.assert_array_equal(found.action, recorded.action[recorded.split != 3])
    assert (shuffle_splits(recorded, seed=2).split != found.split).any()


def test_evenly_spaced_positions_cover_the_collection(recorded: Positions) -> None:
    assert evenly_spaced(recorded, 4).ply.tolist() == [0, 30, 0, 30]
    assert len(evenly_spaced(recorded, 0)) == len(evenly_spaced(recorded, 500)) == 120


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
    assert "| lookup | seen | 1.000 |" in markdown(found)


@pytest.mark.slow
def test_run_is_measured_beside_the_baselines(recorded: Positions, tmp_path: Path) -> None:
    recorded.save(tmp_path / "pairs.npz")
    config = Config(
        data=str(tmp_path / "pairs.npz"), total_steps=90, batch_size=30, network="diagonal_mlp(blocks=0, channels=4)"
    )
    train_in(tmp_path / "run", Imitation(resolve(config)), Settings(evaluate_every=0))
    found = measure_all(recorded, [str(tmp_path / "run")])
    run: Any = found["models"][str(tmp_path / "run")]
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert run["sets"]["train"]["top-1"] == pytest.approx(rows[-1]["top_1/train"], abs=1e-6)
    assert run["sets"]["train"]["raw legal"] == pytest.approx(rows[-1]["raw_legal/train"], abs=1e-6)
    assert set(run["sets"]) == {"train", "test", "unseen", "seen", "external"}
    with pytest.raises(ValueError, match="runs must be folders of runs, not the agent 'random'"):
        measure_all(recorded, ["random"])
