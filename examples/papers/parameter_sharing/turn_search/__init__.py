"""A search of one's own turns on the star, with weights learned from its own games: the agent `race`."""
