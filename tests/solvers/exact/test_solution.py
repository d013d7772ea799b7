"""Files of solutions: what is written is read, and every file that does not fit is refused with the reason."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import auto_reset, solvers
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
        with pytest.raises(ValueError, match=r"was altered|no file of jaxgames\.solvers"):
            solvers.load(path)


def test_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "33.npz"
    small().save(path)
    data = path.read_bytes()
    for length in (len(data) - 1, len(data) // 2, 10):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match="cut short"):
            solvers.load(path)


def test_file_that_is_no_solution_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("PKs are fine")
    np.savez(tmp_path / "other.npz", table=np.zeros(3))
    (tmp_path / "empty").write_bytes(b"")
    for name, problem in (("text", "is no solution"), ("other.npz", "is no solution"), ("empty", "is not a file of")):
        with pytest.raises(ValueError, match=problem):
            solvers.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        solvers.load(tmp_path / "missing.npz")


def test_file_of_another_format_or_version_of_the_game_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "33.npz"
    with monkeypatch.context() as patch:
        patch.setattr(solution, "FORMAT", 7)
        small().save(path)
    with pytest.raises(ValueError, match="has format 7, and this version reads format 1: solve the game again"):
        solvers.load(path)
    with monkeypatch.context() as patch:
        patch.setattr(type(small().env), "version", 3)
        small().save(path)
    with pytest.raises(ValueError, match=r"solves version 3 of chinese_checkers_diamond.* this is version 1"):
        solvers.load(path)


def test_file_of_another_game_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "33.npz"
    small().save(path)
    with pytest.raises(ValueError, match=r"solves chinese_checkers_diamond\(size=3.*, not .*\(size=4"):
        solvers.load(path, jaxgames.make("chinese_checkers_diamond(size=4, pieces=3)"))
    assert solvers.load(path, jaxgames.make("chinese_checkers_diamond(size=3, pieces=3, max_plies=9)")).fits(
        small().env
    )
    solution.write_file(path, jaxgames.make("checkers"), {})
    with pytest.raises(ValueError, match="the games that can be solved, not checkers"):
        solvers.load(path)


def test_file_with_a_table_of_another_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "33.npz"
    solution.write_file(path, small().env, {"table": np.zeros(1681, np.uint8), "max_moves": np.array(8)})
    with pytest.raises(ValueError, match=r"expected uint8\[1680\], one byte per position of .*, not uint8\[1681\]"):
        solvers.load(path)
    solution.write_file(path, small().env, {"max_moves": np.array(8)})
    with pytest.raises(ValueError, match=r"holds no table .*"):
        solvers.load(path)


def test_wrapped_env_is_solved_as_its_game(tmp_path: Path) -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    restarting = auto_reset(env)
    solution = solvers.solve(restarting, progress=False)
    assert solution.env == env
    solution.save(tmp_path / "12.npz")
    assert solvers.load(tmp_path / "12.npz", restarting).fits(restarting)
    states = jax.vmap(restarting.init)(jax.random.split(jax.random.key(0), 3))
    for action in range(env.num_actions):  # the last action finishes the game, and a new one begins
        assert (solution.value(states) == solution.value(states.board)).all()
        assert (solution.best_actions(states) == solution.best_actions(states.board)).all()
        assert solution.best_actions(states).any(-1).all()
        states = jax.vmap(restarting.step)(states, jnp.full(3, action))
    assert states.terminated.all()
    assert solution.best_actions(states).any(-1).all()
