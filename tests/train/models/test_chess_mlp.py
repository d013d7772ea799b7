"""The network `chess_mlp`: attacks as a walk over the board finds them, the cells of a move, mirrored boards."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError
from train.models.chess_mlp import attacks, cells_of_actions
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


def walked(board: np.ndarray) -> np.ndarray:
    """The attacks on one board, int[5, 5, 12], piece by piece."""
    counts = np.zeros((5, 5, 12), int)
    for row, col, plane in np.argwhere(board):
        side, kind = divmod(int(plane), 6)
        name = KINDS[kind]
        up = -1 if side else 1
        lines = {"P": [(-1, up), (1, up)], "N": JUMPS, "K": ALL, **LINES}[name]
        for files, ranks in lines:
            for far in range(1, 5 if name in LINES else 2):
                at = (row - ranks * far, col + files * far)
                if not (0 <= at[0] < 5 and 0 <= at[1] < 5):
                    break
                counts[(*at, plane)] += 1
                if board[at].any():
                    break
    return counts


def test_attacks_are_those_of_a_walk_from_piece_to_piece() -> None:
    rng = np.random.default_rng(0)
    boards = np.zeros((200, 5, 5, 12), bool)
    for board, row, col in itertools.product(range(200), range(5), range(5)):
        if rng.random() < (board + 1) / 300:  # from nearly empty to crowded boards
            boards[board, row, col, rng.integers(12)] = True
    found = np.asarray(jax.jit(attacks)(boards))
    np.testing.assert_array_equal(found, np.stack([walked(board) for board in boards]))
    assert found.max() > 1


def test_cells_of_an_action_are_those_in_its_text() -> None:
    origin, target = cells_of_actions(ENV)
    for fen in ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "1k3/P4/2Q2/1N3/K4 w - - 0 1"):
        board = ENV.from_string(fen)
        for action in np.flatnonzero(ENV.legal_action_mask(board)):
            text = ENV.action_to_string(board, int(action))
            cells = ["abcde".index(text[i]) + 5 * (5 - int(text[i + 1])) for i in (0, 2)]
            assert [origin[action], target[action]] == cells
    assert (target == -1).any()


@pytest.mark.slow
def test_the_mirror_image_of_a_board_has_the_mirrored_logits_and_the_same_value() -> None:
    rng = np.random.default_rng(0)
    observation = rng.random((8, *ENV.observation_shape)) < 0.2
    observation[..., 12:] = observation[:, :1, :1, 12:]  # the flags of a board
    mirror: Any = symmetries(ENV)
    which = np.ones(8, int)
    policy = Policy.of(ENV, "shared", "chess_mlp(blocks=1, cell_width=8)", hidden_sizes=(16,))

    def shifted(leaf: jax.Array) -> jax.Array:
        return leaf + rng.normal(size=leaf.shape).astype(np.float32) / 4

    params = jax.tree.map(shifted, policy.init(jax.random.key(0)))
    apply = jax.jit(policy.apply)
    logits, values = apply(params, observation, np.zeros(8, int))
    of_images, values_of_images = apply(params, mirror.of_observations(which, observation), np.zeros(8, int))
    np.testing.assert_allclose(of_images, mirror.of_policies(which, logits), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values_of_images, values, rtol=1e-4, atol=1e-4)
    assert np.abs(of_images - logits).max() > 1  # no board is its own image
    assert values.std() > 0.1


def test_other_games_are_refused() -> None:
    with pytest.raises(ParameterError, match="chess_mlp plays only minichess"):
        Policy.of(jaxgames.make("checkers"), "shared", "chess_mlp")
