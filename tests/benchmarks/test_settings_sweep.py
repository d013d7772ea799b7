"""benchmarks.settings_sweep times a sweep and single runs as processes, and compares their first iterations."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import settings_sweep
from benchmarks.settings_sweep import Arguments, measure_settings_sweep, time_process
from train.sweep import sweep_of


def test_ratio_is_that_of_the_sweep_to_all_single_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 2 x 2 settings, two seeds, single runs of 10 s and a sweep of 40 s."""
    started: list[list[str]] = []

    def pretend(command: Sequence[str]) -> float:
        started.append([*command])
        folder = Path(command[-1])
        folder.mkdir(parents=True)
        folders = [folder]
        if command[0] == "train.sweep":
            table = sweep_of("ppo", {"gamma": (0.3, 0.5), "gae_lambda": (0.9, 1.0)}, seeds=2).to_json()
            (folder / "sweep.json").write_text(json.dumps(table))
            folders = [folder / name for name in table["cells"]]
        for each in folders:
            each.mkdir(parents=True, exist_ok=True)
            row = {"approx_kl": 0.01, "entropy": 1.0 if command[0] == "train.ppo" else 1.5, "value_loss": 1.0}
            (each / "metrics.jsonl").write_text(json.dumps(row) + "\n")
        return 40.0 if command[0] == "train.sweep" else 10.0

    monkeypatch.setattr(settings_sweep, "time_process", pretend)
    result = measure_settings_sweep(Arguments(gamma=(0.3, 0.5), gae_lambda=(0.9, 1.0), seeds=2, singles=3))
    assert [command[0] for command in started] == ["train.ppo", "train.ppo", "train.sweep", "train.ppo"]
    assert result["single_seconds"] == [10, 10, 10]
    assert (result["cells"], result["all_single_seconds"], result["ratio"]) == (8, 80, 0.5)
    assert result["largest_relative_difference_in_the_first_iteration"] == pytest.approx(0.5)


def test_process_that_fails_is_named_with_its_message() -> None:
    with pytest.raises(OSError, match=r"benchmarks\.nothing ended with status 1: .*No module named"):
        time_process(["benchmarks.nothing"])
