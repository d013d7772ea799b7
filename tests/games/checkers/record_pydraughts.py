"""Random games of pydraughts as PDN: `python -m tests.games.checkers.record_pydraughts` writes the file in tests/data.

pydraughts shares no code with jaxgames. It leaves out the squares between in a capture, unless two captures would look
the same. The header `Final` is the position after the last move.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from draughts import Board
from draughts.PDN import PDNWriter

FILE = Path(__file__).parents[2] / "data" / "pdn" / "pydraughts.pdn"
CAPTURES = "W:W9,27,30,31,K32:BK6,K10,15,17,18,23,K25"  # kings and men in reach of each other
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")


def random_game(seed: int, start: str = "startpos", plies: int = 80) -> str:
    """The PDN of a random game that ends by the rules or after so many turns."""
    rng = random.Random(seed)
    board = Board(variant="american", fen=start)
    while not board.is_over() and len(board.move_stack) < plies:
        board.push(rng.choice(list(board.legal_moves())))
    headers: dict[str, str | int] = {"Event": f"random game {seed}", "Final": board.fen}
    result = RESULTS[seed % len(RESULTS)]
    return PDNWriter("", board=board, tags=headers, game_ending=result).pdn_text


def random_games(seeds: Sequence[int]) -> str:
    """Every third game begins in the middle."""
    return "".join(random_game(seed, CAPTURES if seed % 3 == 2 else "startpos") for seed in seeds)


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(random_games(range(12)))
