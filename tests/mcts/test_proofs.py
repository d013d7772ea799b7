"""Proved results of a search are those of exact solutions, in all nodes, and decide the move at the root."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.mcts import SearchConfig
from jaxgames.mcts.search import SearchResult, playable, search_tree, summary
from jaxgames.mcts.tree import Tree
from tests.helpers.payoffs import TABLES, Payoffs, solve, solved_returns
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.mcts.evaluations import Linear, Nothing, random_boards

KEY = jax.random.key(0)
BOXES = jaxgames.make("dots_and_boxes(rows=2, cols=2, reward=margin)")
PUCT = SearchConfig(simulations=64, policy="puct", pb_c_init=2.5, proofs=True)


def trees_of(env: Any, config: SearchConfig, states: Any) -> Tree:
    """The trees of a search with random values and logits."""
    env, states = playable(env, states)
    evaluate = Linear(env)
    return run_search(env, evaluate, config, evaluate.params(0), states)[0]


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def run_search(env: Any, evaluate: Any, config: SearchConfig, params: Any, states: Any) -> tuple[Tree, SearchResult]:
    """The trees of a search, and the result that is read off them."""
    tree, rule = search_tree(env, evaluate, config, KEY, params, states)
    return tree, summary(tree, rule, config.simulations)


def proved_nodes(env: Any, tree: Tree, root: int = 0) -> tuple[Any, np.ndarray]:
    """The boards of all nodes that are proved, which are in the tree, and their returns."""
    assert tree.proofs is not None
    in_tree = np.zeros(tree.proofs.nodes.shape, bool)
    in_tree[:, 0] = True
    children = np.asarray(tree.children)
    boards, nodes, slots = np.nonzero(children >= 0)
    in_tree[boards, children[boards, nodes, slots]] = True
    proved = np.asarray(tree.proofs.nodes) & in_tree & ~np.asarray(tree.states.terminated)
    states = jax.tree.map(lambda leaf: np.asarray(leaf)[proved], tree.states)
    return states, np.asarray(tree.proofs.returns)[proved]


@pytest.mark.parametrize("policy", ["gumbel", pytest.param("puct", marks=pytest.mark.slow)])
def test_proved_margins_are_those_of_the_solution_in_every_node(policy: str) -> None:
    """With margins no win ends the comparison, so all slots of a proved node are proved."""
    states = random_boards(BOXES, 64, 10)
    tree = trees_of(BOXES, SearchConfig(simulations=64, policy=policy, proofs=True), states)
    proved, returns = proved_nodes(BOXES, tree)
    mover = np.asarray(proved.current_player)
    scores = np.asarray(jax.vmap(lambda board: jnp.array([(board.owner == s).sum() for s in (0, 1)]))(proved))
    rows = np.arange(len(mover))
    lead = scores[rows, mover] - scores[rows, 1 - mover]
    expected = lead + np.asarray(solved_boxes(2, 2).value(proved))
    assert len(mover) > 100
    np.testing.assert_array_equal(returns[rows, mover], expected)
    np.testing.assert_array_equal(returns[rows, 1 - mover], -expected)


@pytest.mark.slow  # compiles another game
def test_proved_wins_and_losses_are_those_of_the_solution_also_with_a_discount() -> None:
    env, solution = jaxgames.make("chinese_checkers_diamond(size=3, pieces=1)"), solved_diamond(3, 1)
    config = SearchConfig(simulations=64, policy="puct", gamma=0.9, proofs=True)
    proved, returns = proved_nodes(env, trees_of(env, config, random_boards(env, 64, 12)))
    mover = np.asarray(proved.current_player)
    found = returns[np.arange(len(mover)), mover]
    value = np.asarray(solution.value(proved))
    assert len(mover) > 100
    assert {-1, 1} <= {*np.sign(found)}
    np.testing.assert_array_equal(np.sign(found), value)
    turns = np.round(np.log(np.abs(found)) / np.log(0.9)) + 1  # a proved win is not always the fastest one
    assert (turns[value > 0] >= np.asarray(solution.plies(proved))[value > 0]).all()


@pytest.mark.slow  # compiles another search
def test_proved_root_plays_the_best_action_and_says_its_value() -> None:
    states = random_boards(BOXES, 64, 10)
    states = jax.tree.map(lambda leaf: leaf[~np.asarray(states.terminated)], states)
    _, boards = playable(BOXES, states)
    tree, result = run_search(BOXES, Linear(BOXES), PUCT, Linear(BOXES).params(0), boards)
    assert tree.proofs is not None
    proved = np.asarray(tree.proofs.nodes[:, 0])
    assert 10 < proved.sum() < len(proved)
    best = np.asarray(solved_boxes(2, 2).best_actions(boards))
    actions = np.asarray(result.action)
    assert best[np.arange(len(actions)), actions][proved].all()
    for values in (result.values, result.policy_values):
        np.testing.assert_array_equal(np.asarray(values)[proved], np.asarray(tree.proofs.returns)[proved, 0])
    of_mover = np.take_along_axis(np.asarray(tree.slot_returns), np.asarray(boards.current_player)[:, None, None], 2)
    is_open_root = (np.asarray(tree.visits[:, 0]) > 0) & ~proved[:, None]  # also proved slots have the same return here
    assert (is_open_root & np.asarray(tree.proofs.slots[:, 0])).any()
    np.testing.assert_allclose(of_mover[..., 0][is_open_root], np.asarray(tree.values[:, 0])[is_open_root], atol=1e-5)
    np.testing.assert_array_equal(np.asarray(result.weights).max(-1)[proved], 1)
    np.testing.assert_allclose(np.asarray(result.weights).sum(-1), 1, rtol=1e-5)


@pytest.mark.parametrize("seats", ["max_n", pytest.param("paranoid", marks=pytest.mark.slow)])
def test_three_seats_are_proved_by_their_criterion(seats: str) -> None:
    """A tree with eight ends has fourteen nodes below its root, so 40 simulations prove every root."""
    env = Payoffs()
    states = jax.vmap(env.at)(jnp.arange(TABLES))
    config = SearchConfig(simulations=40, policy="puct", pb_c_init=2.5, seats=seats, proofs=True)
    tree, result = run_search(env, Nothing(env), config, jnp.zeros(3), states)
    assert tree.proofs is not None
    assert np.asarray(tree.proofs.nodes[:, 0]).all()
    for returns in (tree.proofs.returns[:, 0], result.values):
        np.testing.assert_allclose(returns, solved_returns(env, seats), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(result.action, solve(env, seats))


def test_slots_that_are_missing_keep_a_node_open() -> None:
    """With two slots per node a better action may have none, and a margin is not known for certain."""
    config = SearchConfig(simulations=16, policy="puct", slots=2, proofs=True)
    tree = trees_of(BOXES, config, random_boards(BOXES, 64, 10))
    assert tree.proofs is not None
    legal = np.asarray(jax.vmap(jax.vmap(BOXES.legal_action_mask))(tree.states)).sum(-1)
    assert not (np.asarray(tree.proofs.nodes) & (legal > 2)).any()
    assert (np.asarray(tree.proofs.nodes) & (legal == 2)).any()


def test_search_without_proofs_has_none() -> None:
    env, states = playable(BOXES, random_boards(BOXES, 64, 10))
    arguments = SearchConfig(simulations=8, policy="puct"), KEY, Linear(env).params(0), states
    assert jax.eval_shape(lambda: search_tree(env, Linear(env), *arguments)[0]).proofs is None
