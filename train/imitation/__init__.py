"""Learning from labelled positions; see `train.imitation.learner`."""

from train.imitation.config import Config, Numbers, resolve
from train.imitation.data import Minibatch
from train.imitation.learner import Imitation, TrainState

config_for = Imitation.config_for

__all__ = ["Config", "Imitation", "Minibatch", "Numbers", "TrainState", "config_for", "resolve"]
