"""The star board: triangle 0 on top, every row shifted by half a cell against the next.

Cell (q, r) is at x = CELL (q + r / 2), y = CELL (sqrt(3) / 2) r.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from jaxgames.games.chinese_checkers.board import DIRECTIONS, tables
from jaxgames.games.chinese_checkers.rules import TRIANGLES, ChineseCheckers, ChineseCheckersState
from jaxgames.render import moves
from jaxgames.render.drawing import CELL, Drawing, Motion, Place, Scene, at, caption_of, in_words, node
from jaxgames.render.pegs import GOAL, LAST_MOVE, PEG_RADIUS, RIM, ROW, holes, lines, path, peg, rounded
from jaxgames.render.theme import SEAT_NAMES, Theme


def drawing(env: ChineseCheckers, theme: Theme) -> Drawing:
    """Returns the star board of one size and its seats."""
    n = env.size
    triangles = TRIANGLES[env.num_players]
    looks = {f"seat{seat}": peg(theme, theme.seats[seat]) for seat in range(env.num_players)}
    goals = {f"goal{seat}": {**GOAL, "stroke": theme.seats[seat]} for seat in range(env.num_players)}
    line = {"stroke": theme.ink, "stroke-width": "2", "stroke-linecap": "round", "stroke-linejoin": "round"}
    dots = {"stroke": theme.ink, "stroke-linecap": "round", "stroke-width": "6"}
    return Drawing(
        name=f"star{n}p{env.num_players}",
        theme=theme,
        width=2 * (1.5 * n * CELL + RIM + 5),
        height=2 * (2 * n * ROW + RIM + 9),
        background=_board(env, theme),
        looks=looks,
        under={**goals, "last": {**LAST_MOVE, "stroke": theme.ink}, **moves.under(theme)},
        over={
            **moves.over(theme),
            "casing": {**line, "stroke": theme.hole, "stroke-width": "4.4", "stroke-opacity": ".9"},
            "chain": line,
            "stops": dots,
        },
        scene=functools.partial(_scene, env),
        cells={str(cell): place for cell, place in enumerate(_places(n))},
        contents=lambda state: in_words(env.pieces_of(state), SEAT_NAMES),
        motions=functools.partial(_motions, env),
        chosen=moves.star,
        angles=[(180 - 60 * triangle) % 360 for triangle in triangles],
        goals=[_goal(env, seat) for seat in range(env.num_players)],
        seats=theme.named_seats(env.num_players),
    )


# -- one position ----------------------------------------------------------------------------------


def _scene(env: ChineseCheckers, state: ChineseCheckersState, turn: Sequence[str]) -> Scene:
    seat, chain, rounds, places = int(state.current_player), env.chain(state), int(state.round), _places(env.size)
    pieces = {places[cell]: f"seat{owner}" for cell, (owner, _) in env.pieces_of(state).items()}

    marks: dict[str, str] = {}
    outcome, looks = env.outcome(state), [f"seat{i}" for i in range(env.num_players)]
    caption = caption_of(outcome, seat, looks, SEAT_NAMES, "may hop on" if chain else "to move")
    for each in (seat,) if outcome.kind == "live" else outcome.winners:
        caption = dataclasses.replace(caption, text=f"{caption.text} · round {rounds}")
        marks[f"goal{each}"] = _goal(env, each)

    if trail := _trail(env, turn):
        marks["last"] = path([places[cell] for cell in (trail[-2:] if chain else trail)])
    if chain:
        stops = [places[cell] for cell in chain]
        marks["casing"] = marks["chain"] = _arrow(stops)
        marks["stops"] = "".join(f"M{at(place)}h0" for place in stops[:-1])
    return Scene(caption, pieces, marks)


def _trail(env: ChineseCheckers, turn: Sequence[str]) -> list[int]:
    """Returns the path of the peg that moved last in a turn, as cells."""
    trail: list[int] = []
    for text in turn:
        if text == "end":
            continue
        found = re.fullmatch(r"(\d+)(?:->|=>)(\d+)", text)
        if not found or any(int(cell) >= env.num_cells for cell in found.groups()):
            raise ValueError(
                f"expected 'end', a step '3->14' or a hop '3=>16' of cells below {env.num_cells}, not {text!r}"
            )
        cell, to = map(int, found.groups())
        trail = [*trail, to] if trail and trail[-1] == cell else [cell, to]
    return trail


def _motions(env: ChineseCheckers, state: ChineseCheckersState, texts: Sequence[str]) -> list[Motion]:
    """Returns the parts of submoves. In a chain, the source of "end turn" is the peg that hops."""
    chain = env.chain(state)
    peg_in_chain = str(chain[-1]) if chain else None

    def motion(text: str) -> Motion:
        if text == "end":
            return Motion(peg_in_chain, None, "end turn", "end the turn")
        hops = "=>" in text
        source, target = text.split("=>" if hops else "->")
        return Motion(source, target, "hop" if hops else "step", f"{source} {'hops' if hops else 'steps'} to {target}")

    return [motion(text) for text in texts]


# -- geometry --------------------------------------------------------------------------------------


@functools.lru_cache
def _places(size: int) -> list[Place]:
    return [(round(CELL * (q + r / 2), 2), round(ROW * r, 2)) for q, r in tables(size).axial.tolist()]


def _arrow(places: Sequence[Place]) -> str:
    """Returns an arrow through the places, with its head at the edge of the peg on the last one."""
    (x0, y0), (x, y) = places[-2:]
    heading = math.atan2(y - y0, x - x0)

    def behind(distance: float, angle: float = 0.0) -> Place:
        return x - distance * math.cos(heading + angle), y - distance * math.sin(heading + angle)

    tip = behind(PEG_RADIUS + 1.2)
    return f"{path([*places[:-1], tip])}{path([behind(PEG_RADIUS + 6, 0.27), tip, behind(PEG_RADIUS + 6, -0.27)])}"


def _polar(distance: float, degrees: float) -> Place:
    """Returns the place at a distance from the middle, at an angle that grows clockwise from the right."""
    return distance * math.cos(math.radians(degrees)), distance * math.sin(math.radians(degrees))


def _triangle(size: int, triangle: int) -> str:
    """Returns the outline of a triangle of cells, half a row away from its outermost cells."""
    pointing = 60 * triangle - 90
    x, y = _polar((size + 1 + (size - 1) / 3) * ROW, pointing)
    reach = (size - 1) * CELL / math.sqrt(3) + ROW
    corners = [_polar(reach, pointing + angle) for angle in (0, 120, 240)]
    return rounded([(x + dx, y + dy) for dx, dy in corners], 9)


def _goal(env: ChineseCheckers, seat: int) -> str:
    """Returns the outline of the triangle that a seat has to fill, opposite its home."""
    return _triangle(env.size, (TRIANGLES[env.num_players][seat] + 3) % 6)


# -- background and pieces ---------------------------------------------------------------------------


def _board(env: ChineseCheckers, theme: Theme) -> Element:
    n, places = env.size, _places(env.size)
    inside = n * ROW + RIM  # from the middle to the sides of the two large triangles that make the star
    star = [_polar(2 * inside if k % 2 == 0 else inside / math.cos(math.pi / 6), 30 * k - 90) for k in range(12)]
    board = node("path", d=rounded(star, 12), fill=theme.board, stroke=theme.edge, stroke_width=1.2)
    homes = [
        node("path", d=_triangle(n, triangle), fill=theme.seats[seat], fill_opacity=".24")
        for seat, triangle in enumerate(TRIANGLES[env.num_players])
    ]
    return node("g", board, *homes, lines(_lines(n), theme), holes(places, theme))


def _lines(size: int) -> list[list[Place]]:
    """Returns every row of cells in three directions, each as one stroke."""
    t, places = tables(size), _places(size)
    strokes: list[list[Place]] = []
    for direction in (0, 1, 5):
        dq, dr = DIRECTIONS[direction]
        by_line: dict[int, list[int]] = {}
        for cell, (q, r) in enumerate(t.axial.tolist()):
            by_line.setdefault(q * dr - r * dq, []).append(cell)
        strokes += [[places[cells[0]], places[cells[-1]]] for cells in by_line.values()]
    return strokes
