"""The command line of a sweep: several values of a setting, lists in one text, and the table that they make."""

from pathlib import Path

import pytest

from tests.helpers.commands import error_of
from tests.train.conftest import Runs
from train import ppo
from train.driver.stored_config import format_setting
from train.sweep import folder_name, sweep_of
from train.sweep.__main__ import main, parse, to_list


def test_setting_takes_one_or_more_values() -> None:
    words = "--gamma 0.3 0.5 --sharing shared independent --hidden-sizes 8,8 16 --anneal-lr False --seeds 3 --seed 2"
    parsed = parse(words.split())
    assert parsed.values == {
        "gamma": (0.3, 0.5),
        "sharing": ("shared", "independent"),
        "hidden_sizes": ((8, 8), (16,)),
        "anneal_lr": (False,),
    }
    assert (parsed.learner, parsed.seeds, parsed.seed) == ("ppo", 3, 2)
    table = sweep_of("ppo", parsed.values, 1)
    assert len(table.cells) == 8
    assert set(table.varied) == {"gamma", "sharing", "hidden_sizes"}


def test_settings_that_are_left_out_are_those_of_the_games_recipe() -> None:
    table = sweep_of("ppo", {"env": ("minichess", "chinese_checkers(size=1)"), "gamma": (0.5,)}, seeds=1)
    chess, star = table.cells.values()
    assert chess.config == ppo.config_for("minichess", gamma=0.5)
    assert star.config == ppo.config_for("chinese_checkers(size=1)", gamma=0.5)


def test_folder_names_have_no_character_that_an_agents_text_splits_at() -> None:
    assert folder_name({"gamma": 0.3, "gae_lambda": 1.0}, ["gamma", "gae_lambda"], 5) == "gamma=0.3+gae_lambda=1.0"
    assert folder_name({"env": "a(b=1, c=2)"}, ["env"], 5) == "env=a_b=1_c=2__5"
    assert folder_name({"hidden_sizes": (64, 64)}, ["hidden_sizes"], 5) == "hidden_sizes=64_64_5"
    assert len(folder_name({"env": "x" * 500}, ["env"], 5)) < 130


def test_list_is_one_text_with_commas() -> None:
    for text, value in (("64,64", (64, 64)), ("8", (8,)), ("", ())):
        assert to_list(text, tuple[int, ...], "hidden_sizes") == value
        assert format_setting(value) == text
    assert to_list("random,runs/a(top=3, epsilon=0.1)", tuple[str, ...], "opponents") == (
        "random",
        "runs/a(top=3, epsilon=0.1)",
    )


def test_help_of_a_flag_is_the_text_below_the_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    assert "Discount per decision of a seat." in capsys.readouterr().out


def test_parameters_that_do_not_fit_a_later_group_are_refused_before_there_is_a_folder(
    untrained: Runs, tmp_path: Path
) -> None:
    """Otherwise the error comes when the groups before are trained."""
    games = ("dots_and_boxes(rows=2, cols=2)", "dots_and_boxes(rows=1, cols=2)")
    network = ("--hidden-sizes", 8, "--channels", "", "--init-from", untrained.first)
    message = error_of(main, "--env", *games, *network, "--run-dir", tmp_path / "sweep")
    assert f"the parameters of {untrained.first} do not fit this run" in message
    assert not (tmp_path / "sweep").exists()
