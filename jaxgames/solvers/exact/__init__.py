"""Exact solutions: the table of values, how it is computed and verified, and the agent that plays it."""
