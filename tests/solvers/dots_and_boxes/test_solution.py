"""Dots and Boxes solved: tables against a C++ program's and against slow plain Python, and what a solution answers."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxgames import solvers
from jaxgames.games.dots_and_boxes.solution import DotsAndBoxesSolution
from tests.games.dots_and_boxes.pictures import game, read, written
from tests.helpers.positions import stacked
from tests.helpers.solved import solved_boxes
from tests.solvers.dots_and_boxes.slow_boxes import SlowBoxes

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


def states_of(solution: DotsAndBoxesSolution) -> Any:
    """All positions, in the order of their indices."""
    return solution.states_at(np.arange(solution.num_states))


# -- the table -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        *[(1, 3), (2, 2), (2, 3)],
        *(pytest.param(*board, marks=pytest.mark.slow) for board in [(1, 4), (3, 2), (2, 4), (3, 3)]),
    ],
)
def test_table_is_that_of_another_program(rows: int, cols: int) -> None:
    assert hashlib.sha256(solved_boxes(rows, cols).table.tobytes()).hexdigest() == DIGESTS[rows, cols]


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 2)])
def test_table_is_that_of_a_recursion_in_plain_python(rows: int, cols: int) -> None:
    slow = SlowBoxes(rows, cols)
    assert solved_boxes(rows, cols).table.tolist() == [slow.value(drawn) for drawn in range(slow.full + 1)]


@pytest.mark.slow  # 2 GiB, and half a minute
def test_table_of_3x4_has_the_histogram_of_another_program() -> None:
    facts = solvers.solve(game(3, 4), progress=False).facts()  # not kept
    assert facts["start_value"] == 0
    assert facts["margins"] == dict(zip(range(-12, 13), MARGINS_OF_3X4, strict=True))


def test_counts_are_those_of_the_table() -> None:
    slow, counts = SlowBoxes(2, 2), solved_boxes(2, 2).counts()
    values = [slow.value(drawn) for drawn in range(slow.full + 1)]
    assert counts == {
        "states": 4096,
        "won": sum(value > 0 for value in values),
        "lost": sum(value < 0 for value in values),
        "drawn": values.count(0),
        "illegal": 0,
        "margins": {margin: values.count(margin) for margin in range(-4, 5)},
    }


@pytest.mark.parametrize(
    ("rows", "cols", "message"),
    [
        (4, 4, r"has 2\^40 = 1,099,511,627,776 sets of edges, and boards of at most 32 edges .* 1,024 GiB .* hours"),
        (2, 7, r"has 2\^37 = .* it would take 128 GiB"),
        (16, 16, r"has 2\^544 = "),
    ],
)
def test_larger_board_is_refused_with_what_it_would_take(rows: int, cols: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solvers.solve(game(rows, cols), progress=False)


# -- what it answers -----------------------------------------------------------------------------------------------


def test_value_depends_on_the_drawn_edges_alone() -> None:
    solution, slow = solved_boxes(2, 2), SlowBoxes(2, 2)
    picture = """
        *---*---*
        | {} |   |
        *---*   *
        |
        *   *---*
    """
    for reward in ("win_loss", "margin", "boxes"):
        states = [read(game(2, 2, reward), picture.format(owner), seat) for owner in (0, 1) for seat in (0, 1)]
        values = [solution.value(stacked([state])).item() for state in states]
        drawn = int(written(picture.format(0)).split()[0][::-1], 2)
        assert values == [slow.value(drawn)] * 4


def test_best_actions_are_the_legal_ones_that_keep_the_value() -> None:
    solution, slow = solved_boxes(2, 2), SlowBoxes(2, 2)
    best = solution.best_actions(states_of(solution))
    assert best.shape == (4096, 12)
    assert best.dtype == np.bool_
    assert [np.flatnonzero(row).tolist() for row in best] == [slow.best_edges(drawn) for drawn in range(4096)]


def test_no_action_is_best_on_a_finished_board() -> None:
    """Edges are left to draw: the game was forfeited."""
    one_edge = game(2, 2).from_string("010000000000 .... 0")
    forfeited = dataclasses.replace(one_edge, terminated=np.bool_(True))
    assert solved_boxes(2, 2).best_actions(stacked([one_edge])).any()
    assert not solved_boxes(2, 2).best_actions(stacked([forfeited])).any()


def test_children_follow_the_rules() -> None:
    solution, slow = solved_boxes(2, 2), SlowBoxes(2, 2)
    indices = np.arange(4096)
    actions, children, live = solution.children(indices)
    gains = solution.gains(indices)
    assert (actions.dtype, children.dtype, live.dtype, gains.dtype) == (np.int32, np.uint32, np.bool_, np.int8)
    for drawn in range(4096):
        edges = slow.edges(drawn)
        none = solution.max_moves - len(edges)
        assert actions[drawn].tolist() == edges + [-1] * none
        assert children[drawn].tolist() == [drawn | 1 << edge for edge in edges] + [0] * none
        assert live[drawn].tolist() == [True] * len(edges) + [False] * none
        assert gains[drawn].tolist() == [slow.gain(drawn, edge) for edge in edges] + [0] * none


def test_states_follow_from_their_index() -> None:
    env, solution = game(2, 2), solved_boxes(2, 2)
    indices = np.array([0, 1, 0b000000000100, 0b011011010111, 4095])
    states = solution.states_at(indices)
    texts = [
        "000000000000 .... 0",
        "100000000000 .... 0",
        "001000000000 .... 0",
        "111010110110 0.1. 0",
        "1" * 12 + " 0101 0",
    ]
    for row, text in enumerate(texts):
        expected = env.from_string(text)
        for name in vars(expected):
            np.testing.assert_array_equal(getattr(states, name)[row], getattr(expected, name), err_msg=name)
    np.testing.assert_array_equal(solution.index(states), indices)
    assert solution.index(states).dtype == np.uint32
    assert solution.is_legal(states).all()
    np.testing.assert_array_equal(solution.index(states_of(solution)), np.arange(4096))


def test_batch_may_be_empty() -> None:
    solution = solved_boxes(2, 2)
    none = solution.states_at(np.zeros(0, np.uint32))
    assert solution.value(none).shape == (0,)
    assert solution.best_actions(none).shape == (0, 12)
    assert solution.children(np.zeros(0, np.uint32)).children.shape == (0, 12)


def test_wrong_questions_are_refused() -> None:
    solution = solved_boxes(2, 2)
    with pytest.raises(ValueError, match="is not won by its last move"):
        solution.plies(states_of(solution))
    with pytest.raises(ValueError, match=r"expected a batch of states of .*rows=2, cols=2.*, not DotsAndBoxesState"):
        solution.value(stacked([game(2, 3).init()]))
    with pytest.raises(ValueError, match="expected a batch of states"):
        solution.value(game(2, 2).init())
    with pytest.raises(ValueError, match="indices must be from 0 to 4095"):
        solution.children(np.array([4096]))
    with pytest.raises(ValueError, match=r"expected integers of shape \[B\], not float64\[1\]"):
        solution.states_at(np.array([0.5]))


# -- files ---------------------------------------------------------------------------------------------------------


def test_saved_solution_fits_every_reward(tmp_path: Path) -> None:
    solved_boxes(2, 2).save(tmp_path / "22.npz")
    for reward in ("win_loss", "margin", "boxes"):
        loaded = solvers.load(tmp_path / "22.npz", game(2, 2, reward))
        assert isinstance(loaded, DotsAndBoxesSolution)
        np.testing.assert_array_equal(loaded.table, solved_boxes(2, 2).table)
    with pytest.raises(ValueError, match=r"22.npz solves dots_and_boxes\(rows=2, cols=2.*, not dots_and_boxes\(rows=1"):
        solvers.load(tmp_path / "22.npz", game(1, 3))


def test_table_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected int8\[4096\], .* not int8\[1024\]"):
        DotsAndBoxesSolution.from_arrays(solved_boxes(2, 2).env, solved_boxes(1, 3).arrays())
