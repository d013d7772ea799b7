"""The dots, the edges between them and the boxes, with the rows and columns of the dots numbered.

Neighbouring dots are one cell apart; h(r, c) goes right from dot (r, c), v(r, c) goes down. Taken boxes are tiles in
the colours of their owners. A position does not record which seat drew an edge, so only the edges of the last turn
have a seat's colour.
"""

import dataclasses
import functools
from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState, boxes
from jaxgames.render import drawing as render
from jaxgames.render.drawing import CELL, Drawing, Motion, Place, Scene, at, caption_of, node, number, text_node
from jaxgames.render.theme import SEAT_NAMES, Theme

DOT_RADIUS, TILE = 2.3, 14.0  # TILE is the side of a taken box
RIM = 9.0  # from the outermost dots to the board's edge on the right and below
LABEL_SIZE = 11.0  # of the numbers, in pixels of a card


def drawing(env: DotsAndBoxes, theme: Theme) -> Drawing:
    """Returns the board of one size; a high and narrow one has free space at its sides."""
    edge = {"stroke": theme.ink, "stroke-width": "2.6", "stroke-linecap": "round"}
    last = {"stroke-width": "5.8", "stroke-linecap": "round"}
    return Drawing(
        name=f"boxes{env.rows}x{env.cols}",
        theme=theme,
        width=_width(env) + RIM + _margin(env),
        height=env.rows * CELL + RIM + _margin(env),
        background=_board(env, theme),
        looks={f"seat{seat}": _tile(theme, theme.seats[seat]) for seat in range(2)},
        under={f"last{seat}": {**last, "stroke": theme.seats[seat]} for seat in range(2)},
        over={"drawn": edge},
        scene=functools.partial(_scene, env),
        cells=_edge_middles(env),
        contents=functools.partial(_contents, env),
        motions=functools.partial(_motions, env),
        seats=theme.named_seats(2),
    )


# -- one position ----------------------------------------------------------------------------------


def _scene(env: DotsAndBoxes, state: DotsAndBoxesState, moves: Sequence[str]) -> Scene:
    edges, owner, mover = np.asarray(state.edges), np.asarray(state.owner), int(state.current_player)
    turn = [env.action_from_string(state, text) for text in moves]
    pieces = {_middle(env, box): f"seat{owner[box]}" for box in np.flatnonzero(owner >= 0).tolist()}
    score = f"{(owner == 0).sum()} : {(owner == 1).sum()}"
    outcome = env.outcome(state)
    caption = caption_of(outcome, mover, ("seat0", "seat1"), SEAT_NAMES, "to move")
    if outcome.kind != "forfeit":
        caption = dataclasses.replace(caption, text=f"{caption.text} · {score}")

    marks = {"drawn": _lines(env, np.flatnonzero(edges).tolist())} if edges.any() else {}
    if turn and outcome.kind != "forfeit":
        marks[f"last{_drawer(env, state, turn[-1])}"] = _lines(env, turn)
    return Scene(caption, pieces, marks)


def _drawer(env: DotsAndBoxes, state: DotsAndBoxesState, edge: int) -> int:
    """Returns the seat that drew the last edge: the owner of a box that it completed, else the seat not to move."""
    owners = np.asarray(state.owner)[(boxes(env) == edge).any(1)].tolist()
    return next((owner for owner in owners if owner >= 0), 1 - int(state.current_player))


def _contents(env: DotsAndBoxes, state: DotsAndBoxesState) -> dict[str, str]:
    names = [_name(*edge) for edge in _edges(env)]
    return dict(zip(names, ["drawn" if drawn else "not drawn" for drawn in state.edges.tolist()], strict=True))


def _motions(env: DotsAndBoxes, state: DotsAndBoxesState, texts: Sequence[str]) -> list[Motion]:
    """Returns the parts of moves: the edge, and in words the boxes that it completes."""
    lacks_one = np.asarray(state.edges)[boxes(env)].sum(1) == 3
    completed = {_name(*each): (boxes(env) == edge).any(1) & lacks_one for edge, each in enumerate(_edges(env))}

    def motion(text: str) -> Motion:
        takes = ("", ", completes a box", ", completes two boxes")[int(completed[text].sum())]
        row, col = text[2:-1].split(",")
        direction = "horizontal" if text[0] == "h" else "vertical"
        return Motion(None, text, "edge", f"{direction} edge, row {row}, column {col}{takes}")

    return [motion(text) for text in texts]


