"""Counts the positions of solved diamonds, with a checksum of each table, so that solvers can be compared.

    python -m jaxgames.solvers "chinese_checkers_diamond(size=4, pieces=3)" --output runs/43.npz
    python -m examples.papers.solution_strength.solved --solutions runs/43.npz

A position counts once, for the side to move.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.papers._experiment import Report, command, table_of
from jaxgames.games.chinese_checkers_diamond.solution import OUTCOMES
from jaxgames.solvers import load

COLUMNS = {
    "game": "{game}",
    "positions": "{states:,}",
    "won": "{won:,}",
    "lost": "{lost:,}",
    "drawn": "{drawn:,}",
    "illegal": "{illegal:,}",
    "most plies": "{most_plies}",
    "start": "{start}",
    "moves that keep it": "{start_best_moves} of {start_moves}",
    "SHA-256": "`{sha256}`",
}


@dataclass(frozen=True, kw_only=True)
class Arguments:
    solutions: tuple[Path, ...]
    """Files that `python -m jaxgames.solvers` wrote for `chinese_checkers_diamond`."""
    output: Path = Path("runs/papers/solution_strength/solved")
    """The folder of the results, with the table."""


def report(arguments: Arguments) -> Report:
    """Reads the solutions, one after the other."""
    rows = [facts_of(path) for path in arguments.solutions]
    return Report({"rows": rows}, table_of(rows, COLUMNS))


def facts_of(path: Path) -> dict[str, Any]:
    """Returns the facts of a solution, with the texts of the table. Raises ValueError for another game."""
    solution: Any = load(path)
    facts = solution.facts()
    if "sha256" not in facts:
        raise ValueError(f"{path} solves {facts['env']}: expected a solution of chinese_checkers_diamond")
    env = solution.env
    outcome = OUTCOMES[facts["start_value"]]
    return facts | {
        "game": f"n = {env.size}, k = {env.pieces}" + (", `tip_lock`" if env.tip_lock else ""),
        "most_plies": len(facts["plies"]) - 1,
        "start": outcome + (f" in {facts['start_plies']}" if facts["start_value"] else ""),
    }


main = command(Arguments, None, report)

if __name__ == "__main__":
    main()
