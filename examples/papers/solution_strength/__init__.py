"""The experiments beside the study on strength in solved games; docs/papers/solution_strength.md."""
