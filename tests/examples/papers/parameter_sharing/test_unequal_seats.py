"""The star with unequal seats: odd seats have the plain game's actions without the hops, even seats have all."""

import operator
from typing import Any

import jax
import numpy as np

import jaxgames
from examples.papers.parameter_sharing.unequal_seats import UnequalSeats
from jaxgames.sampling import random_action

PLAIN, UNEQUAL = jaxgames.make("chinese_checkers(size=2, num_players=6)"), UnequalSeats()
PLIES = 60


def test_odd_seats_have_the_plain_actions_without_hops() -> None:
    def ply(state: Any, key: jax.Array) -> tuple[Any, Any]:
        masks = PLAIN.legal_action_mask(state), UNEQUAL.legal_action_mask(state)
        return UNEQUAL.step(state, random_action(key, masks[1])), (state, *masks)

    keys = jax.random.split(jax.random.key(0), PLIES)
    states, plain, unequal = jax.device_get(jax.jit(lambda: jax.lax.scan(ply, UNEQUAL.init(), keys)[1])())
    fewer = 0
    for i in range(PLIES):
        state: Any = jax.tree.map(operator.itemgetter(i), states)
        legal = np.flatnonzero(plain[i]).tolist()
        steps = [action for action in legal if "=>" not in PLAIN.action_to_string(state, action)]
        expected = steps if state.current_player % 2 == 1 and steps else legal
        assert np.flatnonzero(unequal[i]).tolist() == expected
        fewer += len(expected) < len(legal)
    assert fewer > 5
