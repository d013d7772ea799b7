"""The colours of all pictures, in a light and a dark theme."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Side:
    """The pieces of one seat on a board of squares."""

    fill: str
    outline: str
    detail: str  # the strokes inside the outline
    crown: str = ""  # on a crowned man


@dataclass(frozen=True)
class Squares:
    """A board of light and dark squares, and its pieces."""

    light: str
    dark: str
    last_move: str
    sides: tuple[Side, Side]  # of seat 0 and seat 1
    numbers: str = ""  # of the dark squares


@dataclass(frozen=True)
class Theme:
    """Colours as `#rrggbb`. A picture has a background of its own, so that it is legible on any page."""

    name: str
    paper: str  # the card under a board
    border: str  # the thin edge of the card
    board: str
    edge: str  # the edge of the board
    line: str  # between neighbouring cells
    hole: str  # an empty cell
    rim: str  # around an empty cell
    ink: str  # text and marks
    muted: str  # less important text
    outline: str  # around a peg or a box
    shine: str  # the reflection on a peg
    check: str  # under a king in check
    seats: tuple[str, ...]  # of seat 0, 1, ...
    men: Squares
    chessmen: Squares

    def named_seats(self, num_players: int) -> Sequence[tuple[str, str]]:
        """Returns the name and the colour of each seat, "Red", "Blue", ..., of a game drawn with `seats`."""
        return list(zip(SEAT_NAMES, self.seats, strict=True))[:num_players]


# Variations of the Okabe-Ito colours. Any two of them look different with normal sight and with protanopia,
# deuteranopia and tritanopia, and so can each of them and an empty hole.
SEAT_NAMES = ("Red", "Blue", "Yellow", "Green", "Pink", "Light blue")  # the names of these colours, in their order
_SEATS = ("#c8321e", "#2f5fc4", "#f5c518", "#2a9d5c", "#cc79a7", "#7fd0f0")

# The rims of the men separate them from light and dark squares. A black chess piece has a light outline
# where the squares are dark.
_BLACK_MEN = Side(fill="#26262b", outline="#8b8b93", detail="#8b8b93", crown="#f0c24a")
_WHITE_CHESSMEN = Side(fill="#fdfaf3", outline="#2b2721", detail="#2b2721")

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
        shine="#ffffff",
        check="#d1321f",
        seats=_SEATS,
        men=Squares(
            light="#f6efe0",
            dark="#b59f7d",
            last_move="#e3b93c",
            sides=(_BLACK_MEN, Side(fill="#fbf8f1", outline="#2b2721", detail="#a89f8e", crown="#b7791a")),
            numbers="#5f5038",
        ),
        chessmen=Squares(
            light="#efe6d5",
            dark="#b7a183",
            last_move="#e3b505",
            sides=(_WHITE_CHESSMEN, Side(fill="#2f2b27", outline="#0f0e0c", detail="#d9d2c5")),
        ),
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
        shine="#ffffff",
        check="#d1321f",
        seats=_SEATS,
        men=Squares(
            light="#66707d",
            dark="#434c58",
            last_move="#b8892b",
            sides=(_BLACK_MEN, Side(fill="#fbf8f1", outline="#07090c", detail="#a89f8e", crown="#b7791a")),
            numbers="#b4bdc9",
        ),
        chessmen=Squares(
            light="#7d8797",
            dark="#4b5565",
            last_move="#e3b505",
            sides=(_WHITE_CHESSMEN, Side(fill="#2f2b27", outline="#b9c2cf", detail="#d9d2c5")),
        ),
    ),
}


def css_variables(theme: Theme) -> str:
    """Returns the colours of a theme as declarations of CSS variables, such as `--paper:#ffffff;`."""
    declared: list[str] = []

    def declare(name: str, colour: str) -> str:
        declared.append(f"--{name}:{colour};")
        return colour

    _mapped(theme, "", declare)
    return "".join(declared)


def variable_theme() -> Theme:
    """Returns the theme whose colours are the variables of `css_variables`, for an SVG inside a page in both themes."""
    return _mapped(THEMES["light"], "", lambda name, colour: f"var(--{name})")


def _mapped(part: Any, name: str, function: Callable[[str, str], str]) -> Any:
    """Returns a theme or a part of one with `function(name, colour)` in place of each colour that is not "".

    The name of a colour is the path of fields that leads to it, joined by `-`.
    """
    if isinstance(part, str):
        return function(name, part) if part else ""
    if isinstance(part, tuple):
        items = enumerate(cast(tuple[Any, ...], part))
        return tuple(_mapped(value, f"{name}-{index}", function) for index, value in items)
    names = [field.name for field in dataclasses.fields(part) if field.name != "name"]
    prefix = f"{name}-" if name else ""
    inside = {key: _mapped(getattr(part, key), prefix + key.replace("_", "-"), function) for key in names}
    return dataclasses.replace(part, **inside)
