"""Training on top of jaxgames: PPO, evaluation and matches, run from a checkout."""
