"""Exact solutions, in one contract of both games: what they answer, their files, what they refuse; and known tables.

tests/games/chinese_checkers_diamond/test_solved.py compares whole diamonds with a slow solver.
"""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import auto_reset, solvers
from jaxgames._files import write_file
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.solvers.exact import solution as solutions
from tests.games.dots_and_boxes.pictures import game as boxes_game
from tests.helpers.positions import batched, board, in_chunks, read_all, stacked
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.solvers.slow_boxes import SlowBoxes

SOLVED: dict[str, Callable[[], solvers.Solution[Any]]] = {
    "boxes": lambda: solved_boxes(2, 2),
    "diamond": lambda: solved_diamond(3, 3),
}
each_game = pytest.mark.parametrize("game", SOLVED)


def every_state(solution: solvers.Solution[Any]) -> Any:
    """All positions, in the order of their indices."""
    return solution.states_at(np.arange(solution.num_states))


# -- what a solution answers -------------------------------------------------------------------------------------------


@each_game
def test_states_have_their_own_indices_and_are_those_of_their_texts(game: str) -> None:
    solution = SOLVED[game]()
    states = every_state(solution)
    indices = solution.index(states)
    assert indices.dtype == np.uint32
    np.testing.assert_array_equal(indices, np.arange(solution.num_states))
    for row in range(0, solution.num_states, 97):
        state = board(states, row)
        jax.tree.map(np.testing.assert_array_equal, solution.env.from_string(solution.env.to_string(state)), state)


@each_game
def test_children_values_and_best_actions_follow_from_the_steps_of_the_env(game: str) -> None:
    """The value is the best of all moves: their rewards, and the value after them, of the mover or the opponent."""
    solution = SOLVED[game]()
    env, states = solution.paying_env, every_state(solution)
    live = solution.is_legal(states) & ~np.asarray(states.terminated)
    masks = in_chunks(1000, batched(env).mask, states) & live[:, None]
    actions, children, is_move = solution.children(np.arange(solution.num_states))
    rows, slots = np.nonzero(is_move)
    np.testing.assert_array_equal(np.argwhere(masks), np.stack([rows, actions[rows, slots]], -1))
    after = in_chunks(1000, batched(env).step, board(states, rows), actions[rows, slots])
    np.testing.assert_array_equal(children[rows, slots], solution.index(after))
    assert (actions[~is_move] == -1).all()
    assert (children[~is_move] == 0).all()
    assert (actions.dtype, children.dtype, is_move.dtype) == (np.int32, np.uint32, np.bool_)

    to_go = np.where(after.terminated, 0, np.where(after.current_player == 0, 1, -1) * solution.value(after))
    worth = np.full(masks.shape, -np.inf)
    worth[masks] = after.rewards[:, 0] + to_go
    np.testing.assert_array_equal(solution.value(states)[live], worth.max(1)[live])
    best = masks & (worth == worth.max(1, keepdims=True))
    np.testing.assert_array_equal(solution.best_actions(states), best)
    assert best.sum() < masks.sum()


@each_game
def test_empty_batches_have_empty_results(game: str) -> None:
    solution = SOLVED[game]()
    none = solution.states_at(np.zeros(0, np.uint32))
    assert solution.value(none).shape == (0,)
    assert solution.best_actions(none).shape == (0, solution.env.num_actions)
    assert solution.children(solution.index(none)).children.shape == (0, solution.max_moves)


def test_gains_are_the_boxes_that_each_action_completes() -> None:
    slow, gains = SlowBoxes(2, 2), solved_boxes(2, 2).gains(np.arange(4096))
    assert gains.dtype == np.int8
    for drawn in range(4096):
        expected = [slow.gain(drawn, edge) for edge in slow.edges(drawn)]
        assert gains[drawn].tolist() == expected + [0] * (12 - len(expected))


def test_owners_of_boxes_alternate() -> None:
    owner = np.asarray(every_state(solved_boxes(2, 2)).owner)
    assert {*((owner == 0).sum(1) - (owner == 1).sum(1)).tolist()} == {0, 1}


def test_value_of_boxes_depends_on_the_drawn_edges_alone() -> None:
    solution, owners = solved_boxes(2, 2), ("0.1. 0", "1.1. 1", "0.0. 1")
    for reward in ("win_loss", "margin", "boxes"):
        states = read_all(boxes_game(2, 2, reward), [f"111010110110 {owner}" for owner in owners])
        assert solution.value(states).tolist() == [SlowBoxes(2, 2).value(0b011011010111)] * 3


