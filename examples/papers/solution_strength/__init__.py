"""The experiments beside the study on strength in solved games; docs/papers/solution_strength.md has the results.

    compare_agents     agents against `random` and `greedy`, on every game
    judged             moves of agents, judged by other agents and by the solution
    mistakes           measures of strength of agents, and where they make mistakes

`train.strength` measures agents against solutions.
"""
