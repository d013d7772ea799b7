"""The settings of `train.klent`: those of PPO but for its loss."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from train import ppo
from train.bounds import NotNegative, Positive, Share


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Numbers(ppo.Numbers):
    """The settings that only traced arithmetic reads."""

    gae_lambda: Share[float] = 0.88
    """Lambda of the returns that the action values learn."""
    vf_coef: NotNegative[float] = 0.5
    """Weight of the loss of the action values and of the value."""
    entropy_weight: Positive[float] = 0.03
    """Weight of the entropy in the improved policy. Rewards are divided by the largest one of a step."""
    kl_weight: NotNegative[float] = 1.0
    """Weight of the divergence of the improved policy from the network's."""
    # Settings of PPO's own loss, which this learner does not have:
    clip_coef: ClassVar[Any] = None
    vf_clip: ClassVar[Any] = None
    ent_coef: ClassVar[Any] = None
    kl_coef: ClassVar[Any] = None
    final_kl_coef: ClassVar[Any] = None
    step_kl_coef: ClassVar[Any] = None
    target_kl: ClassVar[Any] = None


@dataclass(frozen=True)
class Config(Numbers, ppo.Config):
    """Settings of learning; they are stored in the run folder."""

    numbers_type: ClassVar[type[Numbers]] = Numbers
    critic_warmup: ClassVar[int] = 0  # pyright: ignore[reportIncompatibleVariableOverride]  # it is no setting here
