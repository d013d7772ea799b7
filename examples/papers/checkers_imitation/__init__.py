"""The experiments of Larson 2016 on checkers learned from people; docs/papers/checkers_imitation.md."""
