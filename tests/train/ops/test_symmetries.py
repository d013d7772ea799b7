"""Cells of actions, symmetries and random starting positions beside the games that they are of."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import Env
from tests.games.minichess.reference import mirrored_actions
from tests.helpers.positions import compiled
from tests.helpers.sticks import ShortSticks, Sticks
from train.ops.action_cells import action_cells
from train.ops.start_positions import init_starts, next_starts, placement
from train.ops.symmetries import symmetries

# -- the cells of actions ----------------------------------------------------------------------------------------------

CELLS: dict[str, Any] = {
    # The planes of the observation in which an action's cell is set: the mover's pieces; None for no piece.
    "chinese_checkers(size=1, num_players=2)": [0],
    "minichess": range(6),
    "checkers": [0, 1],
    "chinese_checkers_diamond(size=3, pieces=1)": None,
    "dots_and_boxes(rows=2, cols=1)": None,
}


@pytest.mark.parametrize("game", CELLS)
def test_every_legal_action_lies_on_the_cell_of_its_piece(game: str) -> None:
    """On the diamond its cell is an empty target and its plane the origin; an edge is one that is not drawn."""
    env, planes, rng = jaxgames.make(game), CELLS[game], np.random.default_rng(0)
    cells, programs, state = action_cells(env), compiled(env), env.init(jax.random.key(0))
    assert cells is not None
    assert len({*zip(cells.cell, cells.plane, strict=True)}) == env.num_actions  # no two share an output
    assert cells.plane.max() + 1 == np.bincount(cells.cell[cells.cell >= 0]).max()  # and no output is left over
    for _ in range(12):
        look = jax.device_get(programs.look(state))
        board = look.mover.reshape(-1, env.observation_shape[-1])  # bool[cells, planes]
        for action in np.flatnonzero(look.mask & (cells.cell >= 0)):
            cell, plane = cells.cell[action], cells.plane[action]
            if planes is not None:
                assert board[cell, planes].any()
            elif env.id == "dots_and_boxes":
                assert not board[cell, 0]
            else:
                assert board[plane, 0]
                assert not board[cell].any()
        if not look.mask.any():
            break
        state = jax.device_get(programs.step(state, jnp.int32(rng.choice(np.flatnonzero(look.mask)))))


# -- symmetries --------------------------------------------------------------------------------------------------------

NUMBERS = {
    "chinese_checkers_diamond(size=3, pieces=3)": 2,
    "dots_and_boxes(rows=2, cols=2)": 8,
    "dots_and_boxes(rows=1, cols=2)": 4,
    "chinese_checkers(size=1, num_players=2, reward=movement)": 2,
    "minichess": 2,
}
# All copies start from one board, so it must be its own image, which the first board of minichess is not.
STARTS = {"minichess": "rbkbr/pnpnp/5/PNPNP/RBKBR w - - 0 1"}
FAST = "dots_and_boxes(rows=2, cols=2)"


@pytest.mark.parametrize(
    "game", [game if game == FAST else pytest.param(game, marks=pytest.mark.slow) for game in NUMBERS]
)
def test_symmetric_moves_keep_observations_legal_actions_and_rewards_symmetric(game: str) -> None:
    """Copy s of a board plays the actions of the first copy after symmetry s. Finished games play on unchanged."""
    env = jaxgames.make(game)
    found = symmetries(env)
    copies = len(found)
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
    keys = jax.random.split(jax.random.key(0), 30)
    observations, moved, masks, actions, movers, rewards = jax.device_get(
        jax.jit(jax.lax.scan, static_argnums=0)(step, boards, keys)[1]
    )
    np.testing.assert_array_equal(observations, moved)
    for symmetry in range(copies):
        np.testing.assert_array_equal(masks[:, symmetry, found.action[symmetry]], masks[:, 0])
    np.testing.assert_array_equal(movers, np.broadcast_to(movers[:, :1], movers.shape))
    np.testing.assert_array_equal(rewards, np.broadcast_to(rewards[:, :1], rewards.shape))
    assert (actions != actions[:, :1]).any()


ONE = ("checkers", "chinese_checkers(size=1, num_players=3)")  # a mirror of the star turns the order


@pytest.mark.parametrize(
    ("env", "count"), [*((jaxgames.make(game), NUMBERS.get(game, 1)) for game in (*NUMBERS, *ONE)), (Sticks(), 1)]
)
def test_rows_are_different_permutations_with_the_identity_first(env: Env[Any], count: int) -> None:
    """Policies have the entry of an action at its image."""
    found = symmetries(env)
    assert len(found) == count
    for rows, size in ((found.source, int(np.prod(env.observation_shape))), (found.action, env.num_actions)):
        assert rows.shape == (count, size)
        np.testing.assert_array_equal(rows[0], np.arange(size))
        np.testing.assert_array_equal(np.sort(rows, axis=1), np.broadcast_to(np.arange(size), rows.shape))
    assert len(np.unique(found.action, axis=0)) == count
    policies = np.broadcast_to(np.arange(env.num_actions), found.action.shape)
    images = np.asarray(found.of_policies(jnp.arange(count), jnp.asarray(policies)))
    np.testing.assert_array_equal(np.take_along_axis(images, found.action, axis=1), policies)


def test_mirror_of_minichess_takes_each_move_to_the_one_that_the_reference_names() -> None:
    expected = mirrored_actions()
    on_board = np.flatnonzero(expected >= 0)
    np.testing.assert_array_equal(symmetries(jaxgames.make("minichess")).action[1, on_board], expected[on_board])
    assert len(on_board) == 572


def test_padding_of_slots_stays() -> None:
    found = symmetries(jaxgames.make("chinese_checkers_diamond(size=3, pieces=3)"))
    slots = np.array([[0, 1 * 9 + 2, -1], [0, 1 * 9 + 2, -1]])
    assert jax.jit(found.of_actions)(np.array([0, 1]), slots).tolist() == [[0, 11, -1], [0, 3 * 9 + 6, -1]]


# -- random starting positions -----------------------------------------------------------------------------------------


def placed(env: Env[Any], count: int) -> tuple[Any, np.ndarray]:
    """Random boards, and their observations."""
    place = placement(env)
    assert place is not None
    boards = jax.jit(jax.vmap(place))(jax.random.split(jax.random.key(0), count))
    assert not (boards.terminated | boards.truncated).any()
    return jax.device_get(boards), np.asarray(jax.jit(jax.vmap(env.observe))(boards))


def test_placements_on_the_diamond_are_all_live_legal_ones_equally_often() -> None:
    """With one piece a side on 3 x 3 cells there are 57: the mover's is not on its goal, cell 8, nor the other on 0."""
    size = 57 * 200
    boards, observations = placed(jaxgames.make("chinese_checkers_diamond(size=3, pieces=1)"), size)
    cells = observations.reshape(size, 9, 2)
    assert (cells.sum(1) == 1).all()
    own, other = cells.argmax(1).T
    pairs, counts = np.unique(9 * own + other, return_counts=True)
    expected = [9 * a + b for a in range(8) for b in range(1, 9) if a != b]
    assert pairs.tolist() == expected
    assert len(expected) == 57
    assert (np.abs(counts - 200) < 5 * np.sqrt(200)).all()
    assert {*boards.current_player.tolist()} == {0, 1}


