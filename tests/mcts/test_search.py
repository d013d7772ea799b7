"""The search: the same visits as mctx, solved games, legal actions, noise, determinism, slots, limits of length."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError
from jaxgames.agents import RandomAgent
from jaxgames.mcts import Evaluation, SearchConfig, bytes_per_node, search
from jaxgames.mcts.rollouts import UctConfig, uct_search
from jaxgames.mcts.search import search_tree
from jaxgames.mcts.tree import PADDING
from tests.helpers.positions import batched, board, repeated
from tests.helpers.sticks import TABLES, Payoffs, payments, solve
from tests.mcts.evaluations import Linear, Nothing, mctx_search, random_boards

BOXES = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
BOARDS = 64
GUMBEL = SearchConfig(simulations=32, gamma=0.9)
LINEAR = Linear(BOXES)
NOISY = dataclasses.replace(GUMBEL, search="puct", simulations=2, dirichlet_fraction=0.25)


def boards() -> Any:
    return random_boards(BOXES, BOARDS, steps=9)


def run(config: SearchConfig = GUMBEL, key: int = 0, states: Any = None) -> Any:
    """The result on random boards, on the host. Few configs: each is compiled."""
    states = boards() if states is None else states
    return jax.device_get(search(BOXES, LINEAR, config, jax.random.key(key), LINEAR.params(0), states))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def trees(*arguments: Any) -> Any:
    """The trees of a search."""
    return search_tree(*arguments)[0]


# -- selection, expansion and backup -------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["gumbel", pytest.param("puct", marks=pytest.mark.slow)])
def test_result_is_that_of_mctx(rule: str) -> None:
    """mctx has a signed value per node, our tree a vector over the seats. Seats move twice in a row here."""
    config, states = dataclasses.replace(GUMBEL, search=rule), boards()
    result = run(config)
    actions, visits, weights, values = jax.device_get(mctx_search(BOXES, LINEAR, config, LINEAR.params(0), states))
    by_action = functools.partial(result.by_action, num_actions=BOXES.num_actions)
    live = ~np.asarray(states.terminated)
    assert live.sum() > 50
    assert (result.action == actions)[live].all()
    assert (by_action(result.visits) == visits)[live].all()
    found = by_action(result.weights)
    np.testing.assert_allclose(found[live], weights[live], atol=1e-5)
    of_mover = result.values[np.arange(BOARDS), np.asarray(states.current_player)]
    np.testing.assert_allclose(of_mover[live], values[live], atol=1e-5)
    np.testing.assert_allclose(result.values.sum(-1), 0, atol=1e-5)
    evaluated = np.asarray(LINEAR(LINEAR.params(0), states).values)[np.arange(BOARDS), states.current_player]
    np.testing.assert_allclose(result.raw_values[live], evaluated[live], rtol=1e-5)
    assert result.slots.dtype == result.action.dtype == result.visits.dtype == np.int32


@pytest.mark.parametrize("rule", ["gumbel", pytest.param("puct", marks=pytest.mark.slow)])
def test_policy_values_are_the_means_of_the_slots_weighted_by_the_policy(rule: str) -> None:
    config, states = dataclasses.replace(GUMBEL, search=rule), boards()
    result = run(config)
    tree = jax.device_get(trees(BOXES, LINEAR, config, jax.random.key(0), LINEAR.params(0), states))
    tried = np.where(result.visits > 0, result.weights, 0)
    expected = (tried * tree.values[:, 0]).sum(-1) / np.maximum(tried.sum(-1), 1e-9)
    mover, live = np.asarray(states.current_player), ~np.asarray(states.terminated)
    np.testing.assert_allclose(result.policy_values[np.arange(BOARDS), mover][live], expected[live], atol=1e-5)
    np.testing.assert_allclose(result.policy_values.sum(-1), 0, atol=1e-5)
    if rule == "gumbel":  # every action is tried, so the mean of all is lower
        assert (expected > result.values[np.arange(BOARDS), mover])[live].mean() > 0.9


def test_mean_returns_after_the_slots_have_every_seat() -> None:
    env = Payoffs()
    config, states = SearchConfig(simulations=6, seats="max_n"), jax.vmap(env.at)(jnp.arange(8))
    tree = jax.device_get(trees(env, Nothing(env), config, jax.random.key(0), jnp.zeros(3), states))
    visits = tree.visits[:, 0]
    np.testing.assert_allclose((visits[..., None] * tree.slot_returns).sum(1), tree.root_returns, atol=1e-5)
    np.testing.assert_allclose(tree.slot_returns[..., 0], tree.values[:, 0], atol=1e-5)  # seat 0 chooses at the root


def test_finished_boards_cost_nothing_and_their_values_are_0() -> None:
    states = random_boards(BOXES, BOARDS, 12)
    result, over = run(states=states), np.asarray(states.terminated)
    assert over.any()
    assert (result.visits[over] == 0).all()
    assert (result.values[over] == 0).all()
    assert (result.policy_values[over] == 0).all()
    assert (result.weights[over] == 0).all()
    assert (result.action[over] == 0).all()
    cut_off = dataclasses.replace(boards(), truncated=jnp.ones(BOARDS, jnp.bool_))
    unsearched = run(states=cut_off)
    assert not unsearched.visits.any()
    np.testing.assert_array_equal(unsearched.policy_values, unsearched.values)  # the evaluation
    assert unsearched.values.any()


# -- solved games --------------------------------------------------------------------------------------------------

EXPLORING = SearchConfig(simulations=256, search="puct", pb_c_init=2.5)  # needed without knowledge
THREE_SEATS = Payoffs()


def share_solved(config: SearchConfig | UctConfig, seats: str) -> float:
    """The share of the tables on which the search plays the best choice by a criterion."""
    env, key, states = THREE_SEATS, jax.random.key(0), jax.vmap(THREE_SEATS.at)(jnp.arange(TABLES))
    if isinstance(config, UctConfig):
        result = uct_search(env, RandomAgent(env), config, key, states)
    else:
        result = search(env, Nothing(env), config, key, jnp.zeros(env.num_players), states)
    return float((np.asarray(result.action) == solve(env, seats)).mean())


@pytest.mark.parametrize(
    ("settings", "seats", "other"),
    [
        (EXPLORING, "max_n", "paranoid"),
        (EXPLORING, "paranoid", "max_n"),
        (UctConfig(simulations=64), "paranoid", "max_n"),
    ],
    ids=["max_n", "paranoid", "uct paranoid"],
)
def test_three_seats_play_the_solution_of_their_criterion(settings: Any, seats: str, other: str) -> None:
    config = dataclasses.replace(settings, seats=seats)
    assert share_solved(config, seats) >= 0.95 > share_solved(config, other)


# -- determinism and noise -----------------------------------------------------------------------------------------


def test_result_depends_on_no_key_and_no_order_without_noise() -> None:
    result, order = run(), np.random.default_rng(0).permutation(BOARDS)
    other = run(key=7, states=board(boards(), order))
    for name in ("action", "visits", "slots"):
        assert (getattr(result, name)[order] == getattr(other, name)).all()


def test_dirichlet_noise_has_its_share_of_the_prior_on_legal_actions_only() -> None:
    """The prior is 0.75 uniform + 0.25 noise. A sum of concentrations of 10 gives each of n parts this variance."""
    states = random_boards(BOXES, BOARDS, 6)
    squares: list[np.ndarray] = []
    moved: list[np.ndarray] = []
    for seed in range(20):
        tree = jax.device_get(trees(BOXES, Nothing(BOXES), NOISY, jax.random.key(seed), jnp.zeros(2), states))
        prior, is_action = np.exp(tree.logits[:, 0]), tree.actions[:, 0] != PADDING
        n = is_action.sum(-1)
        assert (prior[~is_action] == 0).all()
        noise = np.where(is_action, prior - 0.75 / n[:, None], 0)
        assert (noise > -1e-6).all()
        moved.append(noise.sum(-1))
        squares.append(((4 * noise) ** 2).sum(-1) - (1 / n + (1 - 1 / n) / 11))  # E[x^2] = E[x]^2 + variance
    assert np.mean(moved) == pytest.approx(0.25, abs=0.01)
    assert np.mean(squares) == pytest.approx(0, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [{"gumbel_scale": 1.0}, {"search": "puct", "dirichlet_fraction": 0.25}])
def test_noise_depends_on_the_key_and_differs_between_boards(noise: dict[str, Any]) -> None:
    config, states = SearchConfig(simulations=2, **noise), repeated(BOXES.init(), BOARDS)
    assert len(set(run(config, 0, states).action.tolist())) > 3
    assert (run(config, 0, states).action != run(config, 1, states).action).any()


# -- slots and limits of length ------------------------------------------------------------------------------------


def test_slots_hold_the_legal_actions_with_the_highest_logits() -> None:
    states = random_boards(BOXES, BOARDS, 6)
    result = run(SearchConfig(simulations=1, search="puct", slots=3), states=states)
    mask = np.asarray(batched(BOXES).mask(states))
    logits = np.where(mask, LINEAR(LINEAR.params(0), states).logits, -np.inf)
    assert (np.sort(result.slots) == np.sort(np.argsort(-logits)[:, :3])).all()


def test_truncated_boards_of_a_tree_count_with_their_evaluation() -> None:
    """A game cut off after one choice is worth its rewards plus the evaluation of its board, never 0."""
    env = Payoffs(num_players=2, order=(0, 1), limit=1)
    config = SearchConfig(simulations=4, search="puct")
    tree = jax.device_get(
        trees(env, Nothing(env), config, jax.random.key(0), jnp.array([3.0, -3.0]), repeated(env.at(0), 2))
    )
    expected = payments(2, (0, 1))[0][0, :, 0] + 3
    visited = tree.visits[0, 0] > 0
    assert visited.any()
    np.testing.assert_allclose(tree.values[0, 0][visited], expected[visited], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "rule"),
    [("chinese_checkers(size=1, num_players=3)", "gumbel"), ("checkers", "puct"), ("minichess", "gumbel")],
)
def test_no_slot_of_any_node_has_an_illegal_action(text: str, rule: str) -> None:
    """In every node of the trees: actions are legal, padding has no visits, and no node is added to a finished one."""
    env = jaxgames.make(text)
    evaluate, config = Linear(env), SearchConfig(simulations=64, search=rule, slots=40)
    for seed in range(4):
        states = random_boards(env, 256, steps=60, seed=seed)
        params = evaluate.params(seed, scale=4.0)
        tree = trees(env, evaluate, config, jax.random.key(seed), params, states)
        mask = np.asarray(jax.vmap(jax.vmap(env.legal_action_mask))(tree.states))
        actions, visits = np.asarray(tree.actions), np.asarray(tree.visits)
        is_action = actions != PADDING
        assert (visits[~is_action] == 0).all()
        assert (visits[:, 0].sum(-1)[~np.asarray(states.terminated | states.truncated)] == config.simulations).all()
        node_has_mask = np.take_along_axis(mask, np.maximum(actions, 0), -1)
        assert node_has_mask[visits > 0].all()


# -- wrong calls ---------------------------------------------------------------------------------------------------


def test_wrong_boards_and_evaluations_are_refused_with_the_shapes_they_must_have() -> None:
    def values_of_one_seat(params: Any, states: Any) -> Evaluation:
        return Evaluation(jnp.zeros((BOARDS, 12)), jnp.zeros(BOARDS))

    with pytest.raises(ParameterError, match=r"\[64, num_players = 2\].* \[64, 12\] and \[64\]"):
        search(BOXES, values_of_one_seat, GUMBEL, jax.random.key(0), None, boards())
    with pytest.raises(ParameterError, match="one leading axis, not one board"):
        search(BOXES, LINEAR, GUMBEL, jax.random.key(0), None, BOXES.init())


def test_bytes_per_node_are_those_of_the_tree() -> None:
    shapes = jax.eval_shape(lambda: trees(BOXES, Nothing(BOXES), GUMBEL, jax.random.key(0), jnp.zeros(2), boards()))
    nodes = jax.tree.leaves(shapes._replace(root_returns=None, slot_returns=None))
    total = sum(leaf.size * leaf.dtype.itemsize for leaf in nodes)
    assert total == BOARDS * (GUMBEL.simulations + 1) * bytes_per_node(BOXES, GUMBEL)


def same_logits(params: jax.Array, states: Any) -> Evaluation:
    """The logits `params` on all boards; all values are 0."""
    boards = states.terminated.shape[0]
    return Evaluation(jnp.broadcast_to(params, (boards, BOXES.num_actions)), jnp.zeros((boards, 2)))


@pytest.mark.parametrize("every", [1, 2])  # all actions, every second one
def test_legal_actions_are_searched_whatever_the_logits_are(every: int) -> None:
    states = random_boards(BOXES, 8, steps=9)
    live, mask = ~np.asarray(states.terminated), np.asarray(batched(BOXES).mask(states))
    for logit in (np.nan, np.inf, -np.inf, np.finfo(np.float32).min, np.finfo(np.float32).max):
        logits = np.zeros(BOXES.num_actions, np.float32)
        logits[::every] = logit
        result = search(BOXES, same_logits, GUMBEL, jax.random.key(0), logits, states)
        result = jax.device_get(result)
        assert mask[live, result.action[live]].all(), logit
        assert (result.visits[result.slots == PADDING] == 0).all(), logit
        np.testing.assert_allclose(result.weights.sum(-1)[live], 1, atol=1e-5)
