"""The loss of moves by the stage of the game: by the number of the mover's turn, and by the pieces on the board.

    rows = stages(turn for game in games for turn in annotate(game, depth=6))

For checkers, with the values of alpha-beta.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgames.arena import wilson
from train.analyse.annotation import Turn
from train.driver.metrics import rounded

TURNS = {"1-10": 10, "11-20": 20, "21-30": 30, "31-40": 40, "41+": 1 << 30}  # stage: its last turn, of the mover's own
PIECES = {"21-24": 20, "17-20": 16, "13-16": 12, "9-12": 8, "5-8": 4, "2-4": 0}  # stage: it has more pieces than this
ALL = "all"
EVEN = 2.0  # men; a board is even if its best move is worth less for either side
Stage = dict[str, Any]


def stages(turns: Iterable[Turn]) -> list[Stage]:
    """Returns a row for all turns, for each stage by turn, and for each stage by pieces; those without turns are left
    out.

    A row has `by` ("turn", "pieces" or "all"), `stage`, and of its turns

        turns          their number
        lost           men lost per turn; a win or a loss that the search has seen counts 10 men
        blunders       the number of blunders
        even           the turns that begin on an even board, whose value is below two men for either side
        even_blunders  the blunders among them
        even_interval  the 95 % Wilson interval of their share

    Every turn must have the values of alpha-beta.
    """
    every = list(turns)
    rows = [_row("all", ALL, every)] if every else []
    for by, limits, stage_of in (("turn", TURNS, _turn_stage), ("pieces", PIECES, _pieces_stage)):
        found = [stage_of(turn) for turn in every]
        for stage in limits:
            own = [turn for turn, other in zip(every, found, strict=True) if other == stage]
            rows += [_row(by, stage, own)] if own else []
    return rows


def _turn_stage(turn: Turn) -> str:
    own = (turn.number + 1) // 2  # the seats take turns
    return next(stage for stage, last in TURNS.items() if own <= last)


def _pieces_stage(turn: Turn) -> str:
    assert turn.pieces is not None
    return next((stage for stage, below in PIECES.items() if turn.pieces > below), [*PIECES][-1])


def _row(by: str, stage: str, turns: Sequence[Turn]) -> Stage:
    even = [turn for turn in turns if turn.before is not None and abs(turn.before) < EVEN]
    even_blunders = sum(turn.blunder for turn in even)
    return {
        "by": by,
        "stage": stage,
        "turns": len(turns),
        "lost": round(float(np.mean([turn.lost or 0.0 for turn in turns])), 4),
        "blunders": sum(turn.blunder for turn in turns),
        "even": len(even),
        "even_blunders": even_blunders,
        "even_interval": rounded(list(wilson(even_blunders, len(even)))),
    }


COLUMNS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "turns": lambda row: f"{row['turns']:,}",
    "men lost per turn": lambda row: f"{row['lost']:.2f}",
    "blunders": lambda row: f"{row['blunders'] / row['turns']:.3f}",
    "turns on even boards": lambda row: f"{row['even']:,}",
    "blunders there": lambda row: (
        f"{row['even_blunders'] / row['even']:.3f} ({row['even_interval'][0]:.3f}-{row['even_interval'][1]:.3f})"
        if row["even"]
        else ""
    ),
}
"""The columns of a table of stages, by their heads."""