# -- geometry --------------------------------------------------------------------------------------


def _width(env: DotsAndBoxes) -> float:
    """Returns the width of the board without its rim: at least its height, and at least three boxes."""
    return CELL * max(env.rows, env.cols, 3)


def _label(env: DotsAndBoxes) -> float:
    """Returns the size of the numbers in units; on the card it is the same for boards of most sizes."""
    return min(8.0, LABEL_SIZE * (_width(env) + 1.5 * CELL) / (render.CARD - 2 * render.PADDING))


def _margin(env: DotsAndBoxes) -> float:
    """Returns the distance from the outermost dots to the board's edge on the left and on top, where numbers are."""
    return 6 + 2 * _label(env)


def _dot(env: DotsAndBoxes, row: int, col: int) -> Place:
    shift = (_margin(env) - RIM) / 2  # the margins are part of the board, whose middle is (0, 0)
    return round(CELL * (col - env.cols / 2) + shift, 2), round(CELL * (row - env.rows / 2) + shift, 2)


def _middle(env: DotsAndBoxes, box: int) -> Place:
    x, y = _dot(env, *divmod(box, env.cols))
    return x + CELL / 2, y + CELL / 2


def _edges(env: DotsAndBoxes) -> list[tuple[str, int, int]]:
    """Returns "h" or "v" for each edge, and the row and the column of the dot where it begins."""
    horizontal = [("h", row, col) for row in range(env.rows + 1) for col in range(env.cols)]
    return horizontal + [("v", row, col) for row in range(env.rows) for col in range(env.cols + 1)]


def _name(kind: str, row: int, col: int) -> str:
    return f"{kind}({row},{col})"


def _edge_middles(env: DotsAndBoxes) -> dict[str, Place]:
    middles: dict[str, Place] = {}
    for kind, row, col in _edges(env):
        x, y = _dot(env, row, col)
        middles[_name(kind, row, col)] = (x + CELL / 2, y) if kind == "h" else (x, y + CELL / 2)
    return middles


def _lines(env: DotsAndBoxes, edges: Sequence[int]) -> str:
    """Returns the path data of edges, each from the rim of a dot to the rim of the next."""
    gap, strokes, every = DOT_RADIUS + 1.9, list[str](), _edges(env)
    for kind, row, col in (every[edge] for edge in edges):
        x, y = _dot(env, row, col)
        begin = at((x + gap, y) if kind == "h" else (x, y + gap))
        strokes.append(f"M{begin}{kind}{number(CELL - 2 * gap)}")
    return "".join(strokes)


# -- background and pieces ---------------------------------------------------------------------------


def _board(env: DotsAndBoxes, theme: Theme) -> Element:
    label, margin = _label(env), _margin(env)
    left, top = _dot(env, 0, 0)
    x, y = left - margin + 1, top - margin + 1
    width, height = (boxes * CELL + margin + RIM - 2 for boxes in (env.cols, env.rows))
    board = node(
        "rect", x=x, y=y, width=width, height=height, rx=6, fill=theme.board, stroke=theme.edge, stroke_width=1.2
    )
    faint = _lines(env, range(env.num_edges))
    lines = node("path", d=faint, fill="none", stroke=theme.line, stroke_width=1, stroke_linecap="round")
    dots = node("g", fill=theme.ink)
    numbers = node("g", fill=theme.muted, font_size=label, text_anchor="middle")
    for row in range(env.rows + 1):
        for col in range(env.cols + 1):
            x, y = _dot(env, row, col)
            dots.append(node("circle", cx=x, cy=y, r=DOT_RADIUS))
    away, baseline = 3 + label, 0.35 * label
    for row in range(env.rows + 1):
        numbers.append(text_node(str(row), x=left - away, y=_dot(env, row, 0)[1] + baseline))
    for col in range(env.cols + 1):
        numbers.append(text_node(str(col), x=_dot(env, 0, col)[0], y=top - away + baseline))
    return node("g", board, lines, dots, numbers)


def _tile(theme: Theme, colour: str) -> Element:
    x, side = -TILE / 2, TILE
    return node("rect", x=x, y=x, width=side, height=side, rx=2, fill=colour, stroke=theme.outline, stroke_width=0.7)
