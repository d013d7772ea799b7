"""Pure functions of arrays for learners, and the distribution of arrays over devices."""
