"""The definition at the top of train/ops/advantages.py, word for word: one decision at a time, looking ahead."""

import numpy as np


def per_seat_advantages(
    rewards: np.ndarray,  # float[T, num_players]
    values: np.ndarray,  # float[T]
    seats: np.ndarray,  # int[T]
    terminated: np.ndarray,  # bool[T]
    truncated: np.ndarray,  # bool[T]
    bootstrap: np.ndarray,  # float[T, num_players]
    is_valued: np.ndarray,  # bool[T, num_players]
    gamma: float,
    gae_lambda: float,
) -> tuple[np.ndarray, np.ndarray]:
    """float[T] and bool[T], in O(T^2) steps of plain Python."""
    length = len(values)
    advantages, is_known = np.zeros(length), np.ones(length, bool)
    for t in reversed(range(length)):
        seat = seats[t]
        paid = next_value = next_advantage = 0.0
        for later in range(t, length):
            if later > t and seats[later] == seat:  # the seat's next decision
                next_value, next_advantage = values[later], advantages[later]
                break
            paid += rewards[later, seat]
            if terminated[later]:
                break
            if truncated[later] or later == length - 1:
                next_value, is_known[t] = bootstrap[later, seat], is_valued[later, seat]
                break
        delta = paid + gamma * next_value - values[t]
        advantages[t] = delta + gamma * gae_lambda * next_advantage if is_known[t] else 0
    return advantages, is_known
