"""Random starting positions: placements on the diamond, and boards of random games."""

import dataclasses

import jax
import numpy as np
import pytest

import jaxgames
from tests.helpers.sticks import ShortSticks
from train.ops.start_positions import init_starts, next_starts, placement


def test_placements_on_the_diamond_are_all_live_legal_ones_equally_often() -> None:
    """With one piece a side on 3 x 3 cells there are 57: the mover's is not on its goal, cell 8, nor the other on 0."""
    place = placement(jaxgames.make("chinese_checkers_diamond(size=3, pieces=1)"))
    env = jaxgames.make("chinese_checkers_diamond(size=3, pieces=1)")
    assert place is not None
    size = 57 * 200
    boards = jax.jit(jax.vmap(place))(jax.random.split(jax.random.key(0), size))
    cells = np.asarray(jax.jit(jax.vmap(env.observe))(boards)).reshape(size, 9, 2)
    assert (cells.sum(1) == 1).all()
    own, other = cells.argmax(1).T
    pairs, counts = np.unique(9 * own + other, return_counts=True)
    expected = [9 * a + b for a in range(8) for b in range(1, 9) if a != b]
    assert pairs.tolist() == expected
    assert len(expected) == 57
    assert (np.abs(counts - 200) < 5 * np.sqrt(200)).all()
    assert {*np.asarray(boards.current_player).tolist()} == {0, 1}
    assert not (boards.terminated | boards.truncated).any()


@pytest.mark.parametrize("tip_lock", [pytest.param(False, marks=pytest.mark.slow), True])
def test_placements_of_six_pieces_are_positions_that_the_rules_allow(tip_lock: bool) -> None:
    """No side has won, and with `tip_lock` no empty tip is behind a fence; without it, some are. Occupied tips are."""
    env = jaxgames.make("chinese_checkers_diamond", size=4, pieces=6, tip_lock=tip_lock)
    place = placement(env)
    assert place is not None
    boards = jax.device_get(jax.jit(jax.vmap(place))(jax.random.split(jax.random.key(0), 2_000)))
    observations = np.asarray(jax.jit(jax.vmap(env.observe))(boards))
    assert (observations.sum((1, 2)) == 6).all()
    for board in range(20):
        state = jax.tree.map(lambda leaf, board=board: leaf[board], boards)
        assert not env.from_string(env.to_string(state)).terminated
    for own, other in ((observations[..., 0], observations[..., 1]), rotated(observations)):
        fence = own[:, 0, 1] & own[:, 1, 0] & own[:, 0, 2] & own[:, 2, 0] & ~own[:, 0, 0]
        assert (fence & ~other[:, 0, 0]).any() == (not tip_lock)
        assert (fence & other[:, 0, 0]).any()


def rotated(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The opponent's and the mover's pieces in the opponent's frame."""
    return observations[:, ::-1, ::-1, 1], observations[:, ::-1, ::-1, 0]


def test_games_of_random_moves_continue_and_restart() -> None:
    env, num_envs, max_plies = jaxgames.make("dots_and_boxes(rows=1, cols=1)"), 64, 5
    starts = jax.jit(lambda key: init_starts(env, key, num_envs, max_plies))(jax.random.key(0))
    advance = jax.jit(lambda key, starts: next_starts(env, key, starts, max_plies))
    seen: list[np.ndarray] = []
    limits: list[np.ndarray] = []
    for number in range(12):
        drawn = np.asarray(starts.boards.edges).sum(-1)
        np.testing.assert_array_equal(drawn, starts.plies)
        assert not (starts.boards.terminated | starts.boards.truncated).any()
        seen.append(drawn)
        limits.append(np.asarray(starts.limit))
        starts = advance(jax.random.key(number + 1), starts)
    assert {*np.unique(seen).tolist()} == {0, 1, 2, 3}
    assert dataclasses.is_dataclass(starts.boards)
    assert {*np.unique(limits).tolist()} == {1, 2, 3, 4, 5}  # all four edges are drawn after four plies


def test_games_that_are_cut_off_before_their_limit_restart() -> None:
    """Sticks are cut off with four left."""
    env = ShortSticks()
    starts = jax.jit(lambda key: init_starts(env, key, 16, 9))(jax.random.key(0))
    advance = jax.jit(lambda key, starts: next_starts(env, key, starts, 9))
    for number in range(12):
        assert not (starts.boards.terminated | starts.boards.truncated).any()
        starts = advance(jax.random.key(number), starts)
