"""Experiments of the study on checkers learned from people (Larson 2016), a module each.

    __main__          how well policies predict recorded moves
    positions         facts about the recorded positions
    reinforcement     training from a policy of people's moves, by PPO and AlphaZero

docs/papers/checkers_imitation.md has the results.
"""
