"""The network `star_graph`: its messages along steps and chains of hops, their gradients, its actions."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError
from tests.helpers.hop_boards import CELLS, largest_worth, random_boards
from train.models import networks
from train.models.policy import Policy
from train.models.star_graph import Hops, largest
from train.models.star_shifts import HOP, ahead

BOARDS = random_boards()
HOPS = Hops.of(2, jnp.asarray(BOARDS.occupied), jnp.asarray(BOARDS.blocked))


@pytest.mark.parametrize("hops", [1, 3])
def test_largest_message_is_that_of_all_chains(hops: int) -> None:
    found = jax.jit(lambda worth: largest(2, worth[..., None], HOPS.away, hops))(BOARDS.worth)
    expected = [[largest_worth(BOARDS, board, cell, hops) for board in range(3)] for cell in range(CELLS)]
    np.testing.assert_array_equal(found[..., 0], np.array(expected, np.float32))


def test_gradient_of_the_largest_message_goes_to_the_cell_that_sent_it() -> None:
    """All worths differ, so the cell is the one with the value that arrived."""
    weights = np.random.default_rng(1).normal(size=BOARDS.worth.shape).astype(np.float32)
    found, gradient = jax.vjp(lambda x: largest(2, x[..., None], HOPS.away, 3)[..., 0], jnp.asarray(BOARDS.worth))
    expected = np.zeros_like(weights)
    for cell, board in np.ndindex(*weights.shape):
        (sender,) = np.flatnonzero(BOARDS.worth[:, board] == found[cell, board])
        expected[sender, board] += weights[cell, board]
    np.testing.assert_allclose(gradient(jnp.asarray(weights))[0], expected, atol=1e-6)


def test_hops_back_are_hops_away_seen_from_where_they_end() -> None:
    for direction, back in enumerate(HOPS.back):
        away = ahead(2, HOP, direction, HOPS.away[(direction + 3) % 6])
        np.testing.assert_array_equal(back, away)


def test_every_action_has_the_logit_of_its_cells() -> None:
    """A peg can step from 18, the centre, to 19 in direction 0. What is near 36, the far corner, changes only others.

    With one round and one hop, a logit sees two cells around the two that its action joins, and the whole board by its
    mean and maximum; these are taken away here.
    """
    env = jaxgames.make("chinese_checkers(size=2, num_players=6)")
    policy = Policy.of(env, "shared", "star_graph(rounds=1, width=4, hops=1)")
    params: Any = policy.init(jax.random.key(0))
    params["encoder"]["params"]["Round_0"]["FlatDense_3"]["Dense_0"]["kernel"] *= 0.0  # the new state of the board
    state = env.init(jax.random.key(0))
    moved = dataclasses.replace(state, board=state.board.at[36].set(-1))
    observations = jnp.stack([env.observe(each) for each in (state, moved)])
    logits, _ = jax.jit(policy.apply)(params, observations, jnp.zeros(2, jnp.int32))
    changed = np.asarray(logits[0] != logits[1])
    assert not changed[18 * 6 + 0]
    assert changed[35 * 6 + 0]


def test_other_games_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="star_graph plays only chinese_checkers, not minichess"):
        networks.make("star_graph", jaxgames.make("minichess"))
    for name in ("rounds", "width", "hops"):
        with pytest.raises(ParameterError, match=f"{name} must be an integer from 1 to 1000000, not 0"):
            networks.make(f"star_graph({name}=0)", jaxgames.make("chinese_checkers(size=2)"))
