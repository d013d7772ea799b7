"""Dots and Boxes: the exact solution, the exact search, and the alpha-beta player."""
