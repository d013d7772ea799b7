"""The colours of a picture, light and dark."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """Colours as `#rrggbb`. A picture brings its own paper, so that it reads well on any page."""

    name: str
    paper: str  # the card that a board lies on
    border: str  # the card's thin edge
    board: str
    edge: str  # the board's edge
    line: str  # between neighbouring cells
    hole: str  # an empty cell
    rim: str  # of an empty cell
    ink: str  # text and marks
    muted: str  # text that matters less
    outline: str  # around a piece
    seats: tuple[str, ...]  # of seat 0, 1, ...


# Chosen among variations of the Okabe-Ito colours: every two of them stay apart under normal sight and under
# protanopia, deuteranopia and tritanopia, and so does each of them from an empty hole.
_SEATS = ("#c8321e", "#2f5fc4", "#f5c518", "#2a9d5c", "#cc79a7", "#7fd0f0")

THEMES = {
    "light": Theme(
        name="light",
        paper="#ffffff",
        border="#d9d4ca",
        board="#f3ede1",
        edge="#d8cdb8",
        line="#d3c8b3",
        hole="#fffdf8",
        rim="#b9ad96",
        ink="#22201c",
        muted="#6f6a60",
        outline="#2b2721",
        seats=_SEATS,
    ),
    "dark": Theme(
        name="dark",
        paper="#14171c",
        border="#30363f",
        board="#232830",
        edge="#3a424d",
        line="#3d4550",
        hole="#12151a",
        rim="#4d5663",
        ink="#eef1f5",
        muted="#98a2b0",
        outline="#07090c",
        seats=_SEATS,
    ),
}
