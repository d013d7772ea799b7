"""Dots and Boxes on rows x cols boxes, for two seats."""

from jaxgames.games.dots_and_boxes.rules import MAX_SEARCHED_SIZE, DotsAndBoxes, DotsAndBoxesState
from jaxgames.registry import Game

__all__ = ["GAME", "DotsAndBoxes", "DotsAndBoxesState"]

GAME = Game(
    id=DotsAndBoxes.id,
    env=DotsAndBoxes,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    search=f"{__name__}.player",
    solution=f"{__name__}.solution:DotsAndBoxesSolution",
    strength=f"{__name__}.strength:measure_margins",
    words=f"{__name__}.words",
    levels=(
        ("greedy", "baseline", "alphabeta(milliseconds=200)"),
        ("greedy", "alphabeta(milliseconds=1, epsilon=0.1)", "alphabeta(milliseconds=200)"),
    ),
    is_searched=lambda env: max(env.rows, env.cols) <= MAX_SEARCHED_SIZE,
)
