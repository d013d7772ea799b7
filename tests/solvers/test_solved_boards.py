"""Solved boards: known tables and numbers, positions and moves of the diamond, retrograde analysis, and the command."""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames import solvers
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.chinese_checkers_diamond import positions as moves
from jaxgames.games.chinese_checkers_diamond import solution as diamond
from jaxgames.games.chinese_checkers_diamond.solution import DiamondSolution
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.solvers.__main__ import main
from jaxgames.solvers.exact import retrograde
from jaxgames.solvers.exact.retrograde import OPEN
from jaxgames.solvers.exact.verify import count_errors
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.positions import batched, board, in_chunks, stacked
from tests.helpers.solved import solved_boxes, solved_diamond

slow = pytest.mark.slow


def solution() -> DiamondSolution:
    return solved_diamond(3, 3)


# -- known tables of Dots and Boxes ------------------------------------------------------------------------------------

# The margin of the first player, as others have found it; and SHA-256 of int8[2^E], the margins to go of all sets of
# edges, bit e of the index being edge e. A separate program in C++ computed them, one set after the other from the full
# board.
TABLES = {
    (1, 1): (-1, None),
    (1, 2): (0, None),
    (1, 3): (-1, "8603cc2854d19f6ff53b6cde408fff42c82b370fec40e480f422e5339b77c8e5"),
    (2, 2): (2, "95d89894411b98fb3aa8322fb20fb6d18ccb423815b59793c9db46a8d6c6bd35"),
    (2, 3): (-2, "8f86a26e378c2af4042b945779083c7e3d8df2def4121b771581882e370d0beb"),
    (2, 1): (0, None),
    (1, 4): (0, "10a8ccddd2e7c79a2ab2d7072fdf00ae1a44be4ebbd11af7aa6119682784898a"),
    (3, 2): (-2, "5a0e090e36b504e762144dceb6fc273755b93adba658e8f45c083345127e1420"),
    (2, 4): (2, "f92d9cdeec074fef5ffc80c17fb65b23e1b1460718b39efbb92a15c06fb418f7"),
    (3, 3): (-3, "0becf594de3c3f3ea6c7b50138a9202d22ff6458fc4365b4730bd667fd004d11"),
}
# The same program's histogram of all sets of edges of 3 x 4 boxes, from margin -12 to +12.
MARGINS_OF_3X4 = [
    386, 624, 10063, 24008, 287534, 514236, 3108182, 5121420, 19700485, 21508398, 56271526, 43713928, 99946934,
    65178182, 159172418, 123005240, 254532811, 148581648, 275699883, 211401672, 299424521, 118397484, 140554073,
    54014024, 47313968,
]  # fmt: skip


@pytest.mark.parametrize("size", [*[*TABLES][:5], *(pytest.param(size, marks=slow) for size in [*TABLES][5:])])
def test_table_is_that_of_another_program(size: tuple[int, int]) -> None:
    margin, digest = TABLES[size]
    assert solved_boxes(*size).facts()["start_value"] == margin
    assert digest in (None, hashlib.sha256(solved_boxes(*size).table.tobytes()).hexdigest())


@slow  # 2 GiB, and half a minute
def test_table_of_3x4_has_the_histogram_of_another_program() -> None:
    facts = solvers.solve(DotsAndBoxes(3, 4), progress=False).facts()  # not kept
    assert facts["start_value"] == 0
    assert facts["margins"] == dict(zip(range(-12, 13), MARGINS_OF_3X4, strict=True))


def test_counts_are_those_of_the_table() -> None:
    values, counts = solved_boxes(2, 2).table.tolist(), solved_boxes(2, 2).counts()
    signs = {
        "won": sum(value > 0 for value in values),
        "lost": sum(value < 0 for value in values),
        "drawn": values.count(0),
    }
    margins = {margin: values.count(margin) for margin in range(-4, 5)}
    assert counts == {"states": 4096, **signs, "illegal": 0, "margins": margins}


