"""Steps, whole chains of hops, and the pass."""

import itertools

import pytest

from tests.games.chinese_checkers_diamond.pictures import game, legal_from, moves, read, written
from tests.helpers.positions import LIVE, compiled, is_over, legal, play, start


def test_step_goes_to_one_of_six_neighbours() -> None:
    env = game()
    picture = """
        . . . . .
        . . . . .
        . . 0 . .
        . . . . .
        . . . . .
    """
    assert legal(env, read(env, picture)) == moves(12, 7, 8, 11, 13, 16, 17)


def test_step_stays_on_the_board_and_goes_to_an_empty_cell() -> None:
    """The corners on the two sides have three neighbours, those on top and at the bottom two."""
    env = game()
    picture = """
        . . . . 0
        . . . . .
        . . . 1 0
        . . . . 1
        0 . . . .
    """
    state = read(env, picture)
    assert legal_from(env, state, 4) == moves(4, 3, 8, 9)
    assert legal_from(env, state, 20) == moves(20, 15, 16, 21)
    assert legal_from(env, state, 14) == moves(14, 9, 18, 12, 24)  # two steps and a hop over each 1
    corner = """
        . . . . .
        . . . . .
        . . . . .
        . . . . .
        . . . . 0
    """
    assert legal(env, read(env, corner)) == moves(24, 19, 23)


def test_opening_moves_are_steps_and_hops_out_of_the_home() -> None:
    env = game(4, 3)
    assert legal(env, start(env)) == moves(0, 2, 8) | moves(1, 2, 5) | moves(4, 5, 8)


def test_hop_goes_over_any_one_piece_to_the_empty_cell_behind() -> None:
    """12 hops over its own 7 and a foreign 11; behind 13 stands 14, behind 16 stands 20, and 17 is empty."""
    env = game()
    picture = """
        . . . . .
        . . 0 . .
        . 1 0 1 1
        . 1 . . .
        1 . . . .
    """
    assert legal_from(env, read(env, picture), 12) == moves(12, 2, 10, 8, 17)


CHAIN = """
    . . . . .
    . . 1 . .
    . 1 . . .
    . . . . 0
    0 1 . . .
"""


def test_whole_chain_is_one_action_and_may_end_after_any_hop() -> None:
    """20 over 21 to 22, or a step. With a piece on 17 the chain goes on over it to 12, and from there to 2 or 10."""
    env = game()
    state = read(env, CHAIN)
    assert legal_from(env, state, 20) == moves(20, 15, 16, 22)
    longer = read(env, CHAIN.replace(". . . . 0", ". . 0 . ."))
    assert legal_from(env, longer, 20) == moves(20, 15, 16, 22, 12, 2, 10)
    after = play(env, longer, "20>2")
    picture = """
        . . 0 . .
        . . 1 . .
        . 1 . . .
        . . 0 . .
        . 1 . . .
    """
    assert env.to_string(after) == written(picture, seat=1, ply=1)


def test_chain_changes_direction_but_neither_begins_nor_ends_with_a_step() -> None:
    """A step to 6 or 10, followed by a hop, would lead 5 to other cells."""
    env = game()
    picture = """
        . . . . .
        0 . . . .
        . 0 . . .
        . . . . .
        . . . . .
    """
    assert legal_from(env, read(env, picture), 5) == moves(5, 0, 1, 6, 10)
    assert legal_from(env, read(env, picture), 11) == moves(11, 6, 7, 10, 12, 15, 16)


def test_chain_in_a_ring_is_no_move_back_to_its_origin() -> None:
    """Three hops around 12 lead from 6 back to 6: 8 and 16 are reached in either direction, 6 itself is no move."""
    env = game()
    picture = """
        . . . . .
        . 0 1 . .
        . 1 1 . .
        . . . . .
        . . . . .
    """
    assert legal_from(env, read(env, picture), 6) == moves(6, 1, 2, 5, 10, 8, 16)


def test_piece_does_not_hop_over_the_cell_that_it_left() -> None:
    """3 may hop over 2 to 1 and from there back, but not over its origin; nor may 2."""
    env = game(5, 1)
    picture = """
        . . 0 0 .
        . . . . .
        . . . . .
        . . . . .
        . . . . .
    """
    state = read(env, picture)
    assert legal_from(env, state, 3) == moves(3, 1, 4, 7, 8)
    assert legal_from(env, state, 2) == moves(2, 1, 4, 6, 7)


def snake(size: int) -> tuple[list[str], list[int]]:
    """A board on which one chain can visit all cells of even row and column, and these cells in order."""
    content, last = ["."] * size**2, size - 1
    visited: list[int] = []
    for row in range(0, size, 2):
        line = [row * size + col for col in range(0, size, 2)]
        visited += line if row % 4 == 0 else line[::-1]
    for cell, following in itertools.pairwise(visited):
        content[(cell + following) // 2] = "1"
    content[0] = "0"
    assert visited[-1] == last * size + (last if last % 4 == 0 else 0)
    return content, visited


@pytest.mark.parametrize("size", [3, 5, 7, 9])
def test_longest_chain_visits_every_cell_of_even_row_and_column(size: int) -> None:
    """24 hops on the largest board."""
    env = game(size, 1)
    content, visited = snake(size)

    def hops(content: list[str]) -> set[str]:
        rows = "/".join("".join(content[begin : begin + size]) for begin in range(0, size**2, size))
        return legal_from(env, env.from_string(f"{rows} 0 0"), 0) & moves(0, *visited)

    assert len(visited) == ((size + 1) // 2) ** 2
    assert hops(content) == moves(0, *visited[1:])
    for cut in range(1, len(visited)):  # every hop is needed
        shorter = content.copy()
        shorter[(visited[cut - 1] + visited[cut]) // 2] = "."
        assert hops(shorter) == moves(0, *visited[1:cut])


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("011/1../1.. 0 0", "0>0"),
        ("..0/..0/001 1 0", "8>8"),
        (".1./.../... 0 0", "0>0"),  # no pieces at all
        ("01./.../... 0 0", None),  # a hop
        ("011/1../... 0 0", None),
    ],
)
def test_pass_is_the_only_move_when_there_is_no_other(text: str, passes: str | None) -> None:
    """Action 0, a move from the tip of the mover's home to itself; it is illegal when there is another move."""
    env = game(3, 1)
    state = env.from_string(text)
    if passes is None:
        assert not compiled(env).mask(state)[0]
        return
    assert legal(env, state) == {passes}
    assert env.action_from_string(state, passes) == 0
    after = play(env, state, passes)
    rows, seat, _ = text.split()
    assert env.to_string(after) == f"{rows} {1 - int(seat)} 1"
    assert after.rewards.tolist() == [0, 0]
    assert is_over(after) == LIVE
