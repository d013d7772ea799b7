"""config.json: what is read back, and how everything else is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.helpers.toy_learner import Config, ToyLearner
from train.bounds import fits, format_type
from train.driver.run_folder import RunFolder
from train.driver.stored_config import load, to_json
from train.ppo import PPO

STORED = to_json(ToyLearner(Config()))
TOY = "tests.helpers.toy_learner:ToyLearner"


def loaded(tmp_path: Path, text: str) -> Any:
    (tmp_path / "config.json").write_text(text)
    return load(tmp_path / "config.json", [PPO, ToyLearner])


def test_settings_are_read_back_by_the_learner_that_wrote_them(tmp_path: Path) -> None:
    config = Config(learning_rate=0.125, sizes=(2, 2, 2), seed=5)
    assert loaded(tmp_path, json.dumps(to_json(ToyLearner(config)))) == ToyLearner(config)


def test_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"{tmp_path} holds no run: expected a folder that train.ppo wrote"):
        RunFolder.open(tmp_path, PPO)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "has no learner and settings") for text in ("", "{", "[" * 100_000, "[]", "null", "{}")),
        *((f'{{"learner": "ppo"{end}', "has no learner and settings") for end in ("}", ', "settings": [1]}')),
        ('{"learner": "other", "settings": {}}', f"learner must be one of ppo, {TOY}, not 'other'"),
        ('{"learner": ["ppo"], "settings": {}}', f"learner must be one of ppo, {TOY}"),
    ],
)
def test_config_that_is_no_stored_run_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path / 'config.json'}.*{message}"):
        loaded(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("other", "or module:Class|module:Class, not 'other'"),
        ("no_module_of_ours:Mine", "a file imports none: to import it, add --import"),
        ("json:Mine", "json has no learner 'Mine'"),
        ("train.driver.learner:Learner", "has no learner 'Learner'"),
    ],
)
def test_learner_that_cannot_be_had_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"learner": text, "settings": {}}))
    with pytest.raises(ValueError, match=message):
        load(path, [PPO], or_own=True)
    with pytest.raises(ValueError, match="learner must be one of ppo, not"):
        load(path, [PPO])


def test_setting_that_learners_no_longer_have_is_left_out(tmp_path: Path) -> None:
    for name, value in {"proofs": True, "fast_searches": 0.5}.items():
        assert loaded(tmp_path, json.dumps(with_setting(name, value))) == ToyLearner(Config())


def with_setting(name: str, value: Any) -> dict[str, Any]:
    return STORED | {"settings": STORED["settings"] | {name: value}}


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (with_setting("num_envs", "4"), "num_envs must be of type int, not '4'"),
        (with_setting("num_envs", 4.5), "num_envs must be of type int, not 4.5"),
        (with_setting("num_envs", True), "num_envs must be of type int, not True"),
        (with_setting("num_envs", None), "num_envs must be of type int, not None"),
        (with_setting("num_envs", 0), "num_envs must be positive, not 0"),
        (with_setting("learning_rate", [1]), r"learning_rate must be of type float, not \[1\]"),
        (with_setting("sizes", 3), r"sizes must be of type tuple\[int, ...\], not 3"),
        (with_setting("sizes", ["a"]), r"sizes must be of type tuple\[int, ...\]"),
        (with_setting("num_boards", 4), "unknown settings: num_boards"),
        (STORED | {"env_version": 2}, "trained on version 2 of sticks, .* this is version 1"),
    ],
)
def test_setting_that_does_not_fit_is_named(stored: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        loaded(tmp_path, json.dumps(stored))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [(1, int, True), (1, float, True), (1.5, int, False), (True, float, False), ("a", str, True), (None, str, False)],
)
def test_value_fits_its_annotated_type(value: Any, kind: Callable[..., Any], expected: bool) -> None:
    assert fits(value, kind) is expected


def test_allowed_values_of_a_setting_are_written_out() -> None:
    assert format_type(Literal["shared", "independent"]) == "one of 'shared', 'independent'"
    assert format_type(tuple[int, ...]) == "of type tuple[int, ...]"
    assert format_type(float) == "of type float"