# -- known numbers of the diamond --------------------------------------------------------------------------------------

# Size, pieces, tip_lock; states, won, lost, drawn, illegal; value and plies of the start, longest win. 4 x 4: Ahmad,
# Sturtevant & Bowling, table 1. Also known from elsewhere: the draws of 5 x 5, the longest wins, the win in 33.
KNOWN = [
    ((3, 3, False), (1_680, 720, 580, 0, 380), (1, 7), 7),
    ((4, 3, False), (160_160, 96_875, 57_851, 0, 5_434), (1, 21), 22),
    ((5, 3, False), (3_542_000, 2_105_590, 1_394_132, 13_018, 29_260), (1, 29), 31),
    ((4, 6, True), (1_681_680, 877_249, 558_910, 42_811, 202_710), (1, 33), 38),
]


def start_of(*parameters: Any) -> Any:
    """The start as a batch of one state."""
    return stacked([solved_diamond(*parameters).env.init()])


@pytest.mark.parametrize(
    ("parameters", "counts", "start", "longest"),
    [KNOWN[0], KNOWN[3], *(pytest.param(*row, marks=slow) for row in KNOWN[1:3])],
)
def test_numbers_of_states_and_plies_are_the_known_ones(
    parameters: tuple[int, int, bool], counts: tuple[int, ...], start: tuple[int, int], longest: int
) -> None:
    """Counted for the mover. In every one of these games the first player wins."""
    solved = solved_diamond(*parameters)
    found = solved.counts()
    assert tuple(found[name] for name in ("states", "won", "lost", "drawn", "illegal")) == counts
    assert len(found["plies"]) - 1 == longest
    assert sum(found["plies"]) == found["won"] + found["lost"]
    assert (solved.value(start_of(*parameters)), solved.plies(start_of(*parameters))) == start


@slow
def test_start_of_4_x_4_with_6_pieces_is_a_draw_without_the_tip_lock() -> None:
    assert (solved_diamond(4, 6).value(start_of(4, 6)), solved_diamond(4, 6).plies(start_of(4, 6))) == (0, -1)


@slow
def test_four_of_the_six_first_moves_win_on_4_x_4() -> None:
    solved, start = solved_diamond(4, 3), start_of(4, 3)
    _, children, live = solved.children(solved.index(start))
    assert (live.sum(), solved.best_actions(start).sum()) == (6, 4)
    assert np.count_nonzero(solved.value(solved.states_at(children[live])) == -1) == 4


# -- positions and moves of the diamond --------------------------------------------------------------------------------

PARTIAL = 1000  # positions of a board that is too large to test them all


def unsolved(size: int, pieces: int, tip_lock: bool = False) -> DiamondSolution:
    """Every position open: good for numbers and moves."""
    env = ChineseCheckersDiamond(size, pieces, tip_lock=tip_lock)
    return DiamondSolution(env, np.full(moves.num_positions(env), OPEN), max_moves=64)


def test_numbers_of_positions_are_colexicographic() -> None:
    """The first position has the lowest cells, the mover's first; the last one has the highest."""
    states = [ChineseCheckersDiamond(3, 3).from_string(text) for text in ("000/111/... 0 0", ".../111/000 0 0")]
    assert solution().index(stacked(states)).tolist() == [0, 1679]


@pytest.mark.parametrize(
    ("size", "pieces", "tip_lock"),
    [
        (4, 6, True),  # every rule
        *(
            pytest.param(*parameters, marks=slow)
            for parameters in [(2, 1, False), (4, 3, False), (4, 6, False), (6, 3, False), (7, 3, False), (9, 1, False)]
        ),
    ],
)
def test_moves_of_random_positions_are_those_of_the_env(size: int, pieces: int, tip_lock: bool) -> None:
    """The cells of these boards are one to three words."""
    unknown = unsolved(size, pieces, tip_lock)
    env = unknown.env

    @jax.jit
    def ends(indices: jax.Array) -> tuple[jax.Array, jax.Array]:
        position = moves.position_at(env, indices)
        return moves.is_illegal(env, *position), moves.is_lost(env, *position)

    indices = np.random.default_rng(1).integers(0, unknown.num_states, PARTIAL).astype(np.uint32)
    illegal, lost = in_chunks(PARTIAL, ends, indices)
    np.testing.assert_array_equal(unknown.index(unknown.states_at(indices)), indices)
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


