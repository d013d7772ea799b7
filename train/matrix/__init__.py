"""Tabular learners of matrix games, and the dynamics that describe them."""
