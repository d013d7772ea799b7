"""Experiments of the study on matrix games; docs/matrix_games.md has their results."""
