"""The command `train.baselines`: trains the agents that come with the package."""
