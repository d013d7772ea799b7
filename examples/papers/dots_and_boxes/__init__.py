"""Experiments of the study on Dots and Boxes; docs/papers/dots_and_boxes.md has their results."""
