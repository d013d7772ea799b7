"""Training on top of jaxgames: learners, evaluation and matches, run from a checkout."""
