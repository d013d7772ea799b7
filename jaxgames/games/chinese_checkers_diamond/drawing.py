"""The diamond: seat 0's corner on top, every row shifted by half a cell against the next.

Cell (row, col) is at x = CELL (col - row) / 2, y = ROW (row + col - (n - 1)), with its number below it.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from jaxgames.games.chinese_checkers_diamond.board import DIRECTIONS
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState
from jaxgames.render import moves
from jaxgames.render.drawing import CELL, Drawing, Motion, Place, Scene, caption_of, in_words, node, text_node
from jaxgames.render.pegs import GOAL, LAST_MOVE, RIM, ROW, holes, lines, path, peg, rounded
from jaxgames.render.theme import SEAT_NAMES, Theme

NUMBER_BELOW, NUMBER_SIZE = 12.8, 3.8  # in the gap between a peg and the two below it


def drawing(env: ChineseCheckersDiamond, theme: Theme) -> Drawing:
    """Returns the diamond of one size and its homes."""
    n = env.size
    looks = {f"seat{seat}": peg(theme, theme.seats[seat]) for seat in (0, 1)}
    goals = {f"goal{seat}": {**GOAL, "stroke": theme.seats[seat]} for seat in (0, 1)}
    height = 2 * ((n - 1) * ROW + 2 * RIM)
    return Drawing(
        name=f"diamond{n}k{env.pieces}",
        theme=theme,
        width=max(0.8 * height, (n - 1) * CELL + 4 * RIM),
        height=height,
        background=_board(env, theme),
        looks=looks,
        under={**goals, "last": {**LAST_MOVE, "stroke": theme.ink}, **moves.under(theme)},
        over=moves.over(theme),
        scene=functools.partial(_scene, env),
        cells={str(cell): place for cell, place in enumerate(_places(n))},
        contents=lambda state: in_words(env.pieces_of(state), SEAT_NAMES),
        motions=functools.partial(_motions, env),
        chosen=moves.star,
        legs=functools.partial(_legs, env),
        angles=(180, 0),
        goals=(_triangle(env, 1), _triangle(env, 0)),
        seats=theme.named_seats(2),
    )


# -- one position ----------------------------------------------------------------------------------


def _scene(env: ChineseCheckersDiamond, state: ChineseCheckersDiamondState, turn: Sequence[str]) -> Scene:
    seat, ply, places, standing = int(state.current_player), int(state.ply), _places(env.size), env.pieces_of(state)
    pieces = {places[cell]: f"seat{owner}" for cell, (owner, _) in standing.items()}
    marks = {"last": path([places[cell] for cell in _trail(env, set(standing), turn[-1])])} if turn else {}
    outcome = env.outcome(state)
    caption = caption_of(outcome, seat, ("seat0", "seat1"), SEAT_NAMES, "to move")
    for each in (seat,) if outcome.kind == "live" else outcome.winners:
        caption = dataclasses.replace(caption, text=f"{caption.text} · ply {ply}")
        marks[f"goal{each}"] = _triangle(env, 1 - each)
    return Scene(caption, pieces, marks)


def _trail(env: ChineseCheckersDiamond, occupied: set[int], move: str) -> list[int]:
    """Returns the path of the piece that moved last, as cells: a shortest one if there are several."""
    found = re.fullmatch(r"(\d+)>(\d+)", move)
    if not found or any(int(cell) >= env.num_cells for cell in found.groups()):
        raise ValueError(f"expected a move '0>8' between cells below {env.num_cells}, not {move!r}")
    origin, target = map(int, found.groups())
    sources = _sources_of_hops(env.size, occupied - {target}, origin)
    if target not in sources:
        return [origin, target]
    trail = [target]
    while trail[-1] != origin:
        trail.append(sources[trail[-1]][0])
    return trail[::-1]


def _motions(env: ChineseCheckersDiamond, state: ChineseCheckersDiamondState, texts: Sequence[str]) -> list[Motion]:

    def motion(text: str) -> Motion:
        source, target = text.split(">")
        if source == target:
            return Motion(None, None, "pass", "pass, because no piece can move")
        steps = _is_step(env.size, int(source), int(target))
        return Motion(
            source, target, "step" if steps else "hop", f"{source} {'steps' if steps else 'hops'} to {target}"
        )

    return [motion(text) for text in texts]


def _is_step(size: int, cell: int, to: int) -> bool:
    """Returns whether two cells are neighbours, between which a piece steps; to all others it hops."""
    return math.dist(_places(size)[cell], _places(size)[to]) < 1.5 * CELL


def _legs(
    env: ChineseCheckersDiamond, state: ChineseCheckersDiamondState, cell: str, targets: Sequence[str]
) -> list[tuple[str, str]]:
    """Returns the steps, and the hops of all shortest chains to the other cells that a piece can reach."""
    origin = int(cell)
    sources = _sources_of_hops(env.size, set(env.pieces_of(state)) - {origin}, origin)
    legs = [(origin, to) for to in map(int, targets) if _is_step(env.size, origin, to)]
    waiting = [to for to in map(int, targets) if (origin, to) not in legs]
    for to in waiting:  # grows by the stops on the way, each once
        legs += [(source, to) for source in sources[to]]
        waiting += [source for source in sources[to] if source != origin and source not in waiting]
    return [(str(start), str(end)) for start, end in legs]


def _sources_of_hops(n: int, occupied: set[int], origin: int) -> dict[int, list[int]]:
    """Returns, for each cell that chains from `origin` reach, the cells before it in the shortest ones."""
    sources: dict[int, list[int]] = {origin: []}
    level = [origin]
    while level:
        found: dict[int, list[int]] = {}
        for cell in level:
            for landing in _hops(n, occupied, cell):
                if landing not in sources:
                    found.setdefault(landing, []).append(cell)
        sources |= found
        level = list(found)
    return sources


def _hops(n: int, occupied: set[int], cell: int) -> list[int]:
    row, col = divmod(cell, n)
    ends = [
        ((row + 2 * down) * n + col + 2 * right, (row + down) * n + col + right)
        for down, right in DIRECTIONS
        if 0 <= row + 2 * down < n and 0 <= col + 2 * right < n
    ]
    return [landing for landing, over in ends if over in occupied and landing not in occupied]


# -- geometry --------------------------------------------------------------------------------------


@functools.lru_cache
def _places(size: int) -> list[Place]:
    cells = [divmod(cell, size) for cell in range(size * size)]
    return [(round(CELL * (col - row) / 2, 2), round(ROW * (row + col - (size - 1)), 2)) for row, col in cells]


def _triangle(env: ChineseCheckersDiamond, seat: int) -> str:
    """Returns the outline of a home, half a row away from the next cells, and wide enough for the number of the tip."""
    rows = max(cell // env.size for cell in env.home_of(0))
    up = 1 if seat == 0 else -1
    top, base = -(env.size - 1) * ROW - 1.25 * ROW, (rows - (env.size - 1)) * ROW + ROW / 2
    half = (base - top) * CELL / 2 / ROW
    return rounded([(0, up * top), (up * half, up * base), (-up * half, up * base)], 9 if rows else 7)


# -- background and pieces ---------------------------------------------------------------------------


def _board(env: ChineseCheckersDiamond, theme: Theme) -> Element:
    n, places = env.size, _places(env.size)
    tip, side = round((n - 1) * ROW + 2 * RIM, 2), (n - 1) * CELL / 2 + RIM / ROW * CELL  # no cell is there
    outline = rounded([(0, -tip), (side, 0), (0, tip), (-side, 0)], 12)
    board = node("path", d=outline, fill=theme.board, stroke=theme.edge, stroke_width=1.2)
    homes = [node("path", d=_triangle(env, seat), fill=theme.seats[seat], fill_opacity=".24") for seat in (0, 1)]
    strokes: list[list[Place]] = []
    for i in range(n):
        strokes += [[places[i * n], places[i * n + n - 1]], [places[i], places[n * n - n + i]]]
    for line in range(1, 2 * n - 2):
        left, right = min(line, n - 1), max(0, line - (n - 1))
        strokes.append([places[left * n + line - left], places[right * n + line - right]])
    numbers = node("g", fill=theme.muted, font_size=NUMBER_SIZE, text_anchor="middle")
    numbers.extend(text_node(str(cell), x=x, y=y + NUMBER_BELOW) for cell, (x, y) in enumerate(places))
    return node("g", board, *homes, lines(strokes, theme), holes(places, theme), numbers)
