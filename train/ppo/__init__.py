"""PPO; see `train.ppo.learner`."""

from train.ppo.config import Config, Numbers
from train.ppo.learner import PPO, train
from train.ppo.run import Minibatch, TrainState, Transition, minibatch_of

config_for = PPO.config_for

__all__ = ["PPO", "Config", "Minibatch", "Numbers", "TrainState", "Transition", "config_for", "minibatch_of", "train"]
