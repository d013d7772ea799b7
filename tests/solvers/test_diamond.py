"""The solver of the diamond: numbers of positions, moves, progress that is kept, and the check against the rules.

`tests/games/chinese_checkers_diamond/test_solved.py` compares whole solutions with a slow solver and known numbers.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import solvers
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.chinese_checkers_diamond import positions as moves
from jaxgames.games.chinese_checkers_diamond import solution as diamond
from jaxgames.games.chinese_checkers_diamond.solution import DiamondSolution
from jaxgames.solvers.__main__ import main
from jaxgames.solvers.exact import retrograde
from jaxgames.solvers.exact.retrograde import NONE, OPEN
from jaxgames.solvers.exact.verify import count_errors
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.positions import batched, board, in_chunks, stacked
from tests.helpers.solved import solved_diamond

PARTIAL = 1000  # positions of a board that is too large to test them all


def game(size: int, pieces: int, **parameters: Any) -> ChineseCheckersDiamond:
    return ChineseCheckersDiamond(size=size, pieces=pieces, **parameters)


def solution() -> DiamondSolution:
    return solved_diamond(3, 3)


def unsolved(size: int, pieces: int, tip_lock: bool = False) -> DiamondSolution:
    """Every position open: good for numbers and moves."""
    env = game(size, pieces, tip_lock=tip_lock)
    return DiamondSolution(env, np.full(moves.num_positions(env), OPEN), max_moves=64)


# -- numbers of positions ----------------------------------------------------------------------------------------------


def test_numbers_of_positions_are_colexicographic() -> None:
    """The first position has the lowest cells, the mover's first; the last one has the highest."""
    env = game(3, 3)
    first, last = (jax.device_get(env.from_string(text)) for text in ("000/111/... 0 0", ".../111/000 0 0"))
    assert solution().index(stacked([first, last])).tolist() == [0, 1679]


def test_sides_change_places_after_a_pass() -> None:
    env = game(3, 3)
    before, after = (env.from_string(f"00./0.1/1.1 {seat} 0") for seat in (0, 1))
    passed = jax.jit(lambda i: moves.index_of(env, *moves.after_pass(env, *moves.position_at(env, i))))(
        solution().index(stacked([before, after]))
    )
    assert passed.tolist() == solution().index(stacked([after, before])).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "pieces"), [(2, 1), (4, 6), (6, 3), (7, 3), (9, 1)])  # one to three words of cells
def test_states_of_other_boards_have_their_own_indices(size: int, pieces: int) -> None:
    unknown = unsolved(size, pieces)
    indices = np.random.default_rng(0).integers(0, unknown.num_states, PARTIAL)
    np.testing.assert_array_equal(unknown.index(unknown.states_at(indices)), indices)


def test_seat_1_has_the_index_of_the_rotated_position() -> None:
    env = game(3, 3)
    positions = ["00./0.1/.11 0 0", "00./0.1/.11 1 0", "11./1.0/.00 1 5", "11./1.0/.00 0 0"]  # the last two: colours
    a, b, c, d = solution().index(stacked(env.from_string(text) for text in positions)).tolist()
    assert (a, d) == (b, c)
    assert a != c


# -- moves -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "pieces", "tip_lock"),
    [
        (4, 6, True),  # every rule
        *(
            pytest.param(*parameters, marks=pytest.mark.slow)
            for parameters in [(2, 1, False), (4, 3, False), (4, 6, False), (5, 3, False), (6, 3, False), (9, 1, False)]
        ),
    ],
)
def test_moves_of_random_positions_are_those_of_the_env(size: int, pieces: int, tip_lock: bool) -> None:
    unknown = unsolved(size, pieces, tip_lock)
    env = unknown.env

    @jax.jit
    def ends(indices: jax.Array) -> tuple[jax.Array, jax.Array]:
        position = moves.position_at(env, indices)
        return moves.is_illegal(env, *position), moves.is_lost(env, *position)

    indices = np.random.default_rng(1).integers(0, unknown.num_states, PARTIAL).astype(np.uint32)
    illegal, lost = in_chunks(PARTIAL, ends, indices)
    indices = indices[~(illegal | lost)]

    states = unknown.states_at(indices)
    actions, children, live = unknown.children(indices)
    rows, slots = np.nonzero(live)
    masks = in_chunks(PARTIAL, batched(env).mask, states)
    np.testing.assert_array_equal(np.argwhere(masks), np.stack([rows, actions[rows, slots]], -1))
    after = in_chunks(PARTIAL, batched(env).step, board(states, rows), actions[rows, slots])
    np.testing.assert_array_equal(unknown.index(after), children[rows, slots])
    illegal, lost = in_chunks(PARTIAL, ends, children[rows, slots])
    assert not illegal.any()
    np.testing.assert_array_equal(lost, after.terminated)


