"""The exact solution of Chinese Checkers on the diamond."""

from jaxgames.solvers.chinese_checkers_diamond.solution import DiamondSolution

__all__ = ["DiamondSolution"]
