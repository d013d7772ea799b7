"""Symmetries against the games: equal moves lead to equal boards."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.games.minichess.reference import mirrored_actions
from tests.helpers.sticks import Sticks
from train.ops.symmetries import symmetries

NUMBERS = {
    "chinese_checkers_diamond(size=3, pieces=3)": 2,
    "dots_and_boxes(rows=2, cols=2)": 8,
    "dots_and_boxes(rows=1, cols=2)": 4,
    "chinese_checkers(size=1, num_players=2, reward=movement)": 2,
    "minichess": 2,
}
# All copies start from one board, so it must be its own image, which the first board of minichess is not.
STARTS = {"minichess": "rbkbr/pnpnp/5/PNPNP/RBKBR w - - 0 1"}
STEPS = 30


def slow_except(fast: str) -> list[Any]:
    return [game if game == fast else pytest.param(game, marks=pytest.mark.slow) for game in NUMBERS]


@pytest.mark.parametrize("game", slow_except("dots_and_boxes(rows=2, cols=2)"))
def test_symmetric_moves_keep_observations_legal_actions_and_rewards_symmetric(game: str) -> None:
    """Copy s of a board plays the actions of the first copy after symmetry s. Finished games play on unchanged."""
    env = jaxgames.make(game)
    found = symmetries(env)
    copies = len(found)
    assert copies == NUMBERS[game]
    which = jnp.arange(copies)

    def step(boards: Any, key: jax.Array) -> Any:
        observations, masks = jax.vmap(env.observe)(boards), jax.vmap(env.legal_action_mask)(boards)
        action = jaxgames.random_action(key, masks[0])
        actions = found.of_actions(which, jnp.full((copies, 1), action))[:, 0]
        moved = found.of_observations(which, jnp.broadcast_to(observations[0], observations.shape))
        after = jax.vmap(env.step)(boards, actions)
        return after, (observations, moved, masks, actions, boards.current_player, after.rewards)

    first = env.from_string(STARTS[game]) if game in STARTS else env.init()
    boards = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (copies, *leaf.shape)), first)
    keys = jax.random.split(jax.random.key(0), STEPS)
    observations, moved, masks, actions, movers, rewards = jax.device_get(
        jax.jit(jax.lax.scan, static_argnums=0)(step, boards, keys)[1]
    )
    np.testing.assert_array_equal(observations, moved)
    for symmetry in range(copies):
        np.testing.assert_array_equal(masks[:, symmetry, found.action[symmetry]], masks[:, 0])
    np.testing.assert_array_equal(movers, np.broadcast_to(movers[:, :1], movers.shape))
    np.testing.assert_array_equal(rewards, np.broadcast_to(rewards[:, :1], rewards.shape))
    assert (actions != actions[:, :1]).any()


@pytest.mark.parametrize("game", [*NUMBERS, "checkers", "chinese_checkers(size=2, num_players=6)"])
def test_rows_are_different_permutations_with_the_identity_first(game: str) -> None:
    env = jaxgames.make(game)
    found = symmetries(env)
    for rows, size in ((found.source, int(np.prod(env.observation_shape))), (found.action, env.num_actions)):
        assert rows.shape == (len(found), size)
        np.testing.assert_array_equal(rows[0], np.arange(size))
        np.testing.assert_array_equal(np.sort(rows, axis=1), np.broadcast_to(np.arange(size), rows.shape))
    assert len(np.unique(found.action, axis=0)) == len(found)


@pytest.mark.parametrize("game", ["dots_and_boxes(rows=1, cols=2)", "chinese_checkers_diamond(size=3, pieces=1)"])
def test_policies_have_the_entry_of_an_action_at_its_image(game: str) -> None:
    found = symmetries(jaxgames.make(game))
    num_actions = found.action.shape[1]
    policies = np.broadcast_to(np.arange(num_actions), (len(found), num_actions))
    images = np.asarray(jax.jit(found.of_policies)(np.arange(len(found)), policies))
    for image, action in zip(images, found.action, strict=True):
        np.testing.assert_array_equal(image[action], np.arange(num_actions))


def test_mirror_of_minichess_takes_each_move_to_the_one_that_the_reference_names() -> None:
    expected = mirrored_actions()
    on_board = np.flatnonzero(expected >= 0)
    np.testing.assert_array_equal(symmetries(jaxgames.make("minichess")).action[1, on_board], expected[on_board])
    assert len(on_board) == 572


def test_games_without_a_known_symmetry_have_the_identity_only() -> None:
    assert len(symmetries(jaxgames.make("checkers"))) == 1
    assert len(symmetries(jaxgames.make("chinese_checkers(size=1, num_players=3)"))) == 1  # a mirror turns the order
    assert len(symmetries(Sticks())) == 1


def test_padding_of_slots_stays() -> None:
    found = symmetries(jaxgames.make("chinese_checkers_diamond(size=3, pieces=3)"))
    slots = np.array([[0, 1 * 9 + 2, -1], [0, 1 * 9 + 2, -1]])
    assert jax.jit(found.of_actions)(np.array([0, 1]), slots).tolist() == [[0, 11, -1], [0, 3 * 9 + 6, -1]]
