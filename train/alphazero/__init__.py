"""AlphaZero; see `train.alphazero.learner`."""

from train.alphazero.config import Config, config_for
from train.alphazero.learner import AlphaZero, alphazero_loss, average_decay, learning_rate, update
from train.alphazero.rollout import TrainState

__all__ = [
    "AlphaZero",
    "Config",
    "TrainState",
    "alphazero_loss",
    "average_decay",
    "config_for",
    "learning_rate",
    "update",
]
