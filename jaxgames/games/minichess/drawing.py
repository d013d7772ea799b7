"""5 x 5 chess: the board from White's side, pieces as silhouettes drawn here, the last move and a check marked.

A piece is drawn around (0, 0) in a cell of `CELL` units, with its foot on the line y = 7. Its outline is one path; a
second path holds the strokes inside. White is filled with a light colour, Black with a dark one, in both themes.
"""

import functools
import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

import jax

from jaxgames.games.minichess.board import legal_masks
from jaxgames.games.minichess.rules import SQUARES, Minichess, MinichessState
from jaxgames.render import moves
from jaxgames.render.drawing import CELL, Drawing, Motion, Place, Scene, at, caption_of, node, number, text_node
from jaxgames.render.theme import Theme

SEAT_NAMES = ("White", "Black")
KIND_NAMES = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}
HALF_WIDTH = 2.5 * CELL  # from the middle to the board's edge
MARGIN = 3.0  # for the frame
RING_RADIUS = 9.0  # around the piece whose moves are shown
_masks = jax.jit(legal_masks)

BASE = "M-6,7L-6,5.6Q-6,4.4 -4.8,4.4L4.8,4.4Q6,4.4 6,5.6L6,7Z"  # under every large piece
OUTLINES = {
    "p": "M-4.8,7L-4.8,6Q-4.8,4.6 -3.4,4.2Q-1.7,2.6 -1.5,0L-2.6,0Q-3,-.9 -1.9,-1.3A3.2,3.2 0 1 1 1.9,-1.3"
    "Q3,-.9 2.6,0L1.5,0Q1.7,2.6 3.4,4.2Q4.8,4.6 4.8,6L4.8,7Z",
    "n": f"M-4.6,4.4Q-4.4,1.4 -1.2,-.9Q-.6,-1.4 -1,-1.8Q-2.6,-1.4 -3.6,-.3Q-4.6,.9 -5.6,0Q-6.4,-.8 -5.5,-2.2"
    f"L-3.4,-5.6Q-2.6,-6.8 -1.4,-7L-1,-8.6L.6,-7.2Q6,-5.4 5,4.4Z{BASE}",
    "b": "M-3.4,4.4Q-2.2,3.4 -2,2.2L-2.8,2.2L-2.8,1.2L-2.2,1Q-4.2,-.8 -3.8,-2.8Q-3.4,-4.6 -.9,-6.3"
    f"A1.3,1.3 0 1 1 .9,-6.3Q3.4,-4.6 3.8,-2.8Q4.2,-.8 2.2,1L2.8,1.2L2.8,2.2L2,2.2Q2.2,3.4 3.4,4.4Z{BASE}",
    "r": f"M-4,4.4Q-3.2,3 -3.1,-2.6L-4.6,-3.6L-4.6,-7L-2.6,-7L-2.6,-5.5L-1,-5.5L-1,-7L1,-7L1,-5.5L2.6,-5.5L2.6,-7"
    f"L4.6,-7L4.6,-3.6L3.1,-2.6Q3.2,3 4,4.4Z{BASE}",
    "q": "M-3.8,4.4Q-3.2,2.2 -5.6,-3.6A1.1,1.1 0 1 1 -4.3,-4.2L-2.3,-1.6L-2.6,-5.6A1.1,1.1 0 1 1 -1.3,-5.9L0,-2.2"
    f"L1.3,-5.9A1.1,1.1 0 1 1 2.6,-5.6L2.3,-1.6L4.3,-4.2A1.1,1.1 0 1 1 5.6,-3.6Q3.2,2.2 3.8,4.4Z{BASE}",
    "k": "M-4,4.4Q-3.6,2.8 -5.2,.4Q-6.6,-2 -5.2,-3.6Q-3.4,-5.2 -.9,-3.4L-.9,-5.3L-2.4,-5.3L-2.4,-7L-.9,-7L-.9,-8.5"
    f"L.9,-8.5L.9,-7L2.4,-7L2.4,-5.3L.9,-5.3L.9,-3.4Q3.4,-5.2 5.2,-3.6Q6.6,-2 5.2,.4Q3.6,2.8 4,4.4Z{BASE}",
}
INSIDES = {
    "n": "M-2.9,-4.3h.01M2.4,-4.6Q3.4,-1.6 3,1.6",
    "b": "M0,-4.2L0,-1M-1.5,-2.6L1.5,-2.6M-2,2.2L2,2.2",
    "r": "M-3.1,-2.6L3.1,-2.6M-3.4,2.6L3.4,2.6",
    "q": "M-3.4,2.4L3.4,2.4",
    "k": "M0,-3L0,.6M-3.6,2.6Q0,1.4 3.6,2.6",
}


