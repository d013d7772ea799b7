"""The network `chess_graph`: attacks as a walk over the board finds them, the cells of a move, mirrored boards."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from train.models.chess_graph import (
    CELLS,
    RELATIONS,
    Round,
    attacks,
    cells_of_actions,
    free_lines,
    move_types,
    relations,
)
from train.models.policy import Policy
from train.ops.symmetries import symmetries

ENV: Any = jaxgames.make("minichess")
KINDS = "PNBRQK"
ALL = [(files, ranks) for files in (-1, 0, 1) for ranks in (-1, 0, 1) if (files, ranks) != (0, 0)]
JUMPS = [(files, ranks) for files in (-2, -1, 1, 2) for ranks in (-2, -1, 1, 2) if abs(files) != abs(ranks)]
LINES = {
    "B": [line for line in ALL if 0 not in line],
    "R": [line for line in ALL if 0 in line],
    "Q": ALL,
}


def walk(board: np.ndarray, row: int, col: int, name: str, up: int) -> list[tuple[int, int]]:
    """The cells that a piece attacks."""
    found: list[tuple[int, int]] = []
    for files, ranks in {"P": [(-1, up), (1, up)], "N": JUMPS, "K": ALL, **LINES}[name]:
        for far in range(1, 5 if name in LINES else 2):
            at = (row - ranks * far, col + files * far)
            if not (0 <= at[0] < 5 and 0 <= at[1] < 5):
                break
            found.append(at)
            if board[at].any():
                break
    return found


def walked(board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The attacks on one board, int[25, 12], and the relations, int[25, 25, 8], piece by piece."""
    counts, related = np.zeros((5, 5, 12), int), np.zeros((5, 5, 5, 5, 8), int)
    for row, col, plane in np.argwhere(board):
        side, kind = divmod(int(plane), 6)
        for at in walk(board, row, col, KINDS[kind], -1 if side else 1):
            counts[(*at, plane)] += 1
            related[(row, col, *at, side)] = related[(*at, row, col, side + 2)] = 1
    for row, col in np.ndindex(5, 5):
        for number, name in enumerate("BRNK", start=4):  # the last of RELATIONS
            for at in walk(board, row, col, name, 1):
                related[(row, col, *at, number)] = 1
    return counts.reshape(25, 12), related.reshape(25, 25, 8)


def boards(count: int) -> np.ndarray:
    """Random boards, from nearly empty to crowded ones: bool[count, 5, 5, 12]."""
    rng = np.random.default_rng(0)
    pieces = np.zeros((count, 5, 5, 12), bool)
    for board, row, col in itertools.product(range(count), range(5), range(5)):
        if rng.random() < (board + 1) / (1.5 * count):
            pieces[board, row, col, rng.integers(12)] = True
    return pieces


@jax.jit
def inputs(pieces: jax.Array) -> tuple[jax.Array, jax.Array]:
    free = free_lines(pieces)
    return attacks(pieces, free), relations(pieces, free)


def test_attacks_and_relations_equal_a_walk_from_piece_to_piece() -> None:
    pieces = boards(200)
    counts, related = zip(*(walked(board) for board in pieces), strict=True)
    found = inputs(pieces.reshape(200, CELLS, 12).astype(np.float32))
    np.testing.assert_array_equal(np.asarray(found[0]), np.stack(counts))
    np.testing.assert_array_equal(np.asarray(found[1]), np.stack(related))
    assert np.max(counts) > 1
    assert np.stack(related).any((0, 1, 2)).sum() == len(RELATIONS)


def test_message_of_a_relation_comes_only_from_related_cells() -> None:
    """A change of one cell changes only that cell and those related to it, and each relation counts by itself."""
    _, related = inputs(boards(20)[-2:-1].reshape(1, CELLS, 12).astype(np.float32))
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(1, CELLS, 4)).astype(np.float32)
    changed = np.repeat(cells, CELLS, axis=0)  # [i] has another state of cell i
    changed[np.arange(CELLS), np.arange(CELLS)] = rng.normal(size=(CELLS, 4))
    layer, board = Round(4), np.zeros((1, 4), np.float32)
    states = np.concatenate([cells, changed])

    @jax.jit
    def new_cells(params: Any, related: jax.Array) -> jax.Array:
        rows = np.repeat(related.reshape(1, CELLS, -1), len(states), axis=0)
        return layer.apply(params, states, np.repeat(board, len(states), axis=0), rows)[0]

    params = layer.init(jax.random.key(0), cells, board, np.asarray(related).reshape(1, CELLS, -1))
    params = jax.tree.map(lambda leaf: leaf + 1, params)  # no unit is switched off by its ReLU
    for number in range(len(RELATIONS)):
        alone = np.asarray(related) * (np.arange(len(RELATIONS)) == number)
        new = np.asarray(new_cells(params, alone))
        reached = (new[1:] != new[0]).any(-1)  # [from, to]
        np.testing.assert_array_equal(reached.T, alone[0].any(-1) | np.eye(CELLS, dtype=bool))


def test_cells_of_an_action_are_those_in_its_text() -> None:
    origin, target = cells_of_actions()
    for fen in ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "1k3/P4/2Q2/1N3/K4 w - - 0 1"):
        board = ENV.from_string(fen)
        for action in np.flatnonzero(ENV.legal_action_mask(board)):
            text = ENV.action_to_string(board, int(action))
            cells = ["abcde".index(text[i]) + 5 * (5 - int(text[i + 1])) for i in (0, 2)]
            assert [origin[action], target[action]] == cells
    assert (target == -1).any()


def test_types_of_moves_tell_promotions_and_directions_apart_but_not_left_and_right() -> None:
    types = move_types()
    assert len({*types}) == 6 + 12 + 8 + 4  # promotions; straight moves; diagonal moves; jumps of a knight
    _, mirrored = symmetries(ENV).action
    np.testing.assert_array_equal(types[mirrored % 49], types[np.arange(ENV.num_actions) % 49])


@pytest.mark.slow
def test_the_mirror_image_of_a_board_has_the_mirrored_logits_and_the_same_value() -> None:
    rng = np.random.default_rng(0)
    observation = rng.random((8, *ENV.observation_shape)) < 0.2
    observation[..., 12:] = observation[:, :1, :1, 12:]  # the flags of a board
    mirror: Any = symmetries(ENV)
    which = np.ones(8, int)
    policy = Policy.of(ENV, "shared", "chess_graph(rounds=2, width=8)")

    def shifted(leaf: jax.Array) -> jax.Array:
        return leaf + rng.normal(size=leaf.shape).astype(np.float32) / 4

    params = jax.tree.map(shifted, policy.init(jax.random.key(0)))
    apply = jax.jit(policy.apply)
    logits, values = apply(params, observation, np.zeros(8, int))
    of_images, values_of_images = apply(params, mirror.of_observations(which, observation), np.zeros(8, int))
    np.testing.assert_allclose(of_images, mirror.of_policies(which, logits), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values_of_images, values, rtol=1e-4, atol=1e-4)
    assert np.abs(of_images - logits).max() > 1  # the images differ, so the mirrored logits are other ones
    assert values.std() > 0.1
