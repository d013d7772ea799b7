"""Settings of PPO: wrong values are refused with what is allowed."""

import dataclasses
from typing import Any

import pytest

from train.ppo import Config

CONFIG = Config(num_envs=16, rollout_length=24, num_minibatches=2)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"env": "chess"}, "chinese_checkers"),
        ({"env": "chinese_checkers(size=9)"}, "size must be an integer from 1 to 8, not 9"),
        ({"total_steps": 0}, "total_steps must be positive, not 0"),
        ({"num_envs": -1}, "num_envs must be positive, not -1"),
        ({"num_envs": 10**30}, r"num_envs must be less than 2\*\*63, not 1000"),
        ({"rollout_length": 0}, "rollout_length must be positive"),
        ({"update_epochs": 0}, "update_epochs must be positive"),
        ({"num_minibatches": 0}, "num_minibatches must be positive"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"gamma": 1.1}, "gamma must be from 0 to 1, not 1.1"),
        ({"seed": -1}, "seed must be from 0 to 2147483646, not -1"),
        ({"seed": 2**32}, "seed must be from 0 to 2147483646, not 4294967296"),  # JAX would take it for 0
        ({"gae_lambda": -0.1}, "gae_lambda must be from 0 to 1, not -0.1"),
        ({"num_minibatches": 385}, r"num_minibatches must be at most num_envs \* rollout_length = 384"),
    ],
)
def test_wrong_setting_is_refused_with_the_allowed_values(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(CONFIG, **setting)


def test_run_is_rounded_up_to_whole_iterations() -> None:
    assert dataclasses.replace(CONFIG, total_steps=1).num_iterations == 1
    assert dataclasses.replace(CONFIG, total_steps=384).num_iterations == 1
    assert dataclasses.replace(CONFIG, total_steps=385).num_iterations == 2
