"""The table, the differences and the picture of the sharing comparison, on hand-made curves; the published numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxgames
from examples.papers.parameter_sharing import runs
from examples.papers.parameter_sharing.__main__ import Arguments, train
from examples.papers.parameter_sharing.running_sums import RunningSums
from examples.papers.parameter_sharing.runs import COLUMNS
from examples.papers.parameter_sharing.study import (
    MEASURES,
    MODES,
    PAPER,
    WINDOW,
    differences,
    finite,
    last_win_rates,
    measures,
    published,
    reached,
    settings_of,
)
from train.models.policy import Sharing
from train.ppo import Config, config_for

APART = "examples.papers.parameter_sharing.separate_encoders:apart"
STEPS = [4000 * (i + 1) for i in range(12)]


def result(*rates: list[float], turns: float = 20.0) -> dict[str, object]:
    others: dict[str, object] = {name: [[turns] * 12 for _ in rates] for name in COLUMNS}
    return others | {"steps": STEPS, "win_rate": list(rates)}


def medians(**curves: object) -> dict[str, float]:
    return {name: found.value for name, found in reached(curves).items()}


def test_steps_are_those_of_the_first_evaluation_that_reaches_the_rate() -> None:
    found = medians(**result([0.5, 0.9, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert [found[name] for name in MEASURES] == [8000, 16000, 32000, 20.0]


def test_five_in_a_row_need_five_evaluations_before_the_end() -> None:
    found = medians(**result([0.0] * 8 + [0.9] * 4))
    assert found["steps to 0.9"] == 36000
    assert found["steps to 0.9 five times"] == float("inf")
    assert medians(**result([0.0] * 7 + [0.9] * 5))["steps to 0.9 five times"] == 32000


def test_rate_that_is_never_reached_is_infinite_and_null_in_json() -> None:
    values = reached(result([0.0] * 12, turns=float("nan")))
    assert {name: finite(v) for name, v in values.items()} == {name: [None, None, None] for name in MEASURES}


def test_median_and_interval_are_over_seeds() -> None:
    early, late, never = [1.0] * 12, [0.0] + [1.0] * 11, [0.0] * 12
    assert measures(result(early, late, never))["steps to 1.0"] == [4000, 8000, float("inf")]
    assert reached(result(early, late, never))["steps to 1.0"] == (8000, 4000, float("inf"))


def test_turns_average_the_last_ten_evaluations_that_won_a_game() -> None:
    nan = float("nan")
    curves = result([1.0] * 12)
    curves["mean_turns"] = [[100.0, 100.0, nan, 10.0, 20.0, nan, *[15.0] * 6]]
    assert reached(curves)["turns to win"].value == pytest.approx((10 + 20 + 6 * 15) / 8)


def test_differences_have_the_sign_of_the_slower_way() -> None:
    fast, slow = result(*[[1.0] * 12] * 5), result(*[[0.0] * 3 + [1.0] * 9] * 5, turns=25.0)
    rows = {row["measure"]: row for row in differences({"shared": fast, "independent": slow})}
    assert rows["steps to 0.9"]["pair"] == "independent - shared"
    assert rows["steps to 0.9"]["difference"] == (12000, 12000, 12000)
    assert rows["turns to win"]["difference"] == (5, 5, 5)
    assert rows["turns to win"]["p"] == pytest.approx(2 / 252)


def test_last_win_rates_have_a_mean_per_run() -> None:
    curves = result([0.0, 0.0] + [0.5] * 10, [1.0] * 12)
    assert last_win_rates({"shared": curves}).splitlines()[2] == "| shared | 1.00 | 0.50, 1.00 |"


# -- the study's numbers -------------------------------------------------------------------------------------------


def test_figures_of_the_table_are_those_of_the_published_curves() -> None:
    for mode in MODES:
        run = published()[mode]
        first = {rate: float(run.steps[np.argmax(run.win_rate >= rate)]) for rate in (0.9, 1.0)}
        turns = round(float(run.rounds[-WINDOW:].mean()) + 1, 1)
        assert (first[0.9], first[1.0], turns) == (PAPER[mode][0], PAPER[mode][2], PAPER[mode][3])


def test_lengths_of_published_runs_have_two_units() -> None:
    """Each of six seats makes one submove for every submove of the last seat, and more than one per round."""
    units = {name: float(np.mean(run.submoves / run.rounds)) for name, run in published().items()}
    of_submoves = {"independent", "shared, earlier run", "shared_encoder, earlier run"}
    assert {name for name, unit in units.items() if unit < 7} == of_submoves
    assert all(8 < unit < 9 for name, unit in units.items() if name not in of_submoves)


def test_presets_have_the_studys_budget_and_its_network() -> None:
    for preset in ("parameter_sharing", "parameter_sharing_code"):
        config = config_of(settings_of(preset, 100))
        assert (config.num_iterations, config.steps_per_iteration, config.hidden_sizes) == (100, 4000, (64, 64))


@pytest.mark.parametrize("sharing", MODES)
def test_settings_of_the_code_have_its_rewards_networks_and_minibatches(sharing: Sharing) -> None:
    text = config_for(preset="parameter_sharing_paper", sharing=sharing)
    code = config_of(settings_of("parameter_sharing_code", 100, sharing))
    assert jaxgames.make(code.env).id == RunningSums.id
    one_encoder = sharing == "shared_encoder"
    assert (code.network, code.activation) == ((None, "relu") if one_encoder else (APART, "tanh"))
    networks = 1 if sharing == "shared" else 6
    assert code.minibatch_size / networks == pytest.approx(128, rel=0.05)
    changed = ("env", "network", "activation", "vf_clip", "vf_coef", "num_minibatches")
    assert replace(text, **{name: getattr(code, name) for name in changed}) == code


@pytest.mark.parametrize("env", [None, "chinese_checkers(size=3, reward=sparse)"])
def test_value_loss_of_the_code_is_the_clipped_squared_error_of_the_rewards(env: str | None) -> None:
    check_value_loss(config_of(settings_of("parameter_sharing_code", 1, "shared_encoder", env)))


def test_value_loss_of_the_paper_is_the_clipped_squared_error_of_the_rewards() -> None:
    check_value_loss(config_for(preset="parameter_sharing_paper"))


def config_of(settings: dict[str, tuple[Any, ...]]) -> Config:
    return Config(**{name: value for name, (value,) in settings.items()})


def check_value_loss(config: Config) -> None:
    bound = max(map(abs, jaxgames.make(config.env).reward_range))
    assert config.vf_clip is not None
    assert config.vf_clip * bound**2 == pytest.approx(10, rel=1e-3)
    assert config.vf_coef * 0.5 / bound**2 == pytest.approx(1, rel=1e-3)  # PPO's loss has half of the squared error


def test_each_way_of_sharing_is_a_sweep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ways: dict[Path, tuple[Sharing, ...]] = {}

    def train_all(folder: Path, settings: dict[str, Any], seeds: int, games: int) -> list[Path]:
        ways[folder] = settings["sharing"]
        return [folder]

    monkeypatch.setattr(runs, "train_all", train_all)
    monkeypatch.setattr(runs, "curves_of", list)
    folders = {mode: tmp_path / "parameter_sharing_code" / mode for mode in MODES}
    trained = train(Arguments(output=tmp_path), "parameter_sharing_code")
    assert trained == {mode: [folder] for mode, folder in folders.items()}
    assert ways == {folder: (mode,) for mode, folder in folders.items()}
