"""The command `train.data`, and labelled positions."""
