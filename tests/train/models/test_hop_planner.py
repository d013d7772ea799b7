"""The network of the star that plans hops: its plan, its inputs, its first policy and its parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError
from tests.helpers.hop_boards import CELLS, TABLES, HopBoards, largest_worth, random_boards
from train.models import networks
from train.models.hop_planner import best_cell, distances, reach_of
from train.models.policy import Policy
from train.models.star_shifts import can_hop, targets

ENV = jaxgames.make("chinese_checkers(size=2, num_players=6)")
SMALL = "hops(hidden_sizes=[4], hops=3)"


@pytest.fixture(scope="module")
def boards() -> HopBoards:
    return random_boards()


@pytest.mark.parametrize("hops", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow), 3])
def test_reach_is_the_best_of_all_chains(boards: HopBoards, hops: int) -> None:
    reach = jax.jit(lambda worth, occupied, blocked: reach_of(2, can_hop(2, occupied, blocked), worth, hops))
    found = reach(*boards)
    expected = [[largest_worth(boards, board, cell, hops) for board in range(3)] for cell in range(CELLS)]
    np.testing.assert_allclose(found, expected, atol=1e-3)  # the best cell is found from rounded worths


@pytest.mark.slow
def test_gradient_of_a_reach_goes_to_its_best_cell(boards: HopBoards) -> None:
    worth, occupied, blocked = map(jnp.asarray, boards)
    hops = can_hop(2, occupied, blocked)
    weights = jax.random.normal(jax.random.key(0), worth.shape)
    found = jax.grad(lambda x: (reach_of(2, hops, x, 3) * weights).sum())(worth)
    best, expected = np.asarray(best_cell(2, hops, worth, 3)), np.zeros(worth.shape, np.float32)
    for cell, board in np.ndindex(*worth.shape):
        expected[best[cell, board], board] += weights[cell, board]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
def test_gains_are_those_of_steps_and_hops(boards: HopBoards) -> None:
    plan, occupied, blocked = boards
    reach = plan + 1
    hops = can_hop(2, jnp.asarray(occupied), jnp.asarray(blocked))
    found = np.stack(targets(2, hops, jnp.asarray(plan), jnp.asarray(reach))) - plan
    for direction, cell, board in np.ndindex(6, CELLS, 3):
        near, beyond = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        if near < CELLS and not occupied[near, board]:
            assert found[direction, cell, board] == plan[near, board] - plan[cell, board]
        elif beyond < CELLS and not blocked[beyond, board]:
            assert found[direction, cell, board] == reach[beyond, board] - plan[cell, board]


@pytest.mark.parametrize(
    "num_players", [pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow), 6]
)
def test_every_seat_is_equally_far_from_its_goal_at_the_start(num_players: int) -> None:
    env = jaxgames.make("chinese_checkers", size=2, num_players=num_players)
    q, r = TABLES.axial.T + 4
    pegs = np.asarray(env.observe(env.init(jax.random.key(0))))[q, r, :num_players]
    found = (pegs.T * distances(env)).sum(1)  # pyright: ignore[reportArgumentType]  # a star
    assert found.tolist() == [8 + 7 + 7] * num_players


@pytest.mark.slow
def test_first_policy_begins_the_chain_that_leads_furthest() -> None:
    """From cell 1, two hops down-right lead over a peg in the third row and one in the fifth; other moves gain less."""
    env = jaxgames.make("chinese_checkers(size=2, num_players=2)")
    state = env.from_string("./0./...0.../....../...1./....../......./11/1 0 - 0")
    policy = Policy.of(env, "shared", SMALL)
    apply = jax.jit(lambda params: policy.apply(params, env.observe(state)[None], jnp.zeros(1, jnp.int32)))
    logits, value = apply(policy.init(jax.random.key(0)))
    legal = np.asarray(env.legal_action_mask(state))
    assert int(np.where(legal, np.asarray(logits[0]), -np.inf).argmax()) == 6 * 1 + 5
    assert abs(float(value[0])) < 0.1


def test_other_games_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="hops plays only chinese_checkers, not minichess"):
        networks.make("hops", jaxgames.make("minichess"))
    with pytest.raises(ParameterError, match="steepness must be a finite number from 0 to 512, not -1"):
        networks.make("hops(steepness=-1)", ENV)
    with pytest.raises(ParameterError, match="hops must be"):
        networks.make("hops(hops=-1)", ENV)
