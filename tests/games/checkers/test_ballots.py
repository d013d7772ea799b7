"""The three-move ballots: those of pydraughts, and every start of three plies that costs neither side a man."""

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

import draughts
import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import games

ENV = jaxgames.make("checkers")
LINES = (Path(games.__path__[0]) / "checkers" / "ballots.txt").read_text().splitlines()
BALLOTS = [line for line in LINES if not line.startswith("#")]  # such as "9-13 21-17 5-9"
DEPTH = 4  # plies after which captures alone are searched; 5 to 8 give the same positions


@cache
def compiled() -> tuple[Any, Any]:
    return jax.jit(ENV.step), jax.jit(ENV.legal_action_mask)


@cache
def starts() -> dict[str, str]:
    """Returns the position after every legal start of three plies, by its moves."""
    step, mask = compiled()
    found = {"": jax.device_get(ENV.init())}
    for _ in range(3):
        found = {
            f"{moves} {ENV.action_to_string(state, action)}".strip(): jax.device_get(step(state, action))
            for moves, state in found.items()
            for action in np.flatnonzero(mask(state)).tolist()
        }
    return {moves: ENV.to_string(state) for moves, state in found.items()}


def test_ballots_are_different_positions_after_three_legal_plies() -> None:
    assert len(starts()) == 302
    assert len({*starts().values()}) == 216
    assert len({starts()[ballot] for ballot in BALLOTS}) == len(BALLOTS) == 174


def test_ballots_are_those_of_pydraughts() -> None:
    path = Path(draughts.__file__).parent / "ballot_files" / "3move_english.json"
    theirs = {
        tuple(tuple(map(int, move.split("-"))) for move in name.split()[1:])
        for name in json.loads(path.read_text())["all"]
    }
    ours = {tuple(tuple(map(int, move.replace("x", "-").split("-"))) for move in ballot.split()) for ballot in BALLOTS}
    assert ours == theirs


@pytest.mark.slow  # a search in plain Python
def test_ballots_are_the_positions_in_which_no_side_loses_a_man() -> None:
    even = {text for text in {*starts().values()} if forced_gain(*parsed(text), DEPTH, -12, 12) == 0}
    assert even == {starts()[ballot] for ballot in BALLOTS}


# -- men won by force, from the rules for men alone ----------------------------------------------------------------

Men = tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]  # row and column: of Black, of White
FORWARD = (1, -1)  # the direction of Black's and of White's rows


def place(number: int) -> tuple[int, int]:
    """Returns the row and the column of a square."""
    row, rest = divmod(number - 1, 4)
    return row, 2 * rest + 1 - row % 2


def parsed(text: str) -> tuple[Men, int]:
    """Returns the men and the side to move, 0 for Black, of a position without kings."""
    side, white, black = text.split(":")
    men = tuple(frozenset(place(int(number)) for number in group[1:].split(",")) for group in (black, white))
    return (men[0], men[1]), "BW".index(side)


def jumps(men: Men, side: int, start: tuple[int, int]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Returns the captured man and the target of every jump of a man."""
    row, column = start
    found = [((row + FORWARD[side], column + way), (row + 2 * FORWARD[side], column + 2 * way)) for way in (-1, 1)]
    return [(over, to) for over, to in found if over in men[1 - side] and is_empty(men, to)]


def is_empty(men: Men, square: tuple[int, int]) -> bool:
    return 0 <= square[0] < 8 and 0 <= square[1] < 8 and square not in men[0] and square not in men[1]


def changed(men: Men, side: int, start: tuple[int, int], to: tuple[int, int], over: Any = None) -> Men:
    own, others = men[side] - {start} | {to}, men[1 - side] - {over}
    return (own, others) if side == 0 else (others, own)


def captures(men: Men, side: int, start: tuple[int, int]) -> list[Men]:
    """Returns the positions after all whole captures of a man; none if it cannot capture."""
    found: list[Men] = []
    for over, to in jumps(men, side, start):
        after = changed(men, side, start, to, over)
        found += captures(after, side, to) or [after]
    return found


def forced_gain(men: Men, side: int, depth: int, low: int, high: int) -> int:
    """Returns the men that the mover can win, minus those it loses, by alpha-beta; captures are always searched."""
    after = [position for start in men[side] for position in captures(men, side, start)]
    if not after and depth <= 0:
        return len(men[side]) - len(men[1 - side])
    if not after:
        steps = itertools.product(men[side], (-1, 1))
        targets = [(start, (start[0] + FORWARD[side], start[1] + way)) for start, way in steps]
        after = [changed(men, side, start, to) for start, to in targets if is_empty(men, to)]
    best = -12
    for position in after:
        best = max(best, -forced_gain(position, 1 - side, depth - 1, -high, -max(low, best)))
        if best >= high:
            break
    return best