@pytest.mark.parametrize("tip_lock", [pytest.param(False, marks=pytest.mark.slow), True])
def test_placements_of_six_pieces_are_positions_that_the_rules_allow(tip_lock: bool) -> None:
    """No side has won, and with `tip_lock` no empty tip is behind a fence; without it, some are. Occupied tips are."""
    env = jaxgames.make("chinese_checkers_diamond", size=4, pieces=6, tip_lock=tip_lock)
    boards, observations = placed(env, 2_000)
    assert (observations.sum((1, 2)) == 6).all()
    for board in range(20):
        state = jax.tree.map(lambda leaf, board=board: leaf[board], boards)
        assert not env.from_string(env.to_string(state)).terminated
    own, other = np.moveaxis(observations, -1, 0)
    for side, opponent in ((own, other), (other[:, ::-1, ::-1], own[:, ::-1, ::-1])):
        fence = side[:, 0, 1] & side[:, 1, 0] & side[:, 0, 2] & side[:, 2, 0] & ~side[:, 0, 0]
        assert (fence & ~opponent[:, 0, 0]).any() == (not tip_lock)
        assert (fence & opponent[:, 0, 0]).any()


@pytest.mark.parametrize(
    ("env", "max_plies"), [(jaxgames.make("dots_and_boxes(rows=1, cols=1)"), 5), (ShortSticks(), 9)]
)
def test_games_of_random_moves_continue_and_restart(env: Env[Any], max_plies: int) -> None:
    """Also where a game is cut off: sticks with four left. A box is drawn after four plies."""
    starts = jax.jit(lambda key: init_starts(env, key, 64, max_plies))(jax.random.key(0))
    advance = jax.jit(lambda key, starts: next_starts(env, key, starts, max_plies))
    seen: list[Any] = []
    for number in range(12):
        assert not (starts.boards.terminated | starts.boards.truncated).any()
        assert dataclasses.is_dataclass(starts.boards)
        seen.append(jax.device_get(starts))
        starts = advance(jax.random.key(number + 1), starts)
    assert {*np.unique([each.limit for each in seen]).tolist()} == {*range(1, max_plies + 1)}
    if env.id == "dots_and_boxes":
        plies = np.array([each.plies for each in seen])
        np.testing.assert_array_equal([each.boards.edges.sum(-1) for each in seen], plies)
        assert {*plies.ravel().tolist()} == {0, 1, 2, 3}
