"""Experiments of the study on checkers learned from people; docs/papers/checkers_imitation.md has their results."""
