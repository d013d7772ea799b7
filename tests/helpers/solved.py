"""Games that are solved once per process; no test changes their tables."""

import functools

from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.chinese_checkers_diamond.solution import DiamondSolution
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.solution import DotsAndBoxesSolution


@functools.cache
def solved_diamond(size: int, pieces: int, tip_lock: bool = False, /) -> DiamondSolution:
    return DiamondSolution.solve(ChineseCheckersDiamond(size, pieces, tip_lock=tip_lock), progress=False)


@functools.cache
def solved_boxes(rows: int, cols: int, /) -> DotsAndBoxesSolution:
    return DotsAndBoxesSolution.solve(DotsAndBoxes(rows, cols), progress=False)
