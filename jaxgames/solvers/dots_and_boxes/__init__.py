"""Dots and Boxes: the solution, an exact search (`exact.search`), and the agent's player (`player.make_player`)."""

from jaxgames.solvers.dots_and_boxes.solution import DotsAndBoxesSolution, solve_table

__all__ = ["DotsAndBoxesSolution", "solve_table"]
