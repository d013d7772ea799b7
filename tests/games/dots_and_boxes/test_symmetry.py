"""A rotated or mirrored board is played alike, and so is a game whose seats change places."""

import functools
from collections.abc import Callable

import jax
import numpy as np
import pytest

from tests.games.dots_and_boxes.pictures import REWARDS, game
from tests.games.dots_and_boxes.whole_games import GAMES, recorded
from tests.helpers.positions import batched, repeated, start

# The eight symmetries of a square as functions of a picture. Those that lay it on its side swap rows and columns.
SYMMETRIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    f"{quarters} quarter turns{', mirrored' if mirrored else ''}": functools.partial(
        lambda picture, quarters, mirrored: np.rot90(picture[:, ::-1] if mirrored else picture, quarters),
        quarters=quarters,
        mirrored=mirrored,
    )
    for quarters in range(4)
    for mirrored in (False, True)
}


def numbers(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the edges and of the boxes on the grid on which they are drawn, -1 elsewhere."""
    edges, boxes = np.full((2, 2 * rows + 1, 2 * cols + 1), -1)
    horizontal = (rows + 1) * cols
    edges[::2, 1::2] = np.arange(horizontal).reshape(rows + 1, cols)
    edges[1::2, ::2] = horizontal + np.arange(rows * (cols + 1)).reshape(rows, cols + 1)
    boxes[1::2, 1::2] = np.arange(rows * cols).reshape(rows, cols)
    return edges, boxes


@pytest.mark.parametrize("symmetry", SYMMETRIES)
@pytest.mark.parametrize(("rows", "cols"), [(3, 3), (2, 3)])
def test_rotated_board_is_played_alike(rows: int, cols: int, symmetry: str) -> None:
    """Positions, masks and observations rotate with the board; seats, rewards and the end stay."""
    edges, boxes = (SYMMETRIES[symmetry](grid) for grid in numbers(rows, cols))
    height, width = (length // 2 for length in edges.shape)
    edge_order = np.concatenate([edges[::2, 1::2].ravel(), edges[1::2, ::2].ravel()])
    box_order = boxes[1::2, 1::2].ravel()
    new_number = np.argsort(edge_order)

    other = game(height, width, "margin")
    state = repeated(start(other), GAMES)
    for before in recorded(game(rows, cols, "margin")):
        look = jax.device_get(batched(other).look(state))
        for name in ("current_player", "rewards", "terminated"):
            np.testing.assert_array_equal(getattr(state, name), getattr(before.states, name))
        np.testing.assert_array_equal(state.edges, before.states.edges[:, edge_order])
        np.testing.assert_array_equal(state.owner, before.states.owner[:, box_order])
        np.testing.assert_array_equal(look.mask, before.look.mask[:, edge_order])
        np.testing.assert_array_equal(look.mover, [SYMMETRIES[symmetry](seen) for seen in before.look.mover])
        state = jax.device_get(batched(other).step(state, new_number[before.actions].astype(np.int32)))


@pytest.mark.parametrize("reward", REWARDS)
def test_seats_are_alike_when_seat_1_begins(reward: str) -> None:
    """The same game with the seats exchanged: in owners, in observations and in rewards."""
    env = game(reward=reward)
    state = repeated(env.from_string(env.to_string(start(env))[:-1] + "1"), GAMES)
    for before in recorded(env):
        look = jax.device_get(batched(env).look(state))
        owner = before.states.owner
        np.testing.assert_array_equal(state.edges, before.states.edges)
        np.testing.assert_array_equal(state.owner, np.where(owner < 0, owner, 1 - owner))
        np.testing.assert_array_equal(state.current_player, 1 - before.states.current_player)
        np.testing.assert_array_equal(state.rewards, before.states.rewards[:, ::-1])
        np.testing.assert_array_equal(state.terminated, before.states.terminated)
        np.testing.assert_array_equal(look.mover, before.look.mover)
        state = jax.device_get(batched(env).step(state, before.actions))


def test_reward_scheme_changes_rewards_only() -> None:
    """The same actions lead to the same boards under all three, and "boxes" sums to "margin"."""
    games = {reward: recorded(game(reward=reward)) for reward in REWARDS}
    for records in zip(*games.values(), strict=True):
        for other in records[1:]:
            for name in ("edges", "owner", "current_player", "terminated"):
                np.testing.assert_array_equal(getattr(other.states, name), getattr(records[0].states, name))
            np.testing.assert_array_equal(other.actions, records[0].actions)
    totals = {reward: sum(record.states.rewards for record in games[reward]) for reward in REWARDS}
    np.testing.assert_array_equal(totals["boxes"], totals["margin"])
    np.testing.assert_array_equal(np.sign(totals["margin"]), totals["win_loss"])
