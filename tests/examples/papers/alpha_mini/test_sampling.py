"""What is measured of policies that sample, and of sets of runs."""

import math
from pathlib import Path
from typing import Any

import pytest

from examples.papers.alpha_mini import placements, runs, sampling
from train.ppo import PPO, config_for

GAME = "minichess(rules=king_capture, reward=material)"


def test_star_stands_for_the_seeds_of_runs(tmp_path: Path) -> None:
    for seed in (0, 1):
        (tmp_path / f"seed={seed}" / "white_1").mkdir(parents=True)
        (tmp_path / f"seed={seed}" / "white_1" / "config.json").touch()
    (tmp_path / "seed=2" / "white_1").mkdir(parents=True)  # without a run
    found = runs.matching(f"{tmp_path}/seed=*/white_1")
    assert found == [f"{tmp_path}/seed={seed}/white_1" for seed in (0, 1)]
    assert runs.name_of("runs/study/last/seed=*/white_1") == "`last/seed=*/white_1`"
    assert runs.matching("alphabeta(depth=1)") == ["alphabeta(depth=1)"]
    with pytest.raises(ValueError, match="there is no run"):
        runs.matching(f"{tmp_path}/seed=*/white_2")


def row_of(won: int) -> dict[str, Any]:
    source = {"games": 100, "won": won, "lost": 100 - won, "agreement": {"compared": 50, "agreed": 10.0}}
    return {"agent": "a run", "start": source, "placements": source}


def test_sets_of_runs_are_compared_seed_by_seed_with_the_first_set() -> None:
    found = {"one": [row_of(20)], "first": [row_of(50), row_of(90)], "second": [row_of(60), row_of(100)]}
    table, differences = placements.table(found).split("\n\n")
    lines = table.splitlines()
    assert lines[2].startswith("| `one` | 1 | 0.200 (0.133-0.289) |")  # the Wilson interval of 20 of 100
    assert lines[3].startswith("| `first` | 2 | 0.700 (0.500 to 0.900) |")
    # The runs differ by 0.4, the pairs do not.
    assert differences.splitlines()[2].startswith("| `second`, less `first` | 0.100 (0.100 to 0.100) |")
    assert "\n\n" not in placements.table({"one": [row_of(20)], "first": [row_of(50), row_of(90)]})


@pytest.mark.slow  # plays games and searches positions
def test_uniform_policy_has_the_entropy_and_the_best_moves_of_a_random_player(tmp_path: Path) -> None:
    config = config_for(GAME, network="mlp(hidden_sizes=[4])", temperature=0.0, seed=0)
    run = runs.store_untrained(PPO(config), tmp_path / "run")
    arguments = sampling.Arguments(output=tmp_path, judge="alphabeta(depth=1)", positions=100)
    found = sampling.measured(arguments, f"{run}(temperature=1e6)")
    assert 30 < found["decisions"] < 70
    assert found["best"] == pytest.approx(found["random_is_best"], abs=1e-3)
    assert found["entropy"] <= math.log(found["legal"]) + 1e-3  # the logarithm is concave
    assert found["entropy"] > 0.8 * math.log(found["legal"])
