"""The per-seat estimator against numbers worked out by hand, plain GAE, and a slow reading of its definition.

By hand gamma = lambda = 1/2 throughout, so that A_t = R_t + V_n(t) / 2 - V_t + A_n(t) / 4.
"""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.train.ops import advantages_reference
from train.ops.advantages import per_seat_advantages

compiled = jax.jit(per_seat_advantages)
UNREAD = 1e6  # a bootstrap value that must not show up anywhere


def estimate(
    rewards: Sequence[Sequence[float]],
    values: Sequence[float],
    seats: Sequence[int],
    *,
    terminated: Collection[int] = (),
    truncated: Collection[int] = (),
    bootstrap: Mapping[int, Sequence[float | None]] | None = None,
    gamma: float = 0.5,
    gae_lambda: float = 0.5,
) -> list[float | None]:
    """Advantages; ends of games and bootstrap values are given by their step. None is not known."""
    times = range(len(values))
    views = np.full((len(values), len(rewards[0])), UNREAD)
    for time, view in (bootstrap or {}).items():
        views[time] = [np.nan if value is None else value for value in view]
    advantages, is_known = compiled(
        jnp.array(rewards, jnp.float32),
        jnp.array(values, jnp.float32),
        jnp.array(seats, jnp.int32),
        jnp.array([time in terminated for time in times]),
        jnp.array([time in truncated for time in times]),
        jnp.array(np.nan_to_num(views, nan=UNREAD), jnp.float32),
        jnp.array(~np.isnan(views)),
        gamma,
        gae_lambda,
    )
    return [advantage if known else None for advantage, known in zip(advantages.tolist(), is_known, strict=True)]


# -- whose rewards, and up to when ---------------------------------------------------------------------------


def test_two_seats_in_turn_have_the_advantages_computed_by_hand() -> None:
    rewards = [[1, 99], [2, 3], [0, 4], [8, 16]]  # 99 is paid before seat 1 has decided anything: nobody's
    advantages = estimate(rewards, [10, 20, 30, 40], [0, 1, 0, 1], bootstrap={3: [4, 8]})
    last_0 = (0 + 8) + 4 / 2 - 30  # -20
    last_1 = 16 + 8 / 2 - 40  # -20
    first_0 = (1 + 2) + 30 / 2 - 10 + last_0 / 4  # 3
    first_1 = (3 + 4) + 40 / 2 - 20 + last_1 / 4  # 2
    assert advantages == [first_0, first_1, last_0, last_1] == [3, 2, -20, -20]


def test_seat_that_moves_twice_bootstraps_from_its_next_decision() -> None:
    advantages = estimate([[1, 0], [2, 0], [4, 8]], [10, 20, 40], [0, 0, 1], bootstrap={2: [16, 32]})
    end_of_chain = (2 + 4) + 16 / 2 - 20  # -6
    assert advantages == [1 + 20 / 2 - 10 + end_of_chain / 4, end_of_chain, 8 + 32 / 2 - 40] == [-0.5, -6, -16]


def test_reward_on_the_move_of_another_seat_belongs_to_the_decision_before_it() -> None:
    unpaid = estimate([[0, 0]] * 5, [0] * 5, [0, 0, 1, 1, 0], bootstrap={4: [0, 0]}, gae_lambda=0)
    paid = estimate([[0, 0]] * 3 + [[7, 0], [0, 0]], [0] * 5, [0, 0, 1, 1, 0], bootstrap={4: [0, 0]}, gae_lambda=0)
    assert unpaid == [0, 0, 0, 0, 0]
    assert paid == [0, 7, 0, 0, 0]  # seat 0 decided last at step 1


def test_loss_by_the_winning_move_of_the_opponent_reaches_the_loser() -> None:
    advantages = estimate([[0, 0], [-1, 1]], [0.25, 0.5], [0, 1], terminated=[1])
    assert advantages == [-1 - 0.25, 1 - 0.5]


