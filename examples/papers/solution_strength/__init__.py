"""The experiment beside the study on strength in solved games; docs/papers/solution_strength.md has the results.

    compare_agents     agents against `random` and `greedy`, on every game

`train.strength` measures agents against solutions.
"""
