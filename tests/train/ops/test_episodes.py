"""Means over the games that ended in a rollout, by hand, and the map that computes only the chosen rows."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.positions import stacked
from tests.helpers.sticks import Sticks
from train.ops.episodes import EpisodeStats, episode_metrics, map_chosen_rows

STICKS = Sticks()  # three seats; every step here takes one stick, and whoever takes the last one wins
WON_BY_0, WON_BY_2, LIVE = STICKS.at(1, 0), STICKS.at(1, 2), STICKS.at(4, 1)

# Three boards for two steps. Three games end by the rules, one of them in a draw, and one is cut off.
BOARDS = jax.tree.map(jnp.asarray, stacked([WON_BY_0, LIVE, LIVE, LIVE, WON_BY_2, LIVE]))
TERMINATED = [[True, False, True], [False, True, False]]
TRUNCATED = [[False, False, False], [True, False, False]]
LENGTHS = [[4, 90, 6], [9, 5, 90]]
RETURNS = [[[2, -1, -1], [90, 90, 90], [0, 0, 0]], [[1, 3, 5], [-1, -1, 2], [90, 90, 90]]]
LEARNER = [[[1, 0, 1], [1, 1, 1], [1, 0, 0]], [[0, 1, 1], [0, 1, 0], [1, 1, 1]]]


def metrics(ended: bool = True, learner: Any = None, forfeit: bool = False) -> dict[str, float]:
    """If `forfeit`, the drawn game has one stick left, of which its mover takes three."""
    flags = [jnp.array(flags) & ended for flags in (TERMINATED, TRUNCATED)]
    stats = EpisodeStats(jnp.array(LENGTHS), jnp.array(RETURNS, jnp.float32))
    boards: Any = jax.tree.map(lambda leaf: leaf.reshape(2, 3, *leaf.shape[1:]), BOARDS)
    boards = replace(boards, left=boards.left.at[0, 2].set(1)) if forfeit else boards
    steps: Any = SimpleNamespace(
        state=boards,
        action=jnp.zeros((2, 3), jnp.int32).at[0, 2].set(2 * forfeit),
        step_key=None,
        terminated=flags[0],
        truncated=flags[1],
        episode_stats=stats,
        learner_seats=learner,
    )
    return {name: float(value) for name, value in jax.jit(lambda: episode_metrics(STICKS, steps))().items()}


EXPECTED = {
    "num_episodes": 4,
    "episode_length": (4 + 6 + 9 + 5) / 4,
    "episode_truncated_rate": 1 / 4,
    "episode_draw_rate": 1 / 4,
    "episode_win_rate/seat_0": 1 / 4,
    "episode_win_rate/seat_1": 0,
    "episode_win_rate/seat_2": 1 / 4,
    "episode_return/seat_0": (2 + 0 + 1 - 1) / 4,
    "episode_return/seat_1": (-1 + 0 + 3 - 1) / 4,
    "episode_return/seat_2": (-1 + 0 + 5 + 2) / 4,
}


def test_means_are_over_the_games_that_ended() -> None:
    assert metrics() == pytest.approx(EXPECTED)


def test_learner_has_the_wins_of_its_seats_and_their_mean_return() -> None:
    """It wins the first game, of seats 0 and 2, and not the one in which it has seat 1 alone."""
    of_learner = {"episode_win_rate/learner": 1 / 4, "episode_return/learner": ((2 - 1) / 2 + 0 + (3 + 5) / 2 - 1) / 4}
    assert metrics(learner=jnp.array(LEARNER, jnp.bool_)) == pytest.approx(EXPECTED | of_learner)


def test_game_that_an_illegal_action_ended_is_not_drawn() -> None:
    assert metrics(forfeit=True) == pytest.approx(EXPECTED | {"episode_draw_rate": 0})


def test_means_over_no_game_are_nan() -> None:
    found = metrics(ended=False)
    assert found.pop("num_episodes") == 0
    assert np.isnan([*found.values()]).all()


@pytest.mark.parametrize("number", [0, 1, 4, 5, 10])
def test_chosen_rows_are_computed_in_chunks(number: int) -> None:
    """Ten rows in chunks of four, so the last chunk is not full."""
    rng = np.random.default_rng(number)
    chosen = np.zeros(10, np.bool_)
    chosen[rng.permutation(10)[:number]] = True
    rows = {"a": jnp.arange(10.0), "b": jnp.arange(20).reshape(10, 2)}
    calls: list[int] = []

    def function(rows: dict[str, jax.Array]) -> jax.Array:
        jax.debug.callback(lambda: calls.append(1))
        return rows["a"][:, None] * 10 + rows["b"]

    found = jax.jit(lambda rows, chosen: map_chosen_rows(function, rows, chosen, 4))(rows, jnp.asarray(chosen))
    jax.effects_barrier()
    expected = np.arange(10.0)[:, None] * 10 + np.arange(20).reshape(10, 2)
    np.testing.assert_array_equal(np.asarray(found)[chosen], expected[chosen])
    assert len(calls) == -(-number // 4)