def test_three_seats_have_the_advantages_computed_by_hand() -> None:
    rewards = [[1, 0, 0], [2, 4, 0], [8, 16, 32], [64, 0, 0], [0, 0, 128]]
    advantages = estimate(rewards, [2, 4, 8, 16, 32], [0, 1, 2, 0, 2], bootstrap={4: [10, 20, 30]})
    last_0 = (64 + 0) + 10 / 2 - 16  # 53
    last_2 = 128 + 30 / 2 - 32  # 111
    first_0 = (1 + 2 + 8) + 16 / 2 - 2 + last_0 / 4  # 30.25
    only_1 = (4 + 16 + 0 + 0) + 20 / 2 - 4  # 26
    first_2 = (32 + 0) + 32 / 2 - 8 + last_2 / 4  # 67.75
    assert advantages == [first_0, only_1, first_2, last_0, last_2] == [30.25, 26, 67.75, 53, 111]


# -- ends ----------------------------------------------------------------------------------------------------


def test_nothing_follows_a_terminated_game() -> None:
    """Neither a value of the board it led to, nor of the next game's, nor an advantage of it."""
    advantages = estimate([[3, 5], [7, 9], [0, 0]], [1, 2, 50], [0, 1, 0], terminated=[1], bootstrap={2: [0, 0]})
    assert advantages == [(3 + 7) - 1, 9 - 2, 0 - 50]


def test_truncated_game_bootstraps_from_each_seats_value_of_the_last_board() -> None:
    advantages = estimate(
        [[3, 5], [7, 9], [0, 0]], [1, 2, 50], [0, 1, 0], truncated=[1], bootstrap={1: [20, 40], 2: [0, 0]}
    )
    assert advantages == [(3 + 7) + 20 / 2 - 1, 9 + 40 / 2 - 2, 0 - 50]


def test_end_of_the_rollout_bootstraps_every_seat_that_has_decided() -> None:
    advantages = estimate([[0, 0, 0]] * 2, [1, 2], [0, 2], bootstrap={1: [20, UNREAD, 40]})
    assert advantages == [20 / 2 - 1, 40 / 2 - 2]


def test_last_decision_before_a_cut_is_not_known_without_the_seats_value_there() -> None:
    """The decision before it is: its advantage ends with the value of the last one."""
    rewards, values, seats = [[1, 0], [0, 2], [0, 4], [8, 16]], [10, 20, 30, 40], [0, 1, 0, 1]
    at_the_end = estimate(rewards, values, seats, bootstrap={3: [4, None]})
    assert at_the_end == [1 + 30 / 2 - 10 - 20 / 4, (2 + 4) + 40 / 2 - 20, 8 + 4 / 2 - 30, None]
    truncated = estimate(rewards, values, seats, truncated=[2], bootstrap={2: [None, 6], 3: [4, 8]})
    assert truncated == [1 + 30 / 2 - 10, (2 + 4) + 6 / 2 - 20, None, 16 + 8 / 2 - 40]
    terminated = estimate(rewards, values, seats, terminated=[3])
    assert None not in terminated


def test_end_of_the_game_decides_at_the_last_step_of_the_rollout() -> None:
    rewards = [[3, 5], [7, 9]]
    assert estimate(rewards, [1, 2], [0, 1], terminated=[1]) == [(3 + 7) - 1, 9 - 2]
    truncated = estimate(rewards, [1, 2], [0, 1], truncated=[1], bootstrap={1: [20, 40]})
    assert truncated == [(3 + 7) + 20 / 2 - 1, 9 + 40 / 2 - 2]


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_rewards_do_not_pass_from_one_game_to_the_next(end: str) -> None:
    """Seat 1 decides at step 1 of the old game and at step 3 of the new one, which paid it 64 at step 2 before."""
    advantages = estimate(
        [[0, 0], [0, 8], [0, 64], [0, 128]],
        [0] * 4,
        [0, 1, 0, 1],
        terminated=[1] if end == "terminated" else [],
        truncated=[1] if end == "truncated" else [],
        bootstrap={1: [0, 0], 3: [0, 0]},
    )
    assert advantages == [0, 8, 0, 128]


def test_seat_that_never_moves_changes_nothing() -> None:
    with_it = estimate([[1, 2, 77], [3, 4, 77]], [5, 6], [0, 1], bootstrap={1: [7, 8, UNREAD]})
    assert with_it == estimate([[1, 2], [3, 4]], [5, 6], [0, 1], bootstrap={1: [7, 8]})


# -- special cases -------------------------------------------------------------------------------------------