def test_no_action_is_best_on_a_board_that_was_forfeited() -> None:
    one_edge = boxes_game(2, 2).from_string("010000000000 .... 0")
    forfeited = dataclasses.replace(one_edge, terminated=np.bool_(True))
    assert solved_boxes(2, 2).best_actions(stacked([one_edge, forfeited])).any(1).tolist() == [True, False]


# -- known tables of Dots and Boxes ------------------------------------------------------------------------------------

# SHA-256 of int8[2^E], the margins to go of all sets of edges, bit e of the index being edge e. A separate program in
# C++ computed them, one set after the other from the full board.
DIGESTS = {
    (1, 3): "8603cc2854d19f6ff53b6cde408fff42c82b370fec40e480f422e5339b77c8e5",
    (1, 4): "10a8ccddd2e7c79a2ab2d7072fdf00ae1a44be4ebbd11af7aa6119682784898a",
    (2, 2): "95d89894411b98fb3aa8322fb20fb6d18ccb423815b59793c9db46a8d6c6bd35",
    (2, 3): "8f86a26e378c2af4042b945779083c7e3d8df2def4121b771581882e370d0beb",
    (3, 2): "5a0e090e36b504e762144dceb6fc273755b93adba658e8f45c083345127e1420",
    (2, 4): "f92d9cdeec074fef5ffc80c17fb65b23e1b1460718b39efbb92a15c06fb418f7",
    (3, 3): "0becf594de3c3f3ea6c7b50138a9202d22ff6458fc4365b4730bd667fd004d11",
}
# The same program's histogram of all sets of edges of 3 x 4 boxes, from margin -12 to +12.
MARGINS_OF_3X4 = [
    386, 624, 10063, 24008, 287534, 514236, 3108182, 5121420, 19700485, 21508398, 56271526, 43713928, 99946934,
    65178182, 159172418, 123005240, 254532811, 148581648, 275699883, 211401672, 299424521, 118397484, 140554073,
    54014024, 47313968,
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        *[(1, 3), (2, 2), (2, 3)],
        *(pytest.param(*board, marks=pytest.mark.slow) for board in [(1, 4), (3, 2), (2, 4), (3, 3)]),
    ],
)
def test_table_is_that_of_another_program(rows: int, cols: int) -> None:
    assert hashlib.sha256(solved_boxes(rows, cols).table.tobytes()).hexdigest() == DIGESTS[rows, cols]


@pytest.mark.slow  # 2 GiB, and half a minute
def test_table_of_3x4_has_the_histogram_of_another_program() -> None:
    facts = solvers.solve(boxes_game(3, 4), progress=False).facts()  # not kept
    assert facts["start_value"] == 0
    assert facts["margins"] == dict(zip(range(-12, 13), MARGINS_OF_3X4, strict=True))


def test_counts_are_those_of_the_table() -> None:
    values, counts = solved_boxes(2, 2).table.tolist(), solved_boxes(2, 2).counts()
    assert counts == {
        "states": 4096,
        "won": sum(value > 0 for value in values),
        "lost": sum(value < 0 for value in values),
        "drawn": values.count(0),
        "illegal": 0,
        "margins": {margin: values.count(margin) for margin in range(-4, 5)},
    }


# -- files -------------------------------------------------------------------------------------------------------------


@each_game
def test_saved_solution_is_read_back(game: str, tmp_path: Path) -> None:
    solution = SOLVED[game]()
    solution.save(tmp_path / "new" / "file.npz")
    loaded = solvers.load(tmp_path / "new" / "file.npz", auto_reset(solution.env))
    assert (loaded.env, loaded.counts()) == (solution.env, solution.counts())
    np.testing.assert_array_equal(loaded.table, solution.table)


def test_solution_fits_games_that_differ_in_what_does_not_change_it() -> None:
    diamond, boxes = solved_diamond(3, 3), solved_boxes(2, 2)
    assert diamond.fits(auto_reset(ChineseCheckersDiamond(3, 3, max_plies=9)))
    assert not diamond.fits(ChineseCheckersDiamond(4, 3))
    assert boxes.fits(DotsAndBoxes(2, 2, "margin"))
    assert not boxes.fits(DotsAndBoxes(2, 3))


def test_file_with_one_altered_byte_is_refused(tmp_path: Path) -> None:
    """Wherever it is: in the table, in the directory of the archive, in the checksum."""
    path = tmp_path / "33.npz"
    solved_diamond(3, 3).save(path)
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
    return lambda path: (solved_diamond(3, 3).save(path), path.write_bytes(path.read_bytes()[:length]))


