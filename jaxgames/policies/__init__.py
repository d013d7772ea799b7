"""Networks as agents: probabilities and values of a policy, its use in a search, and policies stored in files."""