def test_lambda_0_is_the_one_step_error() -> None:
    advantages = estimate(
        [[1, 0], [2, 3], [0, 4], [8, 16]], [10, 20, 30, 40], [0, 1, 0, 1], bootstrap={3: [4, 8]}, gae_lambda=0
    )
    assert advantages == [3 + 30 / 2 - 10, 7 + 40 / 2 - 20, 8 + 4 / 2 - 30, 16 + 8 / 2 - 40]


def test_lambda_1_is_the_discounted_return_minus_the_value() -> None:
    """Discounts count a seat's own decisions, not the steps of the game."""
    advantages = estimate(
        [[1, 0], [2, 3], [0, 4], [8, 16]], [10, 20, 30, 40], [0, 1, 0, 1], bootstrap={3: [4, 8]}, gae_lambda=1
    )
    assert advantages == [3 + 8 / 2 + 4 / 4 - 10, 7 + 16 / 2 + 8 / 4 - 20, 8 + 4 / 2 - 30, 16 + 8 / 2 - 40]


def plain_gae(rewards: np.ndarray, values: np.ndarray, ended: np.ndarray, last: float, decay: float) -> np.ndarray:
    """A_t = delta_t + gamma lambda A_t+1 of one agent, gamma = 1/2."""
    advantages, follows, advantage = np.zeros(len(values)), last, 0.0
    for t in reversed(range(len(values))):
        go_on = 0.5 * (1 - ended[t])
        advantage = rewards[t] + go_on * follows - values[t] + go_on * decay * advantage
        advantages[t], follows = advantage, values[t]
    return advantages


@pytest.mark.parametrize("decay", [0.0, 0.9, 1.0])
def test_one_seat_gives_plain_gae(decay: float) -> None:
    rng = np.random.default_rng(0)
    rewards, values, ended = rng.normal(size=20), rng.normal(size=20), rng.random(20) < 0.2
    found = estimate(
        rewards[:, None].tolist(),
        values.tolist(),
        [0] * 20,
        terminated=np.flatnonzero(ended).tolist(),
        bootstrap={19: [0.7]},
        gae_lambda=decay,
    )
    expected = plain_gae(rewards, values, ended, 0.7, decay)
    np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-4, atol=1e-5)


# -- random data ---------------------------------------------------------------------------------------------


def random_boards(seed: int, num_players: int) -> tuple[np.ndarray, ...]:
    """The first seven arguments, for 16 boards of 20 steps."""
    rng = np.random.default_rng(seed)
    steps = (16, 20)
    end = rng.choice(3, p=[0.7, 0.15, 0.15], size=steps)
    seats = rng.integers(num_players, size=steps, dtype=np.int32)
    normal = functools.partial(rng.normal, loc=0.0, scale=1.0)
    rewards, bootstrap = normal(size=(*steps, num_players)), normal(size=(*steps, num_players))
    is_valued = rng.random((*steps, num_players)) < 0.7
    return rewards, normal(size=steps), seats, end == 1, end == 2, bootstrap, is_valued


batched: Callable[..., Any] = jax.jit(jax.vmap(functools.partial(per_seat_advantages, gamma=0.9, gae_lambda=0.8)))


@pytest.mark.parametrize("num_players", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_estimate_equals_its_definition_on_random_games(num_players: int, seed: int) -> None:
    boards = random_boards(seed, num_players)
    found, is_known = map(np.asarray, batched(*boards))
    for board in range(16):
        slow, expected = advantages_reference.per_seat_advantages(
            *(x[board] for x in boards), gamma=0.9, gae_lambda=0.8
        )
        np.testing.assert_allclose(found[board], slow, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(is_known[board], expected)


@pytest.mark.parametrize("seats", [(1, 0), (1, 2, 0), (3, 5, 0, 1, 4, 2)])
def test_seats_that_change_places_keep_their_advantages(seats: tuple[int, ...]) -> None:
    """Seat k becomes seat `seats[k]`; rewards and bootstrap values move with it."""
    rewards, values, movers, *ends, bootstrap, is_valued = random_boards(0, len(seats))
    places = np.argsort(seats)
    moved = rewards[..., places], values, np.take(seats, movers), *ends, bootstrap[..., places], is_valued[..., places]
    expected = batched(rewards, values, movers, *ends, bootstrap, is_valued)
    np.testing.assert_array_equal(batched(*moved), expected)
