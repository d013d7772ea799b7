"""KLENT, a learner without search; see `train.klent.learner`."""

from train.klent.config import Config, Numbers
from train.klent.learner import KLENT

config_for = KLENT.config_for

__all__ = ["KLENT", "Config", "Numbers", "config_for"]
