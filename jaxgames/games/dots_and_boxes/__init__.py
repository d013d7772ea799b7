"""Dots and Boxes on rows x cols boxes, for two seats."""

from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState

__all__ = ["DotsAndBoxes", "DotsAndBoxesState"]
