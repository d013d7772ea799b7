"""The network `star_graph`: its messages along steps and chains of hops, their gradients, its actions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from examples.papers.parameter_sharing.star_graph import Hops, StarGraphHeads, largest
from jaxgames import ParameterError
from tests.helpers.hop_boards import CELLS, TABLES, largest_worth, random_boards
from train.models import networks

ENV: Any = jaxgames.make("chinese_checkers(size=2, num_players=6)")
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


def test_hops_back_are_those_of_pegs_two_steps_ahead() -> None:
    for direction, cell, board in np.ndindex(6, CELLS, 3):
        over, far = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        expected = far < CELLS and BOARDS.occupied[over, board] and not BOARDS.blocked[cell, board]
        assert HOPS.back[direction][cell, board] == expected


def test_every_action_has_the_logit_of_the_cell_to_which_it_leads() -> None:
    """With these parameters the state of a cell is the logit of a step to it, and twice that of a hop."""
    heads = StarGraphHeads(ENV, hops=1)
    occupied, blocked = BOARDS.occupied.T, BOARDS.blocked.T
    state = 1 + np.arange(CELLS, dtype=np.float32)
    cells = np.stack([np.broadcast_to(state, occupied.shape), occupied, blocked], axis=-1).astype(np.float32)
    states = jnp.asarray(np.pad(cells, ((0, 0), (0, 1), (0, 0))))
    params: Any = jax.tree.map(jnp.zeros_like, heads.init(jax.random.key(0), states))
    of_heads = params["params"]
    of_heads["FlatDense_0"]["Dense_0"]["kernel"] = jnp.array([[0.0, 1.0, 2.0]])  # origin, step, hop
    of_heads["Dense_0"]["kernel"] = jnp.ones((1, 1))
    logits, _ = jax.jit(heads.apply)(params, states)
    for board, cell, direction in np.ndindex(3, CELLS, 6):
        near, far = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        if near < CELLS and not occupied[board, near]:
            assert logits[board, 6 * cell + direction] == state[near]
        elif far < CELLS and not blocked[board, far]:
            assert logits[board, 6 * cell + direction] == 2 * reached(board, int(far))


def reached(board: int, cell: int) -> float:
    """The largest state within one hop from a cell."""
    boards = BOARDS._replace(worth=np.broadcast_to(1 + np.arange(CELLS)[:, None], BOARDS.worth.shape))
    return largest_worth(boards, board, cell, 1)


def test_other_games_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="star_graph plays only chinese_checkers, not minichess"):
        networks.make("star_graph", jaxgames.make("minichess"))
    for name in ("rounds", "width", "hops"):
        with pytest.raises(ParameterError, match=f"{name} must be an integer from 1 to 1000000, not 0"):
            networks.make(f"star_graph({name}=0)", jaxgames.make("chinese_checkers(size=2)"))
