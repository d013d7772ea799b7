"""Files of solutions: what is written is read, and every file that does not fit is refused with the reason."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxgames
from jaxgames import solvers


@functools.cache
def small() -> solvers.Solution[Any]:
    return solvers.solve(jaxgames.make("chinese_checkers_diamond(size=3, pieces=3)"), progress=False)


def test_saved_solution_is_read_back(tmp_path: Path) -> None:
    small().save(tmp_path / "new" / "33.npz")
    loaded = solvers.load(tmp_path / "new" / "33.npz")
    assert loaded.env == small().env
    assert loaded.counts() == small().counts()
    states = small().states_at(np.arange(small().num_states))
    np.testing.assert_array_equal(loaded.plies(states), small().plies(states))


@pytest.mark.parametrize("place", [0, 10, 100, -100, -1])
def test_altered_file_is_refused(tmp_path: Path, place: int) -> None:
    path = tmp_path / "33.npz"
    small().save(path)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"altered|no file of jaxgames\.solvers"):
        solvers.load(path)


def test_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "33.npz"
    small().save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="cut short"):
        solvers.load(path)