def test_player_without_a_move_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No solvable board has such a position, so the moves are taken away."""

    def none(env: Any, own: Any, other: Any) -> Any:
        pieces, targets = targets_of_pieces(env, own, other)
        return pieces, targets - targets

    targets_of_pieces = moves.targets_of_pieces
    monkeypatch.setattr(moves, "targets_of_pieces", none)
    unknown, env = unsolved(3, 3), game(3, 3)
    before, after = (env.from_string(f"00./0.1/1.1 {seat} 0") for seat in (0, 1))
    nothing = (jnp.zeros((3, 1), jnp.uint32), jnp.zeros((3, 1), jnp.int32), jnp.zeros((3, 1), jnp.int32))

    def add(carry: Any, *move: Any) -> Any:
        return tuple(total + part.astype(total.dtype) for total, part in zip(carry, move, strict=True))

    children, cells, live = jax.jit(lambda i: moves.fold_children(env, *moves.position_at(env, i), add, nothing))(
        unknown.index(stacked([before]))
    )
    assert live.tolist() == [[1], [0], [0]]  # the pass is the only move
    assert cells[0].tolist() == [-1]
    assert children[0].tolist() == unknown.index(stacked([after])).tolist()
    places = unknown.index(stacked([before, after]))
    order = diamond.DiamondOrder(env, rows=1)
    slots, rows = jax.jit(order.before)(places)
    assert rows == 1
    assert jax.jit(order.place)(slots[0, 0]).tolist() == places[::-1].tolist()  # each comes before the other


@pytest.mark.parametrize(
    ("size", "pieces", "tip_lock"), [(4, 6, True), pytest.param(9, 1, False, marks=pytest.mark.slow)]
)
def test_moves_are_taken_back(size: int, pieces: int, tip_lock: bool) -> None:
    """Of random legal positions: each follows from the positions before it, and comes before those that follow it."""
    env = game(size, pieces, tip_lock=tip_lock)
    indices = np.random.default_rng(0).integers(0, moves.num_positions(env), 300).astype(np.uint32)
    order = diamond.DiamondOrder(env, rows=size * size)
    place, taken_back = jax.jit(order.place), jax.jit(order.before)
    assert (np.asarray(place(place(indices))) == indices).all()

    indices = indices[~np.asarray(jax.jit(lambda i: moves.is_illegal(env, *moves.position_at(env, i)))(indices))]

    @jax.jit
    def is_open(places: jax.Array) -> jax.Array:
        position = moves.position_at(env, places)
        return ~(moves.is_lost(env, *position) | moves.is_illegal(env, *position))

    def before(places: np.ndarray) -> np.ndarray:
        """[B, M], the places of open positions before; NONE for all others."""
        slots, rows = taken_back(places)
        found = np.moveaxis(np.asarray(slots)[: int(rows)], -1, 0).reshape(len(places), -1)
        earlier = np.asarray(place(found))
        return np.where((found != NONE) & np.asarray(is_open(earlier)), earlier, NONE)

    def after(places: np.ndarray) -> np.ndarray:
        _, children, live = diamond.children_of(env, 4 * size * size, places)
        return np.where(np.asarray(live) & np.asarray(is_open(places))[:, None], np.asarray(children), NONE)

    for there, back in ((after, before), (before, after)):
        found = there(indices)
        rows, columns = np.nonzero(found != NONE)
        some = np.linspace(0, len(rows) - 1, len(indices)).astype(int)
        start, end = indices[rows[some]], found[rows[some], columns[some]]
        assert ((back(end) == start[:, None]).sum(-1) == 1).all()


def test_position_with_more_moves_than_a_byte_counts_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diamond, "MAX_MOVES", 7)
    with pytest.raises(RuntimeError, match="has 8 moves, more than one byte can count"):
        solvers.solve(game(3, 3), progress=False)


# -- analysis ----------------------------------------------------------------------------------------------------------


def test_killed_analysis_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed while it sweeps for the fourth time, and resumes after the sweeps that the file has."""
    unfinished = tmp_path / "33.npz.unfinished"
    monkeypatch.setattr(diamond, "SECONDS_BETWEEN_SAVES", -1.0)
    sweep = retrograde.sweep
    sweeps: list[int] = []

    def killed(table: Any, moves_left: Any, order: Any, chunk: int, plies: int, update: Any) -> int:
        found = sweep(table, moves_left, order, chunk, plies, update)
        sweeps.append(plies)
        if len(sweeps) == 4:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(retrograde, "sweep", killed)
    with pytest.raises(KeyboardInterrupt):
        solvers.solve(game(3, 3), progress=False, unfinished=unfinished)
    with pytest.raises(ValueError, match="is not finished"):
        solvers.load(unfinished)
    with pytest.raises(ValueError, match=r"holds no unfinished analysis of chinese_checkers_diamond\(size=4"):
        solvers.solve(game(4, 3), progress=False, unfinished=unfinished)
    resumed = solvers.solve(game(3, 3), progress=False, unfinished=unfinished)
    assert sweeps[:6] == [1, 2, 3, 4, 4, 5]
    resumed.save(tmp_path / "resumed.npz")
    solution().save(tmp_path / "33.npz")
    assert (tmp_path / "resumed.npz").read_bytes() == (tmp_path / "33.npz").read_bytes()
    assert not unfinished.exists()