def drawing(env: Minichess, theme: Theme) -> Drawing:
    """Returns the board and the pieces of both colours."""
    looks: dict[str, Element] = {}
    for white in (True, False):
        for kind, outline in OUTLINES.items():
            looks[kind.upper() if white else f"black-{kind}"] = _piece(theme, kind, outline, white)
    highlight = {"fill": theme.chessmen.last_move, "fill-opacity": ".42"}
    return Drawing(
        name="minichess",
        theme=theme,
        width=2 * (HALF_WIDTH + MARGIN),
        height=2 * (HALF_WIDTH + MARGIN),
        background=_board(theme),
        looks=looks,
        under={"last": highlight, "check": {"fill": theme.check, "fill-opacity": ".62"}, **moves.under(theme)},
        over=moves.over(theme),
        scene=functools.partial(_scene, env),
        cells={name: _place_of(name) for name in SQUARES},
        contents=functools.partial(_contents, env),
        motions=functools.partial(_motions, env),
        chosen=lambda place: {"ring": moves.circle(place, RING_RADIUS)},
        angles=(0, 180),
        seats=tuple(zip(SEAT_NAMES, (side.fill for side in theme.chessmen.sides), strict=True)),
    )


# -- one position ----------------------------------------------------------------------------------


def _scene(env: Minichess, state: MinichessState, turn: Sequence[str]) -> Scene:
    standing = {_place_of(square): piece for square, piece in env.pieces_of(state).items()}
    pieces = {place: f"black-{kind.lower()}" if owner else kind for place, (owner, kind) in standing.items()}
    marks: dict[str, str] = {}
    if turn:
        marks["last"] = "".join(map(_square, _ends(turn[-1])))
    seat = int(state.current_player)
    in_check = bool(_masks(state.position).checkers != 0)
    if in_check:
        marks["check"] = "".join(_square(place) for place, piece in standing.items() if piece == (seat, "K"))
    live = f"to move{', in check' if in_check else ''} · move {int(state.ply) // 2 + 1}"
    caption = caption_of(env.outcome(state), seat, ("K", "black-k"), SEAT_NAMES, live)
    return Scene(caption, pieces, marks)


def _contents(env: Minichess, state: MinichessState) -> dict[str, str]:
    pieces = env.pieces_of(state)
    return {square: f"{SEAT_NAMES[seat]} {KIND_NAMES[kind.lower()]}" for square, (seat, kind) in pieces.items()}


def _motions(env: Minichess, state: MinichessState, texts: Sequence[str]) -> list[Motion]:
    """Returns the parts of moves. Promotions to different pieces differ in their kind."""
    contents = _contents(env, state)

    def motion(text: str) -> Motion:
        source, target, promoted = text[:2], text[2:4], text[4:]
        piece = contents[source].split()[1]
        label = f"{piece} {source} to {target}"
        if target in contents:
            label = f"{piece} {source} takes the {contents[target]} on {target}"
        if promoted:
            into = KIND_NAMES[promoted]
            return Motion(source, target, f"promotion to {into}", f"{label} and becomes a {into}")
        return Motion(source, target, "capture" if target in contents else "move", label)

    return [motion(text) for text in texts]


def _ends(move: str) -> list[Place]:
    if not re.fullmatch(r"([a-e][1-5]){2}[qrbn]?", move):
        raise ValueError(f"expected a move such as 'a2a3' or 'd4d5q', not {move!r}")
    return [_place_of(move[i : i + 2]) for i in (0, 2)]


# -- geometry --------------------------------------------------------------------------------------


def _place_of(square: str) -> Place:
    """Returns the middle of a square, a1 at the bottom left."""
    return CELL * ("abcde".index(square[0]) - 2), CELL * (3 - int(square[1]))


def _square(place: Place) -> str:
    x, y = place
    return f"M{at((x - CELL / 2, y - CELL / 2))}h{number(CELL)}v{number(CELL)}h{number(-CELL)}Z"


# -- background and pieces ---------------------------------------------------------------------------


def _board(theme: Theme) -> Element:
    """Returns the squares, a1 dark, with the letters of the files and the numbers of the ranks in their corners."""
    light, dark = theme.chessmen.light, theme.chessmen.dark
    edge = 2 * (HALF_WIDTH + MARGIN) - 2
    frame = node("rect", x=-edge / 2, y=-edge / 2, width=edge, height=edge, rx=2.4, fill=theme.edge)
    all_light = node("rect", x=-HALF_WIDTH, y=-HALF_WIDTH, width=2 * HALF_WIDTH, height=2 * HALF_WIDTH, fill=light)
    squares = [_square(_place_of(name)) for name in sorted(SQUARES)[::2]]
    names = node("g", font_size=3.7, font_weight="600", text_anchor="middle")
    for i in range(5):
        color = light if i % 2 == 0 else dark
        names.append(text_node("abcde"[i], x=CELL * (i - 2) + 8.6, y=HALF_WIDTH - 1, fill=color))
        names.append(text_node(str(i + 1), x=-HALF_WIDTH + 1.8, y=CELL * (2 - i) - 6, fill=color))
    return node("g", frame, all_light, node("path", d="".join(squares), fill=dark), names)


def _piece(theme: Theme, kind: str, outline: str, white: bool) -> Element:
    side = theme.chessmen.sides[0 if white else 1]
    body = node("path", d=outline, fill=side.fill, stroke=side.outline, stroke_width=0.8, stroke_linejoin="round")
    if kind not in INSIDES:
        return node("g", body)
    strokes = node("path", d=INSIDES[kind], fill="none", stroke=side.detail, stroke_width=0.8, stroke_linecap="round")
    return node("g", body, strokes)
