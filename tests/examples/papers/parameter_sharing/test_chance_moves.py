"""The star with chance: a share of the actions is replaced by random legal ones, and nothing else differs."""

from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.parameter_sharing.chance_moves import ChanceMoves

PLAIN = jaxgames.make("chinese_checkers(size=2, num_players=6)")
BOARDS = 1024


def boards_after_first_action(chance: float) -> np.ndarray:
    """Returns int8[boards, cells], the boards after the first legal action of the start, with another key each."""
    env = ChanceMoves(chance=chance)
    action = int(np.flatnonzero(PLAIN.legal_action_mask(PLAIN.init()))[0])
    step: Any = jax.jit(jax.vmap(lambda key: env.step(env.init(key), action, key).board))
    return np.asarray(step(jax.random.split(jax.random.key(0), BOARDS)))


@pytest.mark.slow  # two seconds
def test_actions_are_replaced_by_all_legal_ones_with_the_chance() -> None:
    start = PLAIN.init()
    legal = np.flatnonzero(PLAIN.legal_action_mask(start))
    step = jax.jit(jax.vmap(lambda action: PLAIN.step(start, action).board))
    results = [board.tobytes() for board in np.asarray(step(legal))]
    assert len({*results}) == len(legal)
    counts = [sum(board.tobytes() == result for board in boards_after_first_action(0.5)) for result in results]
    assert sum(counts) == BOARDS
    share = 0.5 / len(legal)  # of each action among the replacements
    expected = BOARDS * np.array([0.5 + share, *[share] * (len(legal) - 1)])
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all(), (counts, expected)
