"""PPO; see `train.ppo.learner`."""

from train.ppo.config import Config, Numbers, config_for
from train.ppo.learner import PPO, train
from train.ppo.state import Minibatch, TrainState, Transition, minibatch_of

__all__ = ["PPO", "Config", "Minibatch", "Numbers", "TrainState", "Transition", "config_for", "minibatch_of", "train"]