def arrays(game: str = "chinese_checkers_diamond(size=3)", **entries: np.ndarray) -> Callable[[Path], object]:
    """Writes a file of a game with these arrays."""
    return lambda path: write_file(solutions.SOLUTION_FILE, path, jaxgames.make(game), entries)


def changed(of: Any, name: str, value: object) -> Callable[[Path], object]:
    """Writes the solution while a constant of the program has another value."""

    def write_changed(path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(of, name, value)
            solved_diamond(3, 3).save(path)

    return write_changed


@pytest.mark.parametrize(
    ("write_to", "needles"),
    [
        (cut(-1), ["cut short"]),
        (write(b"PKs are fine"), ["not a solution"]),
        (write(b""), ["jaxgames.solvers", "solution.save(path)"]),
        (changed(solutions, "SOLUTION_FILE", solutions.SOLUTION_FILE._replace(format=7)), ["format 7", "format 1"]),
        (changed(ChineseCheckersDiamond, "version", 3), ["version 3 of chinese_checkers_diamond", "version 1"]),
        (arrays("checkers"), ["dots_and_boxes", "not checkers"]),
        (arrays(table=np.zeros(1681, np.uint8), max_moves=np.array(8)), ["uint8[1680]", "not uint8[1681]"]),
        (arrays("dots_and_boxes(rows=2, cols=2)", table=np.zeros(1024, np.int8)), ["int8[4096]", "not int8[1024]"]),
        (arrays(max_moves=np.array(8)), ["no table"]),
        (lambda path: solved_boxes(1, 3).save(path), ["rows=1, cols=3", "size=3"]),
    ],
)
def test_wrong_file_is_refused(tmp_path: Path, write_to: Callable[[Path], object], needles: list[str]) -> None:
    write_to(tmp_path / "33.npz")
    with pytest.raises(ValueError, match=r".") as error:
        solvers.load(tmp_path / "33.npz", ChineseCheckersDiamond(3, 3))
    assert all(needle in str(error.value) for needle in needles)


# -- wrong questions ---------------------------------------------------------------------------------------------------


def read(text: str, size: int = 3, pieces: int = 3) -> Any:
    """A batch of one diamond."""
    return read_all(ChineseCheckersDiamond(size, pieces), [text])


@pytest.mark.parametrize(
    ("call", "needles"),
    [
        (lambda: solved_boxes(2, 2).plies(every_state(solved_boxes(2, 2))), ["dots_and_boxes", "value(states)"]),
        (lambda: solved_boxes(2, 2).value(stacked([DotsAndBoxes(2, 3).init()])), ["rows=2, cols=2", "a batch"]),
        (lambda: solved_boxes(2, 2).value(DotsAndBoxes(2, 2).init()), ["a batch", "one board"]),
        (lambda: solved_boxes(2, 2).children(np.array([4096])), ["indices", "0 to 4095"]),
        (lambda: solved_boxes(2, 2).states_at(np.array([0.5])), ["integers", "[B]", "float64[1]"]),
        (lambda: solved_diamond(3, 3).states_at(np.array([-1])), ["indices", "0 to 1679"]),
        (lambda: solved_diamond(3, 3).value(ChineseCheckersDiamond(3, 3).init()), ["a batch", "size=3"]),
        (lambda: solved_diamond(3, 3).index(read("00./0.1/..1 0 0")), ["3 pieces", "state 0"]),
        (lambda: solved_diamond(3, 3).index(read("00.0/0.11/.111/00.1 0 0", 4, 6)), ["9 cells", "size=3"]),
        (lambda: solvers.solve(ChineseCheckersDiamond(5, 6)), ["4,805,077,200 positions", "9 GiB", "2.7 hours"]),
        (lambda: solvers.solve(jaxgames.make("checkers")), ["chinese_checkers_diamond", "not checkers"]),
        (lambda: solvers.solve(DotsAndBoxes(4, 4)), ["2^40", "32 edges", "1,024 GiB", "hours"]),
        (lambda: solvers.solve(DotsAndBoxes(16, 16)), ["2^544"]),
    ],
)
def test_wrong_question_is_refused(call: Callable[[], Any], needles: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        call()
    assert all(needle in str(error.value) for needle in needles)


def test_wrapped_env_is_solved_as_its_game() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    assert solvers.solve(auto_reset(env), progress=False).env == env
