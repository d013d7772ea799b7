"""Drawing edges and taking boxes."""

import pytest

from tests.games.dots_and_boxes.pictures import MIDDLE, game, read, written
from tests.helpers.positions import LIVE, is_over, legal, play, start

SIZES = [(1, 1), (1, 2), (2, 1), (2, 3), (5, 5), (1, 16), (16, 1), (16, 16)]


@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_board_is_empty_at_the_start_and_seat_0_moves_first(rows: int, cols: int) -> None:
    env = game(rows, cols)
    edges = (rows + 1) * cols + rows * (cols + 1)
    assert env.num_actions == edges
    assert env.to_string(start(env)) == f"{'0' * edges} {'.' * (rows * cols)} 0"
    assert is_over(start(env)) == LIVE


def test_edges_are_numbered_row_by_row_horizontal_ones_first() -> None:
    env = game()
    names = ["h(0,0)", "h(0,1)", "h(0,2)", "h(1,0)", "h(1,1)", "h(1,2)", "h(2,0)", "h(2,1)", "h(2,2)"]
    names += ["v(0,0)", "v(0,1)", "v(0,2)", "v(0,3)", "v(1,0)", "v(1,1)", "v(1,2)", "v(1,3)"]
    assert [env.action_to_string(start(env), action) for action in range(env.num_actions)] == names
    assert [env.action_from_string(start(env), name) for name in names] == list(range(17))
    assert legal(env, start(env)) == set(names)


def test_turn_passes_when_an_edge_takes_no_box() -> None:
    env = game()
    state = play(env, start(env), "h(1,1)")
    assert env.to_string(state) == "00001000000000000 ...... 1"
    state = play(env, state, "v(1,2)")
    assert env.to_string(state) == "00001000000000010 ...... 0"


def test_edge_is_legal_only_if_it_is_not_drawn() -> None:
    env = game()
    assert legal(env, read(env, MIDDLE)) == {"h(0,2)", "h(1,2)", "h(2,1)", "v(0,2)", "v(1,1)"}


@pytest.mark.parametrize("seat", [0, 1])
def test_fourth_edge_takes_the_box_and_the_same_seat_moves_again(seat: int) -> None:
    env = game()
    before = """
        *---*---*   *
        |           |
        *---*---*   *
        |       |   |
        *---*   *---*
    """
    after = """
        *---*---*   *
        | # |       |
        *---*---*   *
        |       |   |
        *---*   *---*
    """
    state = play(env, read(env, before, seat), "v(0,1)")
    assert env.to_string(state) == written(after.replace("#", str(seat)), seat)


@pytest.mark.parametrize("edge", ["h(1,1)", "h(2,1)", "v(1,1)", "v(1,2)"])
def test_any_side_of_a_box_can_be_the_fourth(edge: str) -> None:
    """A box in the middle of the second row, by its top, bottom, left and right edge."""
    env = game(3, 3)
    others = [other for other in ("h(1,1)", "h(2,1)", "v(1,1)", "v(1,2)") if other != edge]
    state = play(env, start(env), *others)
    assert int(state.current_player) == 1
    state = play(env, state, edge)
    assert env.to_string(state).split()[1:] == ["....1....", "1"]


@pytest.mark.parametrize(
    ("picture", "edge", "expected"),
    [
        (
            """
            *---*---*
            |       |
            *---*---*
            """,
            "v(0,1)",
            """
            *---*---*
            | 1 | 1 |
            *---*---*
            """,
        ),
        (
            """
            *---*
            |   |
            *   *
            |   |
            *---*
            """,
            "h(1,0)",
            """
            *---*
            | 1 |
            *---*
            | 1 |
            *---*
            """,
        ),
    ],
    ids=["side by side", "one above the other"],
)
def test_one_edge_takes_two_boxes_when_it_completes_both(picture: str, edge: str, expected: str) -> None:
    env = game(*((1, 2) if edge[0] == "v" else (2, 1)), reward="boxes")
    state = play(env, read(env, picture, seat=1), edge)
    assert env.to_string(state) == written(expected, seat=1)
    assert state.rewards.tolist() == [-2, 2]


def test_boxes_keep_their_owner_when_the_other_seat_takes_a_neighbour() -> None:
    """The edge between two boxes belongs to both."""
    env = game()
    state = play(env, read(env, MIDDLE, seat=1), "v(1,1)", "h(2,1)", "h(0,2)", "v(0,2)")
    expected = """
        *---*---*---*
        | 0 | 0 |   |
        *---*---*   *
        | 1 | 1 |   |
        *---*---*---*
    """
    assert env.to_string(state) == written(expected, seat=0)
