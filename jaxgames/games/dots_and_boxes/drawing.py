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

from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState
from jaxgames.render.drawing import (
    CARD,
    CELL,
    PADDING,
    Caption,
    Drawing,
    Motion,
    Place,
    Scene,
    ending,
    node,
    number,
    text_node,
)
from jaxgames.render.theme import SEAT_NAMES, Theme

DOT_RADIUS, HALF_TILE = 2.3, 7.0  # HALF_TILE is half the side of a taken box
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
        cells=dict(zip(_names(env), _edge_middles(env), strict=True)),
        contents=functools.partial(_contents, env),
        motions=functools.partial(_motions, env),
        seats=theme.named_seats(2),
    )


# -- one position ----------------------------------------------------------------------------------


def _scene(env: DotsAndBoxes, state: DotsAndBoxesState, moves: Sequence[str]) -> Scene:
    """Returns the scene of a state after the edges `moves` of its last turn."""
    edges, owner, mover = np.asarray(state.edges), np.asarray(state.owner), int(state.current_player)
    turn = [env.action_from_string(state, text) for text in moves]
    pieces = {_middle(env, box): f"seat{owner[box]}" for box in np.flatnonzero(owner >= 0).tolist()}
    boxes = [int((owner == seat).sum()) for seat in range(2)]
    score = f"{boxes[0]} : {boxes[1]}"
    outcome = env.outcome(state)
    if outcome.kind == "live":
        caption = Caption(f"seat{mover}", f"{SEAT_NAMES[mover]} to move · {score}")
    else:
        caption = ending(outcome, mover, ("seat0", "seat1"), SEAT_NAMES)
    if outcome.kind in ("win", "draw"):
        caption = dataclasses.replace(caption, text=f"{caption.text} · {score}")

    marks = {"drawn": _lines(env, np.flatnonzero(edges).tolist())} if edges.any() else {}
    if turn and outcome.kind != "forfeit":
        marks[f"last{_drawer(env, state, turn[-1])}"] = _lines(env, turn)
    return Scene(caption, pieces, marks)


def _drawer(env: DotsAndBoxes, state: DotsAndBoxesState, edge: int) -> int:
    """Returns the seat that drew the last edge: the owner of a box that it completed, else the seat not to move."""
    owners = [int(state.owner[box]) for box in range(env.num_boxes) if edge in _around(env, box)]
    return next((owner for owner in owners if owner >= 0), 1 - int(state.current_player))


def _contents(env: DotsAndBoxes, state: DotsAndBoxesState) -> dict[str, str]:
    """Returns for each edge whether it is drawn, in words."""
    return {
        name: "drawn" if drawn else "not drawn" for name, drawn in zip(_names(env), state.edges.tolist(), strict=True)
    }


def _motions(env: DotsAndBoxes, state: DotsAndBoxesState, texts: Sequence[str]) -> list[Motion]:
    """Returns the parts of moves: the edge, and in words the boxes that it completes."""
    edges, names = np.asarray(state.edges), _names(env)
    missing = [[edge for edge in _around(env, box) if not edges[edge]] for box in range(env.num_boxes)]

    def motion(text: str) -> Motion:
        edge = names.index(text)
        completed = sum(left == [edge] for left in missing)
        boxes = ("", ", completes a box", ", completes two boxes")[completed]
        row, col = text[2:-1].split(",")
        direction = "horizontal" if text[0] == "h" else "vertical"
        return Motion(None, text, "edge", f"{direction} edge, row {row}, column {col}{boxes}")

    return [motion(text) for text in texts]


# -- geometry --------------------------------------------------------------------------------------


def _width(env: DotsAndBoxes) -> float:
    """Returns the width of the board without its rim: at least its height, and at least three boxes."""
    return CELL * max(env.rows, env.cols, 3)


def _label(env: DotsAndBoxes) -> float:
    """Returns the size of the numbers in units; on the card it is the same for boards of most sizes."""
    return min(8.0, LABEL_SIZE * (_width(env) + 1.5 * CELL) / (CARD - 2 * PADDING))


def _margin(env: DotsAndBoxes) -> float:
    """Returns the distance from the outermost dots to the board's edge on the left and on top, where numbers are."""
    return 6 + 2 * _label(env)


def _dot(env: DotsAndBoxes, row: int, col: int) -> Place:
    shift = (_margin(env) - RIM) / 2  # the margins are part of the board, whose middle is (0, 0)
    return round(CELL * (col - env.cols / 2) + shift, 2), round(CELL * (row - env.rows / 2) + shift, 2)


def _middle(env: DotsAndBoxes, box: int) -> Place:
    x, y = _dot(env, *divmod(box, env.cols))
    return x + CELL / 2, y + CELL / 2


def _around(env: DotsAndBoxes, box: int) -> tuple[int, int, int, int]:
    """Returns the edges of a box: above, below, left, right."""
    row, col = divmod(box, env.cols)
    left = env.num_horizontal + row * (env.cols + 1) + col
    return box, box + env.cols, left, left + 1


def _names(env: DotsAndBoxes) -> list[str]:
    """Returns the texts of all edges: h(r,c) and v(r,c)."""
    horizontal = [f"h({row},{col})" for row in range(env.rows + 1) for col in range(env.cols)]
    return horizontal + [f"v({row},{col})" for row in range(env.rows) for col in range(env.cols + 1)]


def _edge_middles(env: DotsAndBoxes) -> list[Place]:
    horizontal = [_dot(env, row, col) for row in range(env.rows + 1) for col in range(env.cols)]
    vertical = [_dot(env, row, col) for row in range(env.rows) for col in range(env.cols + 1)]
    return [(x + CELL / 2, y) for x, y in horizontal] + [(x, y + CELL / 2) for x, y in vertical]


def _lines(env: DotsAndBoxes, edges: Sequence[int]) -> str:
    """Returns the path data of edges, each from the rim of a dot to the rim of the next."""
    gap = DOT_RADIUS + 1.9
    length = number(CELL - 2 * gap)
    strokes: list[str] = []
    for edge in edges:
        if edge < env.num_horizontal:
            x, y = _dot(env, *divmod(edge, env.cols))
            strokes.append(f"M{number(x + gap)},{number(y)}h{length}")
        else:
            x, y = _dot(env, *divmod(edge - env.num_horizontal, env.cols + 1))
            strokes.append(f"M{number(x)},{number(y + gap)}v{length}")
    return "".join(strokes)


# -- background and pieces ---------------------------------------------------------------------------


def _board(env: DotsAndBoxes, theme: Theme) -> Element:
    """Returns the board, a faint line for every edge, the dots, and the numbers of their rows and columns."""
    label, margin = _label(env), _margin(env)
    left, top = _dot(env, 0, 0)
    board = node(
        "rect",
        x=left - margin + 1,
        y=top - margin + 1,
        width=env.cols * CELL + margin + RIM - 2,
        height=env.rows * CELL + margin + RIM - 2,
        rx=6,
        fill=theme.board,
        stroke=theme.edge,
        stroke_width=1.2,
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
    """Returns the tile of a taken box."""
    return node(
        "rect",
        x=-HALF_TILE,
        y=-HALF_TILE,
        width=2 * HALF_TILE,
        height=2 * HALF_TILE,
        rx=2,
        fill=colour,
        stroke=theme.outline,
        stroke_width=0.7,
    )