@pytest.mark.parametrize(("entry", "wrong"), [(3, 2), (3, 5), (4, 6), (2, 255), (2, 254), (0, 254), (0, 1)])
def test_check_finds_positions_that_do_not_follow_from_their_moves(entry: int, wrong: int) -> None:
    table = np.where(solution().table == entry, np.uint8(wrong), solution().table)
    altered = DiamondSolution(solution().env, table, solution().max_moves)
    assert count_errors(altered, 300, progress=False) > 0


# -- the command -------------------------------------------------------------------------------------------------------


def test_command_prints_the_table_before_its_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "33.npz"
    text = "chinese_checkers_diamond(size=3, pieces=3)"
    assert run_command(main, text, "--output", path, "--check", 100) is None
    printed, shown = capsys.readouterr()
    assert "1,680 positions, tables of" in shown
    assert [line.split()[-1] for line in printed.splitlines()[:5]] == ["3,360", "1,300", "1,300", "0", "760"]
    assert "The start is won for seat 0 in 7 plies; 2 of its 6 moves keep this value." in printed
    result = json.loads(printed.splitlines()[-1])
    assert result | {"start_value": 1, "start_plies": 7, "won": 720, "checked": 100, "errors": 0} == result
    assert solvers.load(path).counts() == solution().counts()
    assert result["sha256"] == hashlib.sha256(bytes(solution().table.tolist())).hexdigest()
    assert [found.name for found in tmp_path.iterdir()] == ["33.npz"]
    assert run_command(main, path) is None
    again = last_json(capsys)
    assert again["plies"] == result["plies"]


def test_command_refuses_what_it_cannot_solve() -> None:
    assert "the games that can be solved" in error_of(main, "checkers")
    assert "4,805,077,200 positions" in error_of(main, "chinese_checkers_diamond(size=5, pieces=6)")
    assert "--check must be 0 or the number" in error_of(main, "chinese_checkers_diamond(size=3)", "--check", -1)
