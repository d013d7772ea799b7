"""Files of solutions: what is written is read, and every file that does not fit is refused with the reason."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxgames
from jaxgames import auto_reset, solvers
from jaxgames._files import write_file
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.solvers.exact import solution
from tests.helpers.solved import solved_diamond


def small() -> solvers.Solution[Any]:
    return solved_diamond(3, 3)


def test_saved_solution_is_read_back(tmp_path: Path) -> None:
    small().save(tmp_path / "new" / "33.npz")
    loaded = solvers.load(tmp_path / "new" / "33.npz")
    assert loaded.env == small().env
    assert loaded.counts() == small().counts()
    states = small().states_at(np.arange(small().num_states))
    np.testing.assert_array_equal(loaded.plies(states), small().plies(states))


def test_file_with_one_altered_byte_is_refused(tmp_path: Path) -> None:
    """Wherever it is: in the table, in the directory of the archive, in the checksum."""
    path = tmp_path / "33.npz"
    small().save(path)
    data = path.read_bytes()
    for place in [*range(0, len(data), 8), len(data) - 1]:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ValueError, match=r"was altered|jaxgames\.solvers"):
            solvers.load(path)


def write(content: bytes) -> Callable[[Path], object]:
    """Writes other bytes in place of a solution."""
    return lambda path: path.write_bytes(content)


def cut(length: int) -> Callable[[Path], object]:
    """Writes the first bytes of a solution; a negative number leaves out that many at the end."""
    return lambda path: (small().save(path), path.write_bytes(path.read_bytes()[:length]))


def arrays(game: str = "", **entries: np.ndarray) -> Callable[[Path], object]:
    """Writes a file of a game, by default of the small one, with these arrays."""

    def write_arrays(path: Path) -> None:
        write_file(solution.SOLUTION_FILE, path, jaxgames.make(game) if game else small().env, entries)

    return write_arrays


def changed(of: Any, name: str, value: object) -> Callable[[Path], object]:
    """Writes the solution while a constant of the program has another value."""

    def write_changed(path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(of, name, value)
            small().save(path)

    return write_changed


@pytest.mark.parametrize(
    ("write_to", "named"),
    [
        (cut(-1), ["cut short"]),
        (cut(10), ["cut short"]),
        (write(b"PKs are fine"), ["is not a solution"]),
        (write(b""), ["jaxgames.solvers", "solution.save(path)"]),
        (
            changed(solution, "SOLUTION_FILE", solution.SOLUTION_FILE._replace(format=7)),
            ["has format 7", "this version reads format 1", "solve the game again"],
        ),
        (changed(ChineseCheckersDiamond, "version", 3), ["solves version 3 of chinese_checkers_diamond", "version 1"]),
        (arrays("checkers"), ["the games that can be solved", "not checkers"]),
        (
            arrays(table=np.zeros(1681, np.uint8), max_moves=np.array(8)),
            ["expected uint8[1680], one byte per position of", "not uint8[1681]"],
        ),
        (arrays(max_moves=np.array(8)), ["no table"]),
    ],
)
def test_wrong_file_is_refused(tmp_path: Path, write_to: Callable[[Path], object], named: list[str]) -> None:
    write_to(tmp_path / "33.npz")
    with pytest.raises(ValueError, match=".*".join(map(re.escape, named))):
        solvers.load(tmp_path / "33.npz")


def test_file_of_another_game_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "33.npz"
    small().save(path)
    with pytest.raises(ValueError, match=r"solves chinese_checkers_diamond\(size=3.*, not .*\(size=4"):
        solvers.load(path, jaxgames.make("chinese_checkers_diamond(size=4, pieces=3)"))
    longer = jaxgames.make("chinese_checkers_diamond(size=3, pieces=3, max_plies=9)")
    assert solvers.load(path, longer).fits(small().env)


def test_wrapped_env_is_solved_as_its_game(tmp_path: Path) -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    restarting = auto_reset(env)
    solution = solvers.solve(restarting, progress=False)
    assert solution.env == env
    solution.save(tmp_path / "12.npz")
    assert solvers.load(tmp_path / "12.npz", restarting).fits(restarting)
