"""PPO with a policy that is no network."""

from typing import Any

import jaxgames
from train.ppo import PPO, Config


def with_policy(config: Config, policy: Any, env: jaxgames.Env[Any] | None = None) -> PPO:
    """Returns the learner whose policy is a function of a table or of the board; `env` is in place of the config's."""

    class OtherPolicy(PPO):
        games = ((env or jaxgames.make(config.env), policy),)  # pyright: ignore[reportAssignmentType]  # constant here

    return OtherPolicy(config)
