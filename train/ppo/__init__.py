"""PPO; see `train.ppo.learner`."""

from train.ops.episodes import Metrics, episode_metrics
from train.ppo.config import Config, config_for
from train.ppo.learner import PPO, kl_weight, make_optimizer, ppo_loss, train, update
from train.ppo.rollout import Decisions, TrainState, Transition, collect, decisions_of, estimate_advantages

__all__ = [
    "PPO",
    "Config",
    "Decisions",
    "Metrics",
    "TrainState",
    "Transition",
    "collect",
    "config_for",
    "decisions_of",
    "episode_metrics",
    "estimate_advantages",
    "kl_weight",
    "make_optimizer",
    "ppo_loss",
    "train",
    "update",
]