def test_position_with_more_moves_than_a_byte_counts_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diamond, "MAX_MOVES", 7)
    with pytest.raises(RuntimeError, match="has 8 moves, more than one byte can count"):
        solvers.solve(ChineseCheckersDiamond(3, 3), progress=False)


# -- the check against the rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solved", "parameters", "number"),
    [
        (solved_boxes, (2, 2), 10_000),  # nine in ten of the sets of edges
        (solved_diamond, (3, 3), 10_000),
        *(pytest.param(solved_boxes, size, 20_000, marks=slow) for size in [(2, 3), (1, 4), (3, 3)]),
        *(pytest.param(solved_diamond, row[0], 20_000, marks=slow) for row in KNOWN[1:]),
        pytest.param(solved_diamond, (4, 6), 20_000, marks=slow),
        pytest.param(solved_diamond, (9, 1), 20_000, marks=slow),  # three words of cells
    ],
)
def test_values_of_random_positions_follow_from_the_moves_of_the_env(solved: Any, parameters: Any, number: int) -> None:
    assert count_errors(solved(*parameters), number, progress=False) == 0


def test_check_finds_one_wrong_value() -> None:
    wrong = copy.copy(solved_boxes(2, 2))
    vars(wrong)["table"] = solved_boxes(2, 2).table.copy()
    vars(wrong)["table"][17] += 1
    assert count_errors(wrong, 10_000, progress=False) > 0


@pytest.mark.parametrize(("entry", "wrong"), [(3, 2), (3, 5), (4, 6), (2, 255), (2, 254), (0, 254), (0, 1)])
def test_check_finds_positions_that_do_not_follow_from_their_moves(entry: int, wrong: int) -> None:
    table = np.where(solution().table == entry, np.uint8(wrong), solution().table)
    altered = DiamondSolution(solution().env, table, solution().max_moves)
    assert count_errors(altered, 300, progress=False) > 0


# -- retrograde analysis -----------------------------------------------------------------------------------------------


def test_table_does_not_depend_on_its_blocks_and_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last block and the last chunk are not full."""
    monkeypatch.setattr(retrograde, "BLOCK", 101)
    monkeypatch.setattr(diamond, "CHUNK", 64)
    found = solvers.solve(ChineseCheckersDiamond(3, 3), progress=False).table
    np.testing.assert_array_equal(found, solution().table)


def test_position_without_an_end_within_the_byte_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrograde, "MAX_PLIES", 6)
    with pytest.raises(RuntimeError, match="a position ends after 6 plies, and"):
        solvers.solve(ChineseCheckersDiamond(3, 3), progress=False)


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
        solvers.solve(ChineseCheckersDiamond(3, 3), progress=False, unfinished=unfinished)
    with pytest.raises(ValueError, match="is not finished"):
        solvers.load(unfinished)
    with pytest.raises(ValueError, match=r"holds no unfinished analysis of chinese_checkers_diamond\(size=4"):
        solvers.solve(ChineseCheckersDiamond(4, 3), progress=False, unfinished=unfinished)
    resumed = solvers.solve(ChineseCheckersDiamond(3, 3), progress=False, unfinished=unfinished)
    assert sweeps[:6] == [1, 2, 3, 4, 4, 5]
    resumed.save(tmp_path / "resumed.npz")
    solution().save(tmp_path / "33.npz")
    assert (tmp_path / "resumed.npz").read_bytes() == (tmp_path / "33.npz").read_bytes()
    assert not unfinished.exists()


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
    assert "--check must be 0 or the number" in error_of(main, "chinese_checkers_diamond(size=3)", "--check", -1)
