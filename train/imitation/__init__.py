"""Learning from labelled positions; see `train.imitation.learner`."""

from train.imitation.config import Config, config_for
from train.imitation.learner import Imitation, imitation_loss, learning_rate, mean_loss, rank_of_label

__all__ = [
    "Config",
    "Imitation",
    "config_for",
    "imitation_loss",
    "learning_rate",
    "mean_loss",
    "rank_of_label",
]
