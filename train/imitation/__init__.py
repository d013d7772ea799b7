"""Learning from labelled positions; see `train.imitation.learner`."""

from train.imitation.config import Config, config_for
from train.imitation.learner import (
    Imitation,
    TrainState,
    evaluate,
    imitation_loss,
    learning_rate,
    mean_loss,
    rank_of_label,
    update,
)

__all__ = [
    "Config",
    "Imitation",
    "TrainState",
    "config_for",
    "evaluate",
    "imitation_loss",
    "learning_rate",
    "mean_loss",
    "rank_of_label",
    "update",
]
