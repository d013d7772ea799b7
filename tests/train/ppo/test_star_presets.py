"""The presets of the star boards of size 3 and 4 start from the network that plans hops."""

import pytest

from train.models.policy import Policy
from train.ppo import PPO, config_for


@pytest.mark.parametrize("size", [3, 4])
def test_preset_of_a_star_is_a_run_that_can_start(size: int) -> None:
    learner = PPO(config_for(preset=f"star_{size}"))
    assert (learner.env.id, learner.env.num_players) == ("chinese_checkers", 6)
    assert learner.env.observation_shape[0] == 4 * size + 1
    assert learner.policy.network == Policy.of(learner.env, "shared", network="hops(center=0.3)").network
    assert learner.opponents is not None
