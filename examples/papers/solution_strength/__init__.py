"""The experiments beside the study on strength in solved games; docs/papers/solution_strength.md has the results.

    judged             moves of agents, judged by other agents and by the solution
    lost_positions     a run's policy in lost positions, checkpoint by checkpoint
    mistakes           measures of strength of agents, and where they make mistakes
    self_play          training from the start alone: who wins, how long, and how near to the solution

`train.strength` measures agents against solutions.
"""
