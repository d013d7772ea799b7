"""The network of the star that plans hops: the shifts of its cells, its plan, its inputs and its first policy."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.games.chinese_checkers.board import tables
from train.models.hop_planner import best_cell, distances, reach_of
from train.models.policy import Policy
from train.models.star_shifts import ALL_DIRECTIONS, HOP, STEP, ahead, can_hop, targets

TABLES = tables(2)
CELLS = len(TABLES.axial)


class HopBoards(NamedTuple):
    """Three boards."""

    worth: np.ndarray  # float32[cells, 3]
    occupied: np.ndarray  # bool[cells, 3]
    blocked: np.ndarray  # bool[cells, 3], occupied or closed for other reasons


def random_boards() -> HopBoards:
    random = np.random.default_rng(0)
    occupied = random.random((CELLS, 3)) < 0.4
    worth = random.normal(size=(CELLS, 3)).astype(np.float32)
    return HopBoards(worth, occupied, occupied | (random.random((CELLS, 3)) < 0.1))


def largest_worth(boards: HopBoards, board: int, cell: int, hops: int) -> float:
    """Returns the largest worth within some hops from a cell, by trying all chains."""
    best = float(boards.worth[cell, board])
    for direction in range(6 if hops else 0):
        over, to = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        if to < CELLS and boards.occupied[over, board] and not boards.blocked[to, board]:
            best = max(best, largest_worth(boards, board, int(to), hops - 1))
    return best


ENV = jaxgames.make("chinese_checkers(size=2, num_players=6)")
SMALL = "hops(hidden_sizes=[4], hops=3)"


@pytest.fixture(scope="module")
def boards() -> HopBoards:
    return random_boards()


def test_reach_is_the_best_of_all_chains(boards: HopBoards) -> None:
    hops = 3
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


def test_every_seat_is_equally_far_from_its_goal_at_the_start() -> None:
    num_players = 6
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


def test_cell_ahead_is_that_of_the_tables_and_its_gradient_goes_back() -> None:
    x, weights = np.random.default_rng(0).normal(size=(2, CELLS, 3)).astype(np.float32)
    for distance, table in ((STEP, TABLES.neighbour), (HOP, TABLES.beyond)):
        for direction in ALL_DIRECTIONS:
            cells = table[:-1, direction]
            found, gradient = jax.vjp(functools.partial(ahead, 2, distance, direction), jnp.asarray(x))
            np.testing.assert_array_equal(found, np.append(x, np.zeros((1, 3), np.float32), axis=0)[cells])
            expected = np.zeros((CELLS + 1, 3), np.float32)
            np.add.at(expected, cells, weights)
            np.testing.assert_array_equal(gradient(jnp.asarray(weights))[0], expected[:CELLS])
