"""AlphaZero; see `train.alphazero.learner`."""

from train.alphazero.config import Config, Numbers
from train.alphazero.learner import AlphaZero
from train.alphazero.run import Minibatch, Sample, Steps, TrainState

config_for = AlphaZero.config_for

__all__ = ["AlphaZero", "Config", "Minibatch", "Numbers", "Sample", "Steps", "TrainState", "config_for"]
