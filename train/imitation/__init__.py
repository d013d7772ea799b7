"""Learning from labelled positions; see `train.imitation.learner`."""

from train.imitation.config import Config
from train.imitation.learner import Imitation, imitation_loss, key_of, learning_rate, mean_loss, rank_of_label

__all__ = [
    "Config",
    "Imitation",
    "imitation_loss",
    "key_of",
    "learning_rate",
    "mean_loss",
    "rank_of_label",
]
