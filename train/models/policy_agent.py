"""The agent of a policy with its parameters. `Learner.agent(params)` of a policy-gradient learner returns it."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxgames import Env
from train.models.policy import Params, Policy
from train.ops.masked_categorical import sample_and_log_prob


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PolicyAgent:
    """Plays every seat with one policy; see `jaxgames.agents.Agent`.

    The parameters are leaves, so all runs of one network share the compiled program of their games.
    """

    on_device: ClassVar[bool] = True
    params: Params
    env: Env[Any] = field(metadata={"static": True})
    policy: Policy = field(metadata={"static": True})
    temperature: float = field(default=1.0, metadata={"static": True})
    """1 samples from the policy, 0 plays its most probable action, values between make it more deterministic."""

    def __post_init__(self) -> None:
        if not self.temperature >= 0:  # NaN too
            raise ValueError(f"temperature must be 0 or more, not {self.temperature}")

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns actions int32[B]."""
        observation = jax.vmap(self.env.observe)(states)
        mask = jax.vmap(self.env.legal_action_mask)(states)
        logits, _ = self.policy.apply(self.params, observation, states.current_player)
        if self.temperature == 0:
            return jnp.where(mask, logits, -jnp.inf).argmax(-1)
        return sample_and_log_prob(key, logits / self.temperature, mask)[0]
