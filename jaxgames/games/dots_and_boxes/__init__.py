"""Dots and Boxes on rows x cols boxes, for two seats."""

from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState
from jaxgames.registry import Game

__all__ = ["GAME", "DotsAndBoxes", "DotsAndBoxesState"]

GAME = Game(
    id=DotsAndBoxes.id,
    env=DotsAndBoxes,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    words=f"{__name__}.words",
)
