"""Learning in matrix games: tabular learners, and the differential equations that describe them."""
